package metrics_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/metrics"
	"chatwright.dev/tray/server/protocol"
)

// call records a whole call that asked for model.
func call(s *metrics.Store, c protocol.Call) {
	if c.Verdict == "" {
		c.Verdict = protocol.VerdictComplete
	}
	s.Begin(c.Model)
	s.End(c)
}

func modelOf(t *testing.T, m protocol.Metrics, name string) protocol.ModelMetrics {
	t.Helper()
	for _, one := range m.Models {
		if one.Model == name {
			return one
		}
	}
	t.Fatalf("no model %q in %+v", name, m.Models)
	return protocol.ModelMetrics{}
}

func TestEachModelHasItsOwnNumbers(t *testing.T) {
	s := metrics.New(0)
	for i := range int64(100) {
		call(s, protocol.Call{Model: "fast", Timestamp: at, LatencyMs: i + 1, TokensPerSecond: 41.25, PromptTokens: 1, CompletionTokens: 2})
	}
	call(s, protocol.Call{Model: "slow", Timestamp: at, LatencyMs: 9000, TokensPerSecond: 4})
	call(s, protocol.Call{Model: "slow", Timestamp: at, Verdict: protocol.VerdictTruncated})
	s.Begin("slow")

	m := s.Snapshot()
	if names := []string{m.Models[0].Model, m.Models[1].Model}; !slices.Equal(names, []string{"fast", "slow"}) {
		t.Errorf("order: got %v, want the model with most calls first", names)
	}
	fast, slow := modelOf(t, m, "fast"), modelOf(t, m, "slow")
	if *fast.LatencyP50Ms != 50 || *fast.LatencyP95Ms != 95 || *fast.LatencyP99Ms != 99 || fast.TokensPerSecond != 41.25 {
		t.Errorf("fast: got p50 %d, p95 %d, p99 %d, %v tok/s; want 50, 95, 99, 41.25",
			*fast.LatencyP50Ms, *fast.LatencyP95Ms, *fast.LatencyP99Ms, fast.TokensPerSecond)
	}
	if fast.Calls != 100 || fast.Errors != 0 || fast.InFlight != 0 || fast.PromptTokens != 100 || fast.CompletionTokens != 200 {
		t.Errorf("fast: got %+v", fast)
	}
	if slow.Calls != 2 || slow.Errors != 1 || slow.InFlight != 1 || *slow.LatencyP50Ms != 9000 ||
		slow.Verdicts[protocol.VerdictTruncated] != 1 || slow.Verdicts[protocol.VerdictComplete] != 1 {
		t.Errorf("slow: got %+v", slow)
	}
	if m.Calls != 102 || m.InFlight != 1 || *m.LatencyP50Ms != 51 {
		t.Errorf("in total: got %d calls, %d in flight, p50 %d; want 102, 1, 51", m.Calls, m.InFlight, *m.LatencyP50Ms)
	}
}

// The numbers of a model stand under the name that callers ask for; the answer may name a dated variant of it.
func TestACallCountsForTheModelThatWasAskedFor(t *testing.T) {
	s := metrics.New(0)
	s.Begin("gpt-5")
	s.End(protocol.Call{Model: "gpt-5-2026-08-06", RequestModel: "gpt-5", Verdict: protocol.VerdictComplete})
	if got := s.Snapshot().Models; len(got) != 1 || got[0].Model != "gpt-5" || got[0].InFlight != 0 {
		t.Errorf("got %+v, want one call of gpt-5", got)
	}
}

// The proxy reads the model off a large body only as it passes, after the call began.
func TestInFlightIsRightWhereTheModelIsKnownLate(t *testing.T) {
	s := metrics.New(0)
	s.Begin("")
	s.Begin("m")
	s.End(protocol.Call{Model: "m", Verdict: protocol.VerdictComplete})
	s.End(protocol.Call{Model: "m", Verdict: protocol.VerdictComplete})
	m := s.Snapshot()
	for _, one := range m.Models {
		if one.InFlight != 0 {
			t.Errorf("%q: got %d in flight, want none", one.Model, one.InFlight)
		}
	}
	if m.InFlight != 0 {
		t.Errorf("in total: got %d in flight, want none", m.InFlight)
	}
}

func TestTheWindowIsTheHourUpToTheLastCall(t *testing.T) {
	s := metrics.New(0)
	call(s, protocol.Call{Model: "m", Timestamp: at, LatencyMs: 5000})
	call(s, protocol.Call{Model: "m", Timestamp: at.Add(30 * time.Minute), LatencyMs: 20})
	call(s, protocol.Call{Model: "m", Timestamp: at.Add(70 * time.Minute), Verdict: protocol.VerdictUnreachable})
	call(s, protocol.Call{Model: "m", Timestamp: at.Add(80 * time.Minute), LatencyMs: 10})
	m := s.Snapshot()
	want := protocol.Window{Since: at.Add(30*time.Minute + 20*time.Millisecond), Until: at.Add(80*time.Minute + 10*time.Millisecond), Calls: 3, Errors: 1}
	if got := *m.Window; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := *m.Models[0].Window; got != want {
		t.Errorf("of the model: got %+v, want %+v", got, want)
	}
	if got := *m.LatencyP99Ms; got != 20 {
		t.Errorf("p99: got %d, want 20: the slow call is of the hour before", got)
	}
}

// In a busy hour fewer calls are kept than ended; the window says what it covers.
func TestAWindowOfABusyHourSaysWhereItBegins(t *testing.T) {
	s := metrics.New(0)
	for i := range 2000 {
		call(s, protocol.Call{Model: "m", Timestamp: at.Add(time.Duration(i) * time.Second)})
	}
	m := s.Snapshot()
	if got, want := m.Window.Since, at.Add(976*time.Second); m.Window.Calls != 1024 || !got.Equal(want) {
		t.Errorf("in total: got %d calls since %s, want 1024 since %s", m.Window.Calls, got, want)
	}
	one := m.Models[0].Window
	if want := at.Add(1744 * time.Second); one.Calls != 256 || !one.Since.Equal(want) {
		t.Errorf("of the model: got %d calls since %s, want 256 since %s", one.Calls, one.Since, want)
	}
}

func TestAClockThatIsSetBackLeavesAWindowThatMakesSense(t *testing.T) {
	s := metrics.New(0)
	call(s, protocol.Call{Timestamp: at})
	call(s, protocol.Call{Timestamp: at.Add(-30 * time.Minute)})
	if w := s.Snapshot().Window; !w.Since.Equal(at.Add(-30*time.Minute)) || !w.Until.Equal(at) || w.Calls != 2 {
		t.Errorf("got %+v, want both calls in order", w)
	}
}

// gateway.md 19: 64 models, then "other".
func TestModelsAreBounded(t *testing.T) {
	s := metrics.New(0)
	for i := range 100 {
		call(s, protocol.Call{Model: fmt.Sprintf("m%02d", i), PromptTokens: 1})
	}
	call(s, protocol.Call{Model: "other", PromptTokens: 1}) // a model may really be called so
	m := s.Snapshot()
	if len(m.Models) != 65 || m.Models[64].Model != protocol.OtherModels {
		t.Fatalf("got %d models, the last %q; want 64 and other", len(m.Models), m.Models[len(m.Models)-1].Model)
	}
	if got := m.Models[64]; got.Calls != 37 || got.PromptTokens != 37 {
		t.Errorf("other: got %d calls, %d tokens; want the 36 that are too many and its own", got.Calls, got.PromptTokens)
	}
}

// A name that never got an answer is a slip of the pen: it gives way, and its counts are kept.
func TestNamesThatNeverGotAnAnswerMakeRoom(t *testing.T) {
	s := metrics.New(0)
	s.Begin("in flight")
	for i := range 1000 {
		call(s, protocol.Call{Model: fmt.Sprintf("typo-%d", i), Verdict: protocol.VerdictUpstreamError, Status: 404})
	}
	call(s, protocol.Call{Model: "real"})
	m := s.Snapshot()
	var calls, errors int64
	for _, one := range m.Models {
		calls, errors = calls+one.Calls, errors+one.Errors
	}
	if modelOf(t, m, "real").Calls != 1 || modelOf(t, m, "in flight").InFlight != 1 || modelOf(t, m, "typo-999").Errors != 1 {
		t.Error("a real model, one in flight and the last slip should be shown")
	}
	if len(m.Models) > 65 || calls != 1001 || errors != 1000 {
		t.Errorf("got %d models with %d calls and %d errors; want at most 65 with 1001 and 1000", len(m.Models), calls, errors)
	}
}

func TestNamesAreValidAndBounded(t *testing.T) {
	s := metrics.New(0)
	call(s, protocol.Call{Model: "a\xffb"})
	call(s, protocol.Call{Model: strings.Repeat("字", 1000)})
	for _, one := range s.Snapshot().Models {
		if len(one.Model) > 210 || strings.ToValidUTF8(one.Model, "") != one.Model {
			t.Errorf("got a name of %d bytes: %.20q", len(one.Model), one.Model)
		}
	}
}

// The bound that the package states, against whatever is called.
func TestMemoryIsBounded(t *testing.T) {
	s := metrics.New(0)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	first := int64(1)
	before := heap()
	for model := range 70 {
		name := fmt.Sprint("m", model)
		for upstream := range 30 {
			for status := 399; status < 460; status++ {
				s.End(protocol.Call{Model: name, Upstream: fmt.Sprint("u", upstream), Status: status, Verdict: protocol.VerdictUpstreamError,
					UsageKnown: true, FirstTokenMs: &first})
			}
		}
		for range 256 {
			call(s, protocol.Call{Model: name, UsageKnown: true, FirstTokenMs: &first})
		}
	}
	if got := int64(heap()) - int64(before); got > 3<<19 {
		t.Errorf("got %d KiB, want at most 1.5 MiB", got>>10)
	}
	runtime.KeepAlive(s)
}
