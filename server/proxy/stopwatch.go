package proxy

import "time"

const (
	// allTimed is how many spells of work are timed one by one; of those that follow, one in everyNth stands for all.
	// Where a virtual machine has no cheap clock, reading it twice an event costs as much as all else.
	allTimed = 32
	everyNth = 16
	// aSpell is the longest that taking some bytes, reading them and writing them to a socket can take. What it takes
	// longer, the caller was waited for.
	aSpell = time.Millisecond
)

// stopwatch adds up the time spent in us between reads of an answer, and leaves out the waiting.
type stopwatch struct {
	sum     time.Duration
	spells  int
	running bool
	weight  time.Duration // how many spells this one stands for
	since   time.Time
}

// start begins a spell of work.
func (s *stopwatch) start() {
	s.spells++
	switch {
	case s.spells <= allTimed:
		s.weight = 1
	case s.spells%everyNth == 0:
		s.weight = everyNth
	default:
		return
	}
	s.since, s.running = time.Now(), true
}

// stop ends the spell, if one is timed.
func (s *stopwatch) stop() {
	if s.running {
		s.sum += s.weight * min(time.Since(s.since), aSpell)
		s.running = false
	}
}

func (s *stopwatch) add(d time.Duration) { s.sum += d }

func (s *stopwatch) total() time.Duration { return s.sum }
