package app

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"chatwright.dev/tray/server/metrics"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/timetest"
	"chatwright.dev/tray/server/watch"
)

func TestStatusFollowsAFloodCalmlyAndAPhaseAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := metrics.New(0)
		seen := 0
		p := &publisher{
			board: newBoard(parts{phase: protocol.PhaseRunning}), metrics: store,
			status:  watch.New(protocol.Status{}),
			observe: func(calls []protocol.Call) { seen += len(calls) },
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		synctest.Wait()

		published := 0
		watching := make(chan struct{})
		go func() {
			for {
				_, changed := p.status.Watch()
				select {
				case <-changed:
					published++
				case <-watching:
					return
				}
			}
		}()
		for range 1000 { // two seconds of five hundred calls a second
			store.Begin("m")
			store.End(protocol.Call{Model: "m", Status: 200, Verdict: protocol.VerdictComplete})
			timetest.Pass(2 * time.Millisecond)
		}
		timetest.Pass(calmness)
		if published < 8 || published > 10 {
			t.Errorf("statuses in 2 s of flood: got %d, want 4 a second", published)
		}
		if got := p.status.Get().Metrics.Calls; got != 1000 {
			t.Errorf("calls in the last status: got %d, want all 1000", got)
		}
		if seen != 1000 {
			t.Errorf("calls observed: got %d, want each once", seen)
		}

		before := published
		timetest.Pass(time.Hour)
		if published != before {
			t.Errorf("statuses in an idle hour: got %d, want none", published-before)
		}

		store.Begin("m") // now the publisher is calm for a moment
		synctest.Wait()
		p.board.setPhase(protocol.PhaseStopped, "")
		synctest.Wait()
		if got := p.status.Get().Phase; got != protocol.PhaseStopped {
			t.Errorf("a phase waits for the metrics: got %s", got)
		}
		close(watching)
		cancel()
		<-ended
	})
}

func TestDegradedIsARunningServerWithADeadUpstream(t *testing.T) {
	p := &publisher{metrics: metrics.New(0)}
	for _, c := range []struct {
		phase protocol.Phase
		reach protocol.Reach
		want  protocol.Phase
	}{
		{protocol.PhaseRunning, protocol.ReachUnknown, protocol.PhaseRunning},
		{protocol.PhaseRunning, protocol.ReachOK, protocol.PhaseRunning},
		{protocol.PhaseRunning, protocol.ReachLoading, protocol.PhaseRunning},
		{protocol.PhaseRunning, protocol.ReachDown, protocol.PhaseDegraded},
		{protocol.PhaseStopped, protocol.ReachDown, protocol.PhaseStopped},
	} {
		got := p.compose(parts{phase: c.phase, upstream: protocol.Upstream{Reach: c.reach}}).Phase
		if got != c.want {
			t.Errorf("%s with an upstream that is %s: got %s, want %s", c.phase, c.reach, got, c.want)
		}
	}
}
