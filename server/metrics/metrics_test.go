package metrics_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"chatwright.dev/tray/server/metrics"
	"chatwright.dev/tray/server/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var at = time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)

// add records calls with the ids from first to last.
func add(s *metrics.Store, first, last int) {
	for i := first; i <= last; i++ {
		s.Begin("m")
		s.End(protocol.Call{ID: fmt.Sprint(i), LatencyMs: int64(i), Verdict: protocol.VerdictComplete})
	}
}

func ids(calls []protocol.Call) []string {
	out := []string{}
	for _, c := range calls {
		out = append(out, c.ID)
	}
	return out
}

// companion.md: oldest first, an empty list when there is none, the last 200 calls.
func TestTheLastCallsAreKeptOldestFirst(t *testing.T) {
	s := metrics.New(0)
	if got := s.Calls(); got == nil || len(got) != 0 {
		t.Errorf("with no call: got %v, want an empty list", got)
	}
	add(s, 1, 450)
	got := ids(s.Calls())
	if len(got) != 200 || got[0] != "251" || got[199] != "450" {
		t.Errorf("got %d calls from %s to %s, want 200 from 251 to 450", len(got), got[0], got[len(got)-1])
	}
	small := metrics.New(3)
	add(small, 1, 5)
	if got, want := ids(small.Calls()), []string{"3", "4", "5"}; !slices.Equal(got, want) {
		t.Errorf("capacity 3: got %v, want %v", got, want)
	}
}

func TestACursorReadsEachCallOnce(t *testing.T) {
	s := metrics.New(4)
	for _, c := range []struct {
		name  string
		until int // calls that are there by then
		after uint64
		limit int
		want  []string
		next  uint64
	}{
		{"nothing yet", 0, 0, 0, []string{}, 0},
		{"from the start", 3, 0, 0, []string{"1", "2", "3"}, 3},
		{"nothing new", 3, 3, 0, []string{}, 3},
		{"what is new", 4, 3, 0, []string{"4"}, 4},
		{"at most two", 4, 0, 2, []string{"1", "2"}, 2},
		{"the next two", 4, 2, 2, []string{"3", "4"}, 4},
		{"what left the ring is skipped", 7, 2, 0, []string{"4", "5", "6", "7"}, 7},
		{"also with a limit", 7, 1, 1, []string{"4"}, 4},
		{"a cursor of an earlier life", 7, 99, 0, []string{"4", "5", "6", "7"}, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			add(s, int(s.Snapshot().Calls)+1, c.until)
			page := s.After(c.after, c.limit)
			if page.Calls == nil || !slices.Equal(ids(page.Calls), c.want) || page.Next != c.next {
				t.Errorf("got %v and cursor %d, want %v and %d", ids(page.Calls), page.Next, c.want, c.next)
			}
		})
	}
}

func TestTotalsCountAllCallsAndQuantilesThoseOfTheLastHour(t *testing.T) {
	s := metrics.New(10)
	ms := func(n int64) *int64 { return &n }
	for range 100 { // these are of two hours before
		s.Begin("m")
		s.End(protocol.Call{Timestamp: at.Add(-2 * time.Hour),
			LatencyMs: 90_000, PromptTokens: 1, CompletionTokens: 2, Verdict: protocol.VerdictComplete})
	}
	for i := range int64(8) {
		s.Begin("m")
		s.End(protocol.Call{Timestamp: at, LatencyMs: 10 * (i + 1), FirstTokenMs: ms(i), TokensPerSecond: float64(i), Verdict: protocol.VerdictNoDone})
	}
	s.Begin("m")
	s.End(protocol.Call{Timestamp: at, LatencyMs: 0, Verdict: protocol.VerdictUnreachable})
	s.Begin("m")
	s.End(protocol.Call{Timestamp: at, LatencyMs: 70_000, Verdict: protocol.VerdictCancelled, ID: "newest"})
	s.Begin("m")

	m := s.Snapshot()
	if m.Calls != 110 || m.Errors != 1 || m.InFlight != 1 || m.PromptTokens != 100 || m.CompletionTokens != 200 {
		t.Errorf("totals: got %+v", m)
	}
	if got := *m.LatencyP50Ms; got != 40 {
		t.Errorf("p50: got %d, want 40: a refused and a cancelled call say nothing about the model", got)
	}
	if got := *m.LatencyP95Ms; got != 80 {
		t.Errorf("p95: got %d, want 80", got)
	}
	if got := *m.LatencyP99Ms; got != 80 {
		t.Errorf("p99: got %d, want 80", got)
	}
	if got := *m.FirstTokenP50Ms; got != 3 {
		t.Errorf("first token: got %d, want 3", got)
	}
	if got := m.TokensPerSecond; got != 4 { // the median of 1 to 7: a rate of 0 is an unknown one
		t.Errorf("rate: got %v, want 4", got)
	}
	want := map[protocol.Verdict]int64{
		protocol.VerdictComplete: 100, protocol.VerdictNoDone: 8, protocol.VerdictUnreachable: 1, protocol.VerdictCancelled: 1,
	}
	if fmt.Sprint(m.Verdicts) != fmt.Sprint(want) {
		t.Errorf("verdicts: got %v, want %v", m.Verdicts, want)
	}
	if len(m.Recent) != 8 || m.Recent[0].ID != "newest" {
		t.Errorf("recent: got %d, the first %q; want 8, newest first", len(m.Recent), m.Recent[0].ID)
	}
}

func TestNothingMeasuredIsUnknownAndNotZero(t *testing.T) {
	m := metrics.New(0).Snapshot()
	if m.LatencyP50Ms != nil || m.LatencyP95Ms != nil || m.FirstTokenP50Ms != nil || m.Recent != nil || m.Verdicts != nil {
		t.Errorf("got %+v, want nothing", m)
	}
}

func TestASnapshotDoesNotChangeLater(t *testing.T) {
	s := metrics.New(2)
	add(s, 1, 2)
	before := s.Snapshot()
	add(s, 3, 9)
	if before.Verdicts[protocol.VerdictComplete] != 2 || before.Recent[0].ID != "2" {
		t.Errorf("got %+v, want what held when it was taken", before)
	}
}

func TestChangedWakesAtTheNextBeginAndEnd(t *testing.T) {
	s := metrics.New(0)
	for name, change := range map[string]func(){
		"begin": func() { s.Begin("m") },
		"end":   func() { s.End(protocol.Call{}) },
	} {
		first, second := s.Changed(), s.Changed()
		select {
		case <-first:
			t.Fatalf("%s: woken before anything changed", name)
		default:
		}
		change()
		<-first
		<-second
	}
}

func TestAnEndWithoutABeginLeavesInFlightAtZero(t *testing.T) {
	s := metrics.New(0)
	s.End(protocol.Call{})
	if got := s.Snapshot().InFlight; got != 0 {
		t.Errorf("in flight: got %d, want 0", got)
	}
}

func TestWhatCountsAsAnError(t *testing.T) {
	for verdict, want := range map[protocol.Verdict]bool{
		protocol.VerdictUnreachable: true, protocol.VerdictUpstreamError: true,
		protocol.VerdictStreamError: true, protocol.VerdictTruncated: true,
		protocol.VerdictComplete: false, protocol.VerdictNoDone: false,
		protocol.VerdictCancelled: false, protocol.VerdictLoading: false, "": false,
	} {
		s := metrics.New(0)
		s.End(protocol.Call{Verdict: verdict})
		if got := s.Snapshot().Errors == 1; got != want {
			t.Errorf("%q: got %v, want %v", verdict, got, want)
		}
	}
}

func TestUseFromManySides(t *testing.T) {
	s := metrics.New(50)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { add(s, 1, 200) })
		all.Go(func() {
			var cursor uint64
			for range 100 {
				changed := s.Changed()
				page := s.After(cursor, 7)
				cursor = page.Next
				_ = s.Snapshot()
				if len(page.Calls) == 0 && s.Snapshot().Calls < 1600 {
					<-changed
				}
			}
		})
	}
	all.Wait()
	if m := s.Snapshot(); m.Calls != 1600 || m.InFlight != 0 {
		t.Errorf("got %d calls, %d in flight; want 1600, 0", m.Calls, m.InFlight)
	}
}

// BenchmarkCall is what recording one call costs while nobody watches.
func BenchmarkCall(b *testing.B) {
	s := metrics.New(0)
	add(s, 1, 200)
	first := int64(300)
	c := protocol.Call{Model: "m", Verdict: protocol.VerdictComplete, LatencyMs: 1800, FirstTokenMs: &first, TokensPerSecond: 38.25,
		PromptTokens: 12, CompletionTokens: 412, UsageKnown: true, Upstream: "localhost:11434"}
	b.ReportAllocs()
	for b.Loop() {
		s.Begin("m")
		s.End(c)
	}
}

// BenchmarkSnapshot is what one look costs.
func BenchmarkSnapshot(b *testing.B) {
	s := metrics.New(0)
	add(s, 1, 200)
	b.ReportAllocs()
	for b.Loop() {
		_ = s.Snapshot()
	}
}
