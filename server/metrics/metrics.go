// Package metrics remembers the last calls and adds up all of them, in total and for each model: a ring of records with
// a cursor, running sums, and a signal that wakes whoever shows them. Recording is a few additions under a lock; what
// needs sorting is computed when somebody looks.
//
// Memory is bounded whatever is called: the records of the capacity, and less than 1.5 MiB for 65 models with 256
// samples each and 1,024 series of the Prometheus text. A store that has seen three models needs some 50 KiB.
package metrics

import (
	"sync"

	"chatwright.dev/tray/server/internal/genai"
	"chatwright.dev/tray/server/protocol"
)

// defaultCapacity is how many calls are kept when New is given 0: the companion's contract.
const defaultCapacity = 200

// recentCalls is how many calls a snapshot carries: as many as the tray's submenu shows.
const recentCalls = 8

// Store keeps the records of calls. It is safe for concurrent use. Make one with New.
type Store struct {
	mu       sync.Mutex
	capacity int
	ring     []protocol.Call // grows up to capacity, then the oldest is overwritten
	ended    uint64          // calls ever recorded; the n-th has sequence number n, from 1
	total    sums
	models   models
	changed  chan struct{} // nil while nobody waits, so that an unwatched store makes no garbage
}

// New returns a Store that keeps the last capacity calls; 0 means 200.
func New(capacity int) *Store {
	if capacity <= 0 {
		capacity = defaultCapacity
	}
	return &Store{capacity: capacity, total: newSums(totalSamples), models: newModels()}
}

// Begin counts a call of that model as in flight until End is called for it.
func (s *Store) Begin(model string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total.inFlight++
	s.models.of(genai.Name(model)).inFlight++
	s.wake()
}

// End records a call that Begin was called for.
func (s *Store) End(c protocol.Call) {
	model, errorType := genai.RequestModel(&c), genai.ErrorType(&c)
	sample := sampleOf(&c, errorType)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ring) < s.capacity {
		s.ring = append(s.ring, c)
	} else {
		s.ring[s.ended%uint64(s.capacity)] = c
	}
	s.ended++
	s.total.inFlight = max(0, s.total.inFlight-1)
	s.total.add(&c, &sample)
	s.models.end(model, errorType, &c, &sample)
	s.wake()
}

// Calls returns the calls that are kept, oldest first; never nil.
func (s *Store) Calls() []protocol.Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.from(s.oldest(), len(s.ring))
}

// After returns the calls that ended after the one with sequence number seq, oldest first and at most limit of them
// (all when limit is 0 or less), with the cursor for the next call of After. Calls that left the ring are skipped. A
// cursor from the future belongs to an earlier life of the daemon and reads from the start.
func (s *Store) After(seq uint64, limit int) protocol.CallsPage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seq > s.ended {
		seq = 0
	}
	first := max(seq+1, s.oldest())
	n := int(s.ended + 1 - first)
	if limit > 0 {
		n = min(n, limit)
	}
	return protocol.CallsPage{Calls: s.from(first, n), Next: first + uint64(n) - 1}
}

// oldest is the sequence number of the oldest call that is kept; one past the newest when there is none.
func (s *Store) oldest() uint64 { return s.ended + 1 - uint64(len(s.ring)) }

// from copies n calls, starting with the sequence number first.
func (s *Store) from(first uint64, n int) []protocol.Call {
	out := make([]protocol.Call, 0, n)
	for i := range uint64(n) {
		out = append(out, s.ring[(first-1+i)%uint64(s.capacity)])
	}
	return out
}

// Changed returns a channel that is closed at the next Begin or End. Take it before looking, or a change in between
// is missed.
func (s *Store) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

func (s *Store) wake() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// InFlight returns how many calls go on now.
func (s *Store) InFlight() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total.inFlight
}

// Snapshot returns what was measured until now.
func (s *Store) Snapshot() protocol.Metrics {
	s.mu.Lock()
	shot := s.shot()
	s.mu.Unlock() // sorting needs no lock: a call must not wait for a menu
	return shot.metrics()
}

// shot copies what a snapshot is made of.
func (s *Store) shot() shot {
	newest := min(len(s.ring), recentCalls)
	return shot{
		total:  s.total.copy(),
		models: s.models.copy(),
		recent: s.from(s.ended+1-uint64(newest), newest),
	}
}

// Failed says whether a call that ended so counts as an error where a person reads "2 errors". A caller who left and a
// server that still loads its model are no errors.
func Failed(v protocol.Verdict) bool {
	switch v {
	case protocol.VerdictUnreachable, protocol.VerdictUpstreamError, protocol.VerdictStreamError, protocol.VerdictTruncated:
		return true
	default:
		return false
	}
}
