package app

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/timetest"
	"chatwright.dev/tray/server/upstream"
)

// newScout makes a scout of an upstream that is never really asked; probes are counted.
func newScout(t *testing.T) (*scout, *atomic.Int64) {
	t.Helper()
	target, err := upstream.Parse("http://localhost:11434/v1")
	if err != nil {
		t.Fatal(err)
	}
	probes := &atomic.Int64{}
	log := slog.New(slog.DiscardHandler)
	return &scout{
		selector: upstream.NewSelector(target),
		board:    newBoard(parts{phase: protocol.PhaseRunning, upstream: describe(target, protocol.ReachUnknown, "")}),
		log:      log, memory: newMemory(filepath.Join(t.TempDir(), "state.json"), log),
		ask: make(chan struct{}, 1), clock: time.Now,
		reach: func(context.Context, *upstream.Target) (protocol.Reach, string) {
			probes.Add(1)
			return protocol.ReachOK, ""
		},
	}, probes
}

func TestWhatCallsSayOfTheUpstream(t *testing.T) {
	ok := protocol.Call{Status: 200, Verdict: protocol.VerdictComplete}
	broken := protocol.Call{Status: 500, Verdict: protocol.VerdictUpstreamError}
	cutShort := protocol.Call{Status: 200, Verdict: protocol.VerdictTruncated}
	inStream := protocol.Call{Status: 200, Verdict: protocol.VerdictStreamError, Error: "CUDA out of memory"}
	badRequest := protocol.Call{Status: 400, Verdict: protocol.VerdictUpstreamError}
	refused := protocol.Call{Verdict: protocol.VerdictUnreachable, Error: "connection refused at localhost:11434"}
	missing := protocol.Call{Status: 404, Verdict: protocol.VerdictUpstreamError}
	loading := protocol.Call{Model: "llama3.2", Status: 503, Verdict: protocol.VerdictLoading}
	left := protocol.Call{Status: 499, Verdict: protocol.VerdictCancelled}
	other := protocol.Call{Verdict: protocol.VerdictUnreachable, Upstream: "another"}
	for _, c := range []struct {
		name  string
		calls []protocol.Call
		want  protocol.Reach
	}{
		{"an answer", []protocol.Call{ok}, protocol.ReachOK},
		{"a refused connection", []protocol.Call{ok, refused}, protocol.ReachDown},
		{"two 5xx in a row", []protocol.Call{ok, broken, broken}, protocol.ReachOK},
		{"three 5xx in a row", []protocol.Call{ok, broken, broken, broken}, protocol.ReachDown},
		{"three broken streams in a row", []protocol.Call{cutShort, inStream, cutShort}, protocol.ReachDown},
		{"three 5xx with an answer between", []protocol.Call{broken, broken, ok, broken}, protocol.ReachOK},
		{"a caller that leaves says nothing", []protocol.Call{refused, left}, protocol.ReachDown},
		{"a caller's own mistake is an answer", []protocol.Call{refused, badRequest}, protocol.ReachOK},
		{"a model that is not there, of an upstream that was down", []protocol.Call{refused, missing}, protocol.ReachOK},
		{"a model that loads", []protocol.Call{refused, loading}, protocol.ReachLoading},
		{"a call to the upstream before", []protocol.Call{ok, other}, protocol.ReachOK},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := newScout(t)
			for i := range c.calls {
				if c.calls[i].Upstream == "" {
					c.calls[i].Upstream = s.selector.Load().Name
				}
			}
			s.observe(c.calls)
			if got := s.board.Get().upstream.Reach; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			noticed := slices.ContainsFunc(s.board.Get().notices, func(n protocol.Notice) bool { return n.Cause == causeUpstream })
			if noticed != (c.want == protocol.ReachDown) {
				t.Errorf("a notice is shown: %v, but the upstream is %s", noticed, c.want)
			}
		})
	}
}

func TestAFailingModelIsSaidInTheUpstreamsWordsOncePerCause(t *testing.T) {
	s, _ := newScout(t)
	stopped := protocol.Call{Model: "llama3.2", Status: 500, Verdict: protocol.VerdictUpstreamError,
		Error: "the model runner has stopped", Upstream: s.selector.Load().Name}
	s.observe([]protocol.Call{stopped, stopped, stopped})
	n := s.board.Get().notices
	if len(n) != 1 || n[0].Text != "llama3.2: the model runner has stopped" {
		t.Fatalf("notices: got %+v", n)
	}
	since := n[0].Since
	s.observe([]protocol.Call{stopped, stopped})
	if n := s.board.Get().notices; len(n) != 1 || n[0].Since != since {
		t.Errorf("the same cause was said again: %+v", n)
	}
}

func TestNoticeOfADeadUpstreamSaysWhenItLastAnswered(t *testing.T) {
	s, _ := newScout(t)
	base := s.selector.Load().BaseURL.String()
	s.memory.Answered(base, time.Date(2026, time.November, 29, 14, 2, 0, 0, time.Local))
	s.report(s.selector.Load(), protocol.ReachDown, "connection refused")
	if got := s.board.Get().notices[0].Hint; !strings.HasPrefix(got, "It last answered 29 November, 14:02. ") {
		t.Errorf("hint: got %q", got)
	}
}

func TestAnUpstreamThatIsNoModelServerIsSaid(t *testing.T) {
	s, _ := newScout(t)
	s.report(s.selector.Load(), protocol.ReachOK, "answers, but with status 404 to /models: "+upstream.WrongBase)
	s.observe([]protocol.Call{{Status: 404, Verdict: protocol.VerdictUpstreamError, Upstream: s.selector.Load().Name}})
	n := s.board.Get().notices
	if len(n) != 1 || n[0].Text != "localhost:11434 answers, but with status 404 to /models: is the base URL right?" || !strings.Contains(n[0].Hint, "/v1") {
		t.Errorf("notices: got %+v", n)
	}
	s.report(s.selector.Load(), protocol.ReachOK, "")
	if n := s.board.Get().notices; len(n) != 0 {
		t.Errorf("the notice outlived its cause: %+v", n)
	}
}

// The upstream is probed at start and after sleep, and never in a loop.
func TestProbesAtStartAndAfterSleepOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, probes := newScout(t)
		s.ask = make(chan struct{}, 1)
		var slept atomic.Int64
		s.clock = func() time.Time { return time.Now().Add(time.Duration(slept.Load())) }
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		s.Ask()
		go func() { ended <- s.Run(ctx) }()
		timetest.Pass(24 * time.Hour)
		if got := probes.Load(); got != 1 {
			t.Errorf("probes in a day awake: got %d, want the one at start", got)
		}
		slept.Store(int64(8 * time.Hour))
		timetest.Pass(2 * wakePeriod)
		if got := probes.Load(); got != 2 {
			t.Errorf("probes after a night's sleep: got %d, want one more", got)
		}
		if got := s.lastSleep(); got.woke.Sub(got.asleep) < 8*time.Hour || got.woke.Sub(got.asleep) > 8*time.Hour+wakePeriod {
			t.Errorf("the sleep that is remembered: got %s to %s, want the eight hours", got.asleep, got.woke)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Model servers are looked for when somebody asks and after sleep, where an upstream was not named, and never in a loop.
func TestModelServersAreLookedForAfterSleepOnly(t *testing.T) {
	named, open := settingsWith(t, "upstream=http://localhost:11434/v1"), unset(t)
	for name, c := range map[string]struct {
		settings settings.Settings
		ask      bool  // somebody looks once
		want     int64 // looks after a night's sleep
	}{
		"nobody named an upstream":                      {open, false, 1},
		"one was named":                                 {named, false, 0},
		"one was named, and somebody has looked before": {named, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := newScout(t)
				var slept, looks atomic.Int64
				s.clock = func() time.Time { return time.Now().Add(time.Duration(slept.Load())) }
				s.look = make(chan struct{}, 1)
				choice, first, err := newChoice(Config{Settings: c.settings, Paths: pathsIn(t)}, s.memory, s.log)
				if err != nil {
					t.Fatal(err)
				}
				s.selector = upstream.NewSelector(first)
				choice.find = func(context.Context) []protocol.FoundServer { looks.Add(1); return nil }
				choice.join(s.selector, s, func() string { return c.settings.Upstream })
				s.find = choice.look
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- s.Run(ctx) }()
				if c.ask {
					s.Look()
				}
				timetest.Pass(24 * time.Hour)
				awake := looks.Load()
				if (awake == 1) != c.ask || awake > 1 {
					t.Errorf("looks in a day awake: got %d, want only what was asked for", awake)
				}
				slept.Store(int64(8 * time.Hour))
				timetest.Pass(2 * wakePeriod)
				if got := looks.Load(); got != c.want {
					t.Errorf("looks after a night's sleep: got %d, want %d", got, c.want)
				}
				timetest.Pass(24 * time.Hour)
				if got := looks.Load(); got != c.want {
					t.Errorf("looks in the day after: got %d more", got-c.want)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
