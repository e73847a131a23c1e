package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

func TestBaseline(t *testing.T) {
	for _, c := range []struct {
		name  string
		rates []float64
		want  bool
	}{
		{"nothing known", nil, false},
		{"slow from the start", []float64{4, 4, 4, 4, 4, 4, 4}, false},
		{"four calls are too few to know", []float64{41, 41, 41, 41, 4, 4}, false},
		{"one slow call", []float64{41, 41, 41, 41, 41, 4}, false},
		{"two slow calls", []float64{41, 41, 41, 41, 41, 4, 4}, true},
		{"two slow calls with a usual one between", []float64{41, 41, 41, 41, 41, 4, 41, 4}, false},
		{"a third is not less than a third", []float64{42, 42, 42, 42, 42, 14, 14}, false},
		{"the median knows no outlier", []float64{41, 1000, 41, 41, 41, 20, 20}, false},
		{"back to usual", []float64{41, 41, 41, 41, 41, 4, 4, 39}, false},
		{"half of usual is back", []float64{40, 40, 40, 40, 40, 4, 4, 20}, false},
		{"not quite back", []float64{40, 40, 40, 40, 40, 4, 4, 15}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b baseline
			for i, rate := range c.rates {
				b.add(rate, time.Unix(int64(i), 0))
			}
			if got := b.isSlow(); got != c.want {
				t.Errorf("slow: got %v, want %v", got, c.want)
			}
		})
	}
}

func TestBaselineFollowsWhatIsUsual(t *testing.T) {
	var b baseline
	for i := range 200 {
		b.add(100-float64(i)*0.4, time.Time{}) // ever slower, but never at once
		if b.isSlow() {
			t.Fatalf("call %d: slow", i)
		}
	}
	if usual, known := b.usual(); !known || usual < 20 || usual > 30 {
		t.Errorf("usual: got %v, want the rate of the last calls", usual)
	}
	for i := range newUsual + enoughCalls {
		b.add(2, time.Time{})
		if want := i >= 1 && i < newUsual-1; b.isSlow() != want {
			t.Fatalf("slow call %d: slow is %v, want %v", i+1, b.isSlow(), want)
		}
	}
	if usual, _ := b.usual(); usual != 2 {
		t.Errorf("usual: got %v, want what lasted", usual)
	}
}

// speeds is a speedometer that a test tells calls, one after the other.
type speeds struct {
	*speedometer
	t    *testing.T
	now  time.Time
	held sleep
	ask  func() ([]upstream.Loaded, error)
	n    int // questions asked
}

func newSpeeds(t *testing.T, base string) *speeds {
	t.Helper()
	target, err := upstream.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	s := &speeds{t: t, now: time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC), ask: func() ([]upstream.Loaded, error) { return nil, errors.New("no Ollama") }}
	s.speedometer = newSpeedometer(newBoard(parts{}), slog.New(slog.DiscardHandler), upstream.NewSelector(target))
	s.inFlight = func() int64 { return 0 }
	s.slept = func() sleep { return s.held }
	s.loaded = func(context.Context, *upstream.Target) ([]upstream.Loaded, error) { s.n++; return s.ask() }
	return s
}

const ollama = "http://localhost:11434/v1"

// calls tells of n calls, a second each.
func (s *speeds) calls(n int, rate float64, change ...func(*seenCall)) {
	for range n {
		c := seenCall{protocol.Call{Timestamp: s.now, LatencyMs: 1000, Model: "llama3.2", Upstream: s.selector.Load().Name,
			Verdict: protocol.VerdictComplete, TokensPerSecond: rate, UsageKnown: true, CompletionTokens: 400}, true}
		for _, f := range change {
			f(&c)
		}
		s.take(s.t.Context(), c)
		s.now = s.now.Add(2 * time.Second)
	}
}

func (s *speeds) wants(texts ...string) {
	s.t.Helper()
	got := []string{}
	for _, n := range s.board.Get().notices {
		got = append(got, n.Text+" | "+n.Hint)
	}
	if fmt.Sprint(got) != fmt.Sprint(texts) {
		s.t.Errorf("got %q, want %q", got, texts)
	}
}

// gateway.md 21: "slower than usual" is visible: 4 tok/s, usually 41, since wake.
func TestASlowModelIsNoticedOnceAndUntilItIsBack(t *testing.T) {
	s := newSpeeds(t, ollama)
	const want = "llama3.2 is slower than usual: 4 tok/s, usually 41 | Look at what else keeps this machine busy."
	s.calls(8, 41)
	s.calls(1, 4)
	s.wants()
	s.calls(1, 4)
	s.wants(want)
	s.calls(20, 3) // said is said
	s.wants(want)
	if s.n != 1 {
		t.Errorf("the model server was asked %d times, want once", s.n)
	}
	s.calls(1, 38)
	s.wants()
}

func TestReasonsAreNamedWhereTheyAreKnown(t *testing.T) {
	of := func(size, vram int64) func() ([]upstream.Loaded, error) {
		return func() ([]upstream.Loaded, error) {
			return []upstream.Loaded{{Name: "another:latest", Size: 9, VRAM: 1}, {Name: "llama3.2:latest", Size: size, VRAM: vram}}, nil
		}
	}
	const restart = "Restart the model server: some lose the GPU when the machine sleeps."
	for _, c := range []struct {
		name     string
		base     string
		ask      func() ([]upstream.Loaded, error)
		sleeps   bool
		suffix   string
		wantHint string
		asked    int
	}{
		{"partly on the CPU", ollama, of(1000, 620), false, ", 38 % on CPU", "Free memory of the GPU, or choose a smaller model.", 1},
		{"on the CPU", ollama, of(1000, 0), false, ", on CPU", "Free memory of the GPU, or choose a smaller model.", 1},
		{"on the CPU since wake", ollama, of(1000, 0), true, ", on CPU since wake", restart, 1},
		{"since wake", ollama, of(1000, 1000), true, ", since wake", restart, 1},
		{"since wake of another server", ollama, func() ([]upstream.Loaded, error) { return nil, errors.New("no Ollama") }, true, ", since wake", restart, 1},
		{"all on the GPU", ollama, of(1000, 1000), false, "", "Look at what else keeps this machine busy.", 1},
		{"on another machine: not asked", "http://192.168.0.7:11434/v1", of(1000, 0), false, "", "", 0},
		{"on another machine since this one woke", "http://192.168.0.7:11434/v1", of(1000, 0), true, ", since wake", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSpeeds(t, c.base)
			s.ask = c.ask
			s.calls(5, 41)
			if c.sleeps {
				s.held = sleep{asleep: s.now, woke: s.now.Add(8 * time.Hour)}
				s.now = s.held.woke.Add(time.Second)
			}
			s.calls(2, 4)
			s.wants("llama3.2 is slower than usual: 4 tok/s, usually 41" + c.suffix + " | " + c.wantHint)
			if s.n != c.asked {
				t.Errorf("the model server was asked %d times, want %d", s.n, c.asked)
			}
		})
	}
}

// A sleep after which the model was as fast as ever is not the reason.
func TestAnOldSleepIsNoReason(t *testing.T) {
	s := newSpeeds(t, ollama)
	s.calls(5, 41)
	s.held = sleep{asleep: s.now, woke: s.now.Add(time.Hour)}
	s.now = s.held.woke
	s.calls(1, 41)
	s.calls(2, 4)
	s.wants("llama3.2 is slower than usual: 4 tok/s, usually 41 | Look at what else keeps this machine busy.")
}

func TestCallsThatSayNothingOfTheSpeed(t *testing.T) {
	for name, change := range map[string]func(*seenCall){
		"others are in flight":      func(c *seenCall) { c.last = false },
		"it shared the model":       func(c *seenCall) { c.LatencyMs = 60_000 }, // with those that ended meanwhile
		"a short answer":            func(c *seenCall) { c.CompletionTokens = 3 },
		"it broke off":              func(c *seenCall) { c.Verdict = protocol.VerdictTruncated },
		"the caller left":           func(c *seenCall) { c.Verdict = protocol.VerdictCancelled },
		"the rate is not known":     func(c *seenCall) { c.TokensPerSecond = 0 },
		"it went to the one before": func(c *seenCall) { c.Upstream = "another" },
		"another model":             func(c *seenCall) { c.Model = "qwen3" },
		"asked for another":         func(c *seenCall) { c.RequestModel = "qwen3" },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpeeds(t, ollama)
			s.calls(5, 41)
			s.calls(4, 4, change)
			s.wants()
		})
	}
}

func TestTheDemoModelIsNeverSlow(t *testing.T) {
	s := newSpeeds(t, "demo")
	s.calls(5, 41)
	s.calls(4, 4)
	s.wants()
}

func TestAnotherUpstreamEndsWhatWasSaidOfTheOneBefore(t *testing.T) {
	s := newSpeeds(t, ollama)
	s.calls(5, 41)
	s.calls(2, 4)
	next, err := upstream.Parse("http://localhost:1234/v1")
	if err != nil {
		t.Fatal(err)
	}
	s.selector.Store(next)
	s.calls(1, 4)
	s.wants()
}

func TestBaselinesAreBounded(t *testing.T) {
	s := newSpeeds(t, ollama)
	s.calls(5, 41)
	s.calls(2, 4)
	for i := range 500 {
		s.calls(1, 41, func(c *seenCall) { c.Model = fmt.Sprint("m", i) })
	}
	if len(s.baselines) != maxBaselines || len(s.recent) != maxBaselines || len(s.spans) > spanMemory {
		t.Errorf("got %d models, %d in order, %d spans", len(s.baselines), len(s.recent), len(s.spans))
	}
	s.wants() // the slow one is forgotten, and so is its notice
}

// The whole way: from calls that pass through to a row of the menu, and away again.
func TestASlowModelIsARowOfTheMenu(t *testing.T) {
	var rate atomic.Int64
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/ps":
			_, _ = w.Write([]byte(`{"models":[{"name":"llama3.2:latest","size":1000,"size_vram":620}]}`))
		case "/v1/chat/completions":
			_, _ = fmt.Fprintf(w, `{"model":"llama3.2","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],
				"usage":{"prompt_tokens":1,"completion_tokens":100},"timings":{"predicted_n":100,"predicted_per_second":%d}}`, rate.Load())
		default:
			_, _ = w.Write([]byte(`{"object":"list","data":[]}`))
		}
	}))
	t.Cleanup(model.Close)
	l := live(t, func(c *Config) { c.Settings = settingsWith(t, "upstream="+model.URL+"/v1") })
	// More than it takes, since a call whose end is counted after the next has begun says nothing.
	calls := func(n int, r int64) {
		rate.Store(r)
		for range n {
			l.prompt("llama3.2")
		}
	}
	calls(10, 41)
	calls(5, 4)
	l.awaitMenu("⚠ llama3.2 is slower than usual: 4 tok/s, usually 41, 38 % on CPU")
	calls(5, 40)
	l.awaitView("no notice", func(menu string) bool { return !strings.Contains(menu, "slower than usual") })
}
