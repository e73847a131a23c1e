package app

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/timetest"
)

func TestAddressThatStaysHeldWakesNobody(t *testing.T) {
	st := newStage(false)
	st.heldBy = &PortHeldError{Addr: "127.0.0.1:4319", Holder: "nginx (pid 812)"}
	_ = play(t, st, func(t *testing.T) {
		st.wantPhase(t, protocol.PhaseBlocked)
		_, changed := st.board.Watch()
		timetest.Pass(20 * time.Second)
		if closed(changed) {
			t.Error("the status changed although nothing did")
		}
	})
}

func TestRestartThatCannotListenIsTriedAgain(t *testing.T) {
	st := newStage(false)
	full := &net.OpError{Op: "listen", Err: syscall.EMFILE}
	free, tries, served := st.listen, 0, 0
	st.listen = func(addr string) (net.Listener, error) {
		if tries++; tries == 2 || tries == 3 {
			return nil, full
		}
		return free(addr)
	}
	st.prepare = func(<-chan struct{}) (serveFunc, error) {
		return func(ctx context.Context, _ net.Listener) error {
			if served++; served > 1 {
				<-ctx.Done()
				return nil
			}
			<-time.After(time.Second)
			return errors.New("accept: too many open files")
		}, nil
	}
	_ = play(t, st, func(t *testing.T) {
		st.wantPhase(t, protocol.PhaseRunning)
		timetest.Pass(10 * time.Second) // 0.5 + 1 + 2 s of pauses
		st.wantPhase(t, protocol.PhaseRunning)
	})
}

// A tray that waits for its address has begun: what goes wrong later must not end it.
func TestBlockedTrayOutlivesABadConfiguration(t *testing.T) {
	st := newStage(false)
	st.heldBy = &PortHeldError{Addr: "127.0.0.1:4319", Holder: "nginx (pid 812)"}
	err := play(t, st, func(t *testing.T) {
		st.wantPhase(t, protocol.PhaseBlocked)
		st.set(func() { st.prepErr = errors.New("fixtures.json: no such file or directory") })
		timetest.Pass(time.Minute)
		st.wantPhase(t, protocol.PhaseFailed)
	})
	if err != nil {
		t.Errorf("Run: got %v, want nil", err)
	}
}

func TestStopThatComesWhileARestartDrainsHolds(t *testing.T) {
	st := newStage(false)
	st.deaf = true
	_ = play(t, st, func(t *testing.T) {
		outcomes := make(chan error, 2)
		for _, action := range []protocol.ServerAction{protocol.ServerRestart, protocol.ServerStop} {
			go func() { outcomes <- st.Do(t.Context(), action) }()
			synctest.Wait()
		}
		for range 2 {
			if err := <-outcomes; err != nil {
				t.Error(err)
			}
		}
		st.wantPhase(t, protocol.PhaseStopped)
	})
}

func TestActionsAtTheEndAreRefusedAtOnce(t *testing.T) {
	st := newStage(false)
	var end context.CancelFunc
	synctest.Test(t, func(t *testing.T) {
		st.enter()
		st.deaf = true
		ctx, cancel := context.WithCancel(t.Context())
		end = cancel
		over := make(chan struct{})
		go func() { defer close(over); _ = st.Run(ctx) }()
		synctest.Wait()
		end()
		synctest.Wait()
		draining := make(chan error, 1)
		go func() { draining <- st.Do(t.Context(), protocol.ServerRestart) }()
		synctest.Wait()
		st.abortNow()
		<-over
		if err := <-draining; !errors.Is(err, errEnding) {
			t.Errorf("while it drains: got %v, want %v", err, errEnding)
		}
		if err := st.Do(t.Context(), protocol.ServerRestart); !errors.Is(err, errEnding) {
			t.Errorf("after the end: got %v, want %v", err, errEnding)
		}
	})
}
