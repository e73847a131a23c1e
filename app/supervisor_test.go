package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/timetest"
)

// stage is a supervisor whose surroundings a test plays.
type stage struct {
	*supervisor
	mu       sync.Mutex
	heldBy   *PortHeldError // nil: the port is free
	serveErr error          // not nil: the server ends with it at once
	prepErr  error
	deaf     bool // the server drains until it is cut
	served   int  // how often a server began
	tries    int  // how often listen was called
	gone     chan struct{}
	abortNow func()
}

func newStage(headless bool) *stage {
	st := &stage{}
	st.supervisor = &supervisor{
		addr: func() string { return "127.0.0.1:4319" },
		listen: func(string) (net.Listener, error) {
			st.mu.Lock()
			defer st.mu.Unlock()
			st.tries++
			if st.heldBy != nil {
				return nil, &net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}
			}
			return fakeListener{}, nil
		},
		prepare: func(cut <-chan struct{}) (serveFunc, error) {
			st.mu.Lock()
			defer st.mu.Unlock()
			return func(ctx context.Context, _ net.Listener) error { return st.serveFake(ctx, cut) }, st.prepErr
		},
		holder: func(context.Context, string) *PortHeldError { st.mu.Lock(); defer st.mu.Unlock(); return st.heldBy },
		follow: func(ctx context.Context, _ string, onMetrics func(protocol.Metrics)) {
			onMetrics(protocol.Metrics{Calls: 7})
			select {
			case <-ctx.Done():
			case <-st.gone:
			}
		},
		log: slog.New(slog.DiscardHandler), firstHeld: headless,
	}
	return st
}

func (st *stage) serveFake(ctx context.Context, cut <-chan struct{}) error {
	st.mu.Lock()
	st.served++
	err, deaf := st.serveErr, st.deaf
	st.mu.Unlock()
	if err != nil {
		return err
	}
	<-ctx.Done()
	if deaf {
		<-cut
	}
	return nil
}

func (st *stage) set(change func()) {
	st.mu.Lock()
	defer st.mu.Unlock()
	change()
}

func (st *stage) triesSoFar() (n int) {
	st.set(func() { n = st.tries })
	return n
}

func (st *stage) phase() protocol.Phase { return st.board.Get().phase }

type fakeListener struct{ net.Listener }

func (fakeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4319} }

// play runs the supervisor in a bubble of fake time until the scene is over, and returns what Run returned.
func play(t *testing.T, st *stage, scene func(t *testing.T)) error {
	t.Helper()
	var runErr error
	synctest.Test(t, func(t *testing.T) {
		st.enter()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); runErr = st.Run(ctx) }()
		synctest.Wait()
		scene(t)
		cancel()
		<-ended
	})
	return runErr
}

// enter makes the channels, in the bubble, since a bubble waits only for channels of its own.
func (st *stage) enter() {
	abort := make(chan struct{})
	st.abort, st.abortNow = abort, func() { close(abort) }
	st.gone, st.ended = make(chan struct{}), make(chan struct{})
	st.commands = make(chan command)
	st.board = newBoard(parts{phase: protocol.PhaseStarting})
}

func (st *stage) wantPhase(t *testing.T, want protocol.Phase) {
	t.Helper()
	synctest.Wait()
	if got := st.phase(); got != want {
		t.Errorf("phase: got %s, want %s", got, want)
	}
}

func TestServerRunsStopsAndStarts(t *testing.T) {
	st := newStage(true)
	err := play(t, st, func(t *testing.T) {
		st.wantPhase(t, protocol.PhaseRunning)
		for _, step := range []struct {
			action protocol.ServerAction
			want   protocol.Phase
		}{
			{protocol.ServerStart, protocol.PhaseRunning}, // it runs: nothing to do
			{protocol.ServerStop, protocol.PhaseStopped},
			{protocol.ServerStop, protocol.PhaseStopped},
			{protocol.ServerStart, protocol.PhaseRunning},
			{protocol.ServerRestart, protocol.PhaseRunning},
		} {
			if err := st.Do(t.Context(), step.action); err != nil {
				t.Errorf("%s: %v", step.action, err)
			}
			st.wantPhase(t, step.want)
		}
		if st.served != 3 {
			t.Errorf("servers begun: got %d, want 3 (first, start, restart)", st.served)
		}
	})
	if err != nil {
		t.Errorf("a clean end: got %v, want nil", err)
	}
}

func TestServerThatFailsIsTriedAgainWithGrowingPausesAndThenGivenUp(t *testing.T) {
	st := newStage(false)
	st.serveErr = errors.New("accept: too many open files")
	_ = play(t, st, func(t *testing.T) {
		begun := time.Now()
		st.wantPhase(t, protocol.PhaseStarting)
		for st.phase() != protocol.PhaseFailed {
			_, changed := st.board.Watch()
			<-changed
		}
		// 0.5 + 1 + 2 + 4 + 8 seconds of pauses between six tries.
		if got, want := time.Since(begun), 15500*time.Millisecond; got != want {
			t.Errorf("given up after %v, want %v", got, want)
		}
		if st.served != 6 {
			t.Errorf("tries: got %d, want the first and 5 restarts", st.served)
		}
		if got, want := st.board.Get().detail, "accept: too many open files"; got != want {
			t.Errorf("detail: got %q, want %q", got, want)
		}
		st.set(func() { st.serveErr = nil })
		if err := st.Do(t.Context(), protocol.ServerStart); err != nil {
			t.Error(err)
		}
		st.wantPhase(t, protocol.PhaseRunning)
		if got := st.board.Get().detail; got != "" {
			t.Errorf("the detail outlived its cause: %q", got)
		}
	})
}

func TestHeldPortInATrayIsShownAndTriedAgain(t *testing.T) {
	st := newStage(false)
	st.heldBy = &PortHeldError{Addr: "127.0.0.1:4319", Holder: "nginx (pid 812)"}
	_ = play(t, st, func(t *testing.T) {
		st.wantPhase(t, protocol.PhaseBlocked)
		if got := st.board.Get().detail; got != "nginx (pid 812)" {
			t.Errorf("detail: got %q, want the holder", got)
		}
		if err := st.Do(t.Context(), protocol.ServerStart); err == nil {
			t.Error("start on a held port: no error")
		}
		tries := st.triesSoFar()
		timetest.Pass(6 * time.Second)
		if got := st.triesSoFar() - tries; got != 3 {
			t.Errorf("tries in 6 s: got %d, want one every 2 s", got)
		}
		st.set(func() { st.heldBy = nil })
		timetest.Pass(2 * time.Second)
		st.wantPhase(t, protocol.PhaseRunning)
		if n := st.board.Get().notices; len(n) != 0 {
			t.Errorf("the notice outlived its cause: %+v", n)
		}
	})
}

func TestHeldPortEndsAHeadlessStart(t *testing.T) {
	for name, held := range map[string]*PortHeldError{
		"a stranger":        {Addr: "127.0.0.1:4319", Holder: "nginx (pid 812)"},
		"another companion": {Addr: "127.0.0.1:4319", Ours: true},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(true)
			st.heldBy = held
			err := play(t, st, func(*testing.T) {})
			if got, ok := errors.AsType[*PortHeldError](err); !ok || got.Ours != held.Ours {
				t.Errorf("got %v, want the holder", err)
			}
		})
	}
}

func TestAnotherCompanionIsShownUntilItIsGone(t *testing.T) {
	st := newStage(false)
	st.heldBy = &PortHeldError{Addr: "127.0.0.1:4319", Ours: true}
	_ = play(t, st, func(t *testing.T) {
		st.wantPhase(t, protocol.PhaseExternal)
		if m := st.board.Get().external; m == nil || m.Calls != 7 {
			t.Errorf("its metrics: got %+v, want 7 calls", m)
		}
		for _, action := range []protocol.ServerAction{protocol.ServerStop, protocol.ServerRestart} {
			if err := st.Do(t.Context(), action); !errors.Is(err, errNotOurs) {
				t.Errorf("%s: got %v, want a refusal", action, err)
			}
		}
		st.set(func() { st.heldBy = nil })
		close(st.gone)
		st.wantPhase(t, protocol.PhaseRunning)
		if st.board.Get().external != nil {
			t.Error("the other's metrics are still shown")
		}
	})
}

func TestBadConfiguration(t *testing.T) {
	bad := errors.New("fixtures.json: line 3: not an object")
	t.Run("at the very start it is Run's error", func(t *testing.T) {
		st := newStage(false)
		st.prepErr = bad
		if err := play(t, st, func(*testing.T) {}); !errors.Is(err, bad) {
			t.Errorf("got %v, want %v", err, bad)
		}
	})
	t.Run("later it is the phase failed", func(t *testing.T) {
		st := newStage(true)
		err := play(t, st, func(t *testing.T) {
			st.set(func() { st.prepErr = bad })
			if err := st.Do(t.Context(), protocol.ServerRestart); !errors.Is(err, bad) {
				t.Errorf("restart: got %v, want %v", err, bad)
			}
			st.wantPhase(t, protocol.PhaseFailed)
		})
		if err != nil {
			t.Errorf("Run: got %v, want nil", err)
		}
	})
}

func TestGraceIsCut(t *testing.T) {
	t.Run("by a second stop", func(t *testing.T) {
		st := newStage(false)
		st.deaf = true
		_ = play(t, st, func(t *testing.T) {
			first := make(chan error, 1)
			go func() { first <- st.Do(t.Context(), protocol.ServerStop) }()
			synctest.Wait()
			if got := st.board.Get().detail; got != detailStopping {
				t.Errorf("detail while draining: got %q, want %q", got, detailStopping)
			}
			if err := st.Do(t.Context(), protocol.ServerStop); err != nil {
				t.Error(err)
			}
			if err := <-first; err != nil {
				t.Error(err)
			}
			st.wantPhase(t, protocol.PhaseStopped)
		})
	})
	t.Run("by the program's abort", func(t *testing.T) {
		st := newStage(false)
		st.deaf = true
		_ = play(t, st, func(*testing.T) { st.abortNow() })
	})
}

func TestWhatIsAskedLastWhileTheServerDrainsHolds(t *testing.T) {
	st := newStage(false)
	st.deaf = true
	_ = play(t, st, func(t *testing.T) {
		outcomes := make(chan error, 3)
		for _, action := range []protocol.ServerAction{protocol.ServerStop, protocol.ServerStart, protocol.ServerStop} {
			go func() { outcomes <- st.Do(t.Context(), action) }()
			synctest.Wait()
		}
		for range 3 {
			if err := <-outcomes; err != nil {
				t.Error(err)
			}
		}
		st.wantPhase(t, protocol.PhaseStopped)
	})
}
