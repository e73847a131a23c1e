package studio_test

import (
	"testing"
	"testing/synctest"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/timetest"
	"chatwright.dev/tray/server/studio"
	"chatwright.dev/tray/server/watch"
)

// The state is for people: it moves ten times a second at most, and shows the speed of the last seconds.
func TestProgressAsAState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := watch.New(protocol.StudioStatus{Stage: protocol.StudioIdle, Version: "1.0.0"})
		report := studio.Meter(state)
		report(studio.Progress{Stage: studio.Checking})
		report(studio.Progress{Stage: studio.Checking, Version: "1.1.0"})
		if got := state.Get(); got.Stage != protocol.StudioChecking || got.Available != "1.1.0" || !got.CheckedAt.Equal(time.Now()) {
			t.Errorf("got %+v", got)
		}
		const total = 10_000_000
		changes, last := 0, state.Get()
		for at := range int64(1001) { // 10 s, 1 MB a second
			report(studio.Progress{Stage: studio.Downloading, Version: "1.1.0", Received: at * total / 1000, Total: total})
			if now := state.Get(); now != last {
				changes, last = changes+1, now
			}
			timetest.Pass(10 * time.Millisecond)
		}
		if changes < 90 || changes > 105 {
			t.Errorf("got %d changes in 10 s, want about ten a second", changes)
		}
		if last.Bytes != total || last.Total != total || last.Rate < 950_000 || last.Rate > 1_050_000 {
			t.Errorf("at the end: got %+v, want all of it at 1 MB/s", last)
		}
		// A download that starts again has a speed of its own.
		report(studio.Progress{Stage: studio.Downloading, Version: "1.1.0", Received: 0, Total: total})
		timetest.Pass(time.Second)
		report(studio.Progress{Stage: studio.Downloading, Version: "1.1.0", Received: 500_000, Total: total})
		if got := state.Get(); got.Rate < 0 || got.Rate > 600_000 {
			t.Errorf("after a restart: got %d bytes a second, want about 500 kB", got.Rate)
		}
		report(studio.Progress{Stage: studio.Unpacking, Version: "1.1.0"})
		if got := state.Get(); got.Stage != protocol.StudioUnpacking || got.Bytes != 0 || got.Rate != 0 {
			t.Errorf("unpacking: got %+v", got)
		}
	})
}
