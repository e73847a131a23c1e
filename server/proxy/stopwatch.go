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
	weight  int64 // how many spells this one stands for
	since   time.Time
}

// next says whether the spell that begins now is to be timed.
func (s *stopwatch) next() bool {
	s.spells++
	switch {
	case s.spells <= allTimed:
		s.weight = 1
	case s.spells%everyNth == 0:
		s.weight = everyNth
	default:
		return false
	}
	return true
}

// start begins a spell of work.
func (s *stopwatch) start(at time.Time) {
	s.weight = max(s.weight, 1)
	s.since, s.running = at, true
}

// stop ends the spell, if one is timed.
func (s *stopwatch) stop(at time.Time) {
	if s.running {
		s.sum += time.Duration(s.weight * min(at.Sub(s.since), aSpell).Nanoseconds())
		s.running = false
	}
}

func (s *stopwatch) add(d time.Duration) { s.sum += max(0, d) }
