// Package metrics remembers the last calls and adds up all of them: a ring of records with a cursor, running totals,
// and a signal that wakes whoever shows them. Recording is a few additions under a lock; what needs sorting is
// computed when somebody looks.
package metrics

import (
	"slices"
	"sync"

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
	inFlight int64
	prompt   int64
	answer   int64
	verdicts map[protocol.Verdict]int64
	changed  chan struct{} // nil while nobody waits, so that an unwatched store makes no garbage
}

// New returns a Store that keeps the last capacity calls; 0 means 200.
func New(capacity int) *Store {
	if capacity <= 0 {
		capacity = defaultCapacity
	}
	return &Store{capacity: capacity, verdicts: map[protocol.Verdict]int64{}}
}

// Begin counts a call as in flight until End is called for it. The store does not tell calls in flight apart; it takes
// the model so that it fits where a proxy reports the start of a call.
func (s *Store) Begin(string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight++
	s.wake()
}

// End records a call that Begin was called for.
func (s *Store) End(c protocol.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight = max(0, s.inFlight-1)
	if len(s.ring) < s.capacity {
		s.ring = append(s.ring, c)
	} else {
		s.ring[s.ended%uint64(s.capacity)] = c
	}
	s.ended++
	s.prompt += c.PromptTokens
	s.answer += c.CompletionTokens
	if c.Verdict != "" {
		s.verdicts[c.Verdict]++
	}
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

// Snapshot returns the totals, and the quantiles over the calls that are kept.
func (s *Store) Snapshot() protocol.Metrics {
	s.mu.Lock()
	m := protocol.Metrics{
		Calls: int64(s.ended), InFlight: s.inFlight,
		PromptTokens: s.prompt, CompletionTokens: s.answer,
	}
	if len(s.verdicts) > 0 {
		m.Verdicts = make(map[protocol.Verdict]int64, len(s.verdicts))
		for v, n := range s.verdicts {
			m.Verdicts[v] = n
			if Failed(v) {
				m.Errors += n
			}
		}
	}
	calls := s.from(s.oldest(), len(s.ring))
	s.mu.Unlock() // sorting needs no lock: a call must not wait for a menu

	summarise(&m, calls)
	return m
}

// summarise adds what is computed from the calls that are kept, given oldest first.
func summarise(m *protocol.Metrics, calls []protocol.Call) {
	var latency, firstToken []int64
	var rate []float64
	for _, c := range calls {
		if !answered(c) {
			continue
		}
		latency = append(latency, c.LatencyMs)
		if c.FirstTokenMs != nil {
			firstToken = append(firstToken, *c.FirstTokenMs)
		}
		if c.TokensPerSecond > 0 {
			rate = append(rate, c.TokensPerSecond)
		}
	}
	m.LatencyP50Ms = quantile(latency, 50)
	m.LatencyP95Ms = quantile(latency, 95)
	m.FirstTokenP50Ms = quantile(firstToken, 50)
	if median := quantile(rate, 50); median != nil {
		m.TokensPerSecond = *median
	}
	for _, c := range slices.Backward(calls[max(0, len(calls)-recentCalls):]) {
		m.Recent = append(m.Recent, c)
	}
}

// quantile is the nearest-rank quantile: always a value that was measured. Nil when nothing was. It sorts values.
func quantile[T int64 | float64](values []T, percent int) *T {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	rank := (len(values)*percent + 99) / 100
	return &values[rank-1]
}

// answered says whether the time of a call tells how fast the model is. A refused connection takes no time and a call
// that the user gave up on takes theirs: neither does.
func answered(c protocol.Call) bool {
	return !Failed(c.Verdict) && c.Verdict != protocol.VerdictCancelled && c.Verdict != protocol.VerdictLoading
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
