package app

import (
	"slices"
	"time"
)

const (
	// usualCalls are how many of the last calls say what is usual, and enoughCalls how many it takes to know.
	usualCalls  = 20
	enoughCalls = 5
	// A call is slow at less than a third of the usual rate; two in a row are worth a word. Half of it is usual again.
	slowShare = 1.0 / 3
	backShare = 1.0 / 2
	slowCalls = 2
	// newUsual is how many slow calls in a row are no longer slower than usual but the new usual: the model behind the
	// name is another, or the machine is.
	newUsual = 50
)

// baseline knows how fast one model usually answers, in tokens a second. It is a plain value; the zero one knows
// nothing yet.
type baseline struct {
	rates     []float64 // of the last calls that were not slow, oldest first
	lastUsual time.Time // when the last of them ended
	slow      int       // calls in a row that were
	firstSlow time.Time // when the first of these ended
	rate      float64   // of the last call
}

// add learns of a call that ended at that time.
func (b *baseline) add(rate float64, ended time.Time) {
	b.rate = rate
	usual, known := b.usual()
	switch {
	case !known || rate >= usual*backShare || rate >= usual*slowShare && !b.isSlow():
		b.rates = append(b.rates, rate)
		b.rates = b.rates[max(0, len(b.rates)-usualCalls):]
		b.lastUsual, b.slow = ended, 0
	case rate < usual*slowShare:
		if b.slow == 0 {
			b.firstSlow = ended
		}
		if b.slow++; b.slow >= newUsual {
			*b = baseline{}
		}
	}
}

// isSlow says whether the model is slower than usual.
func (b *baseline) isSlow() bool { return b.slow >= slowCalls }

// usual is the median rate; it is not known at first.
func (b *baseline) usual() (rate float64, known bool) {
	if len(b.rates) < enoughCalls {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(b.rates))
	return sorted[len(sorted)/2], true
}
