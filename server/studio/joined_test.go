package studio_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"chatwright.dev/tray/server/protocol"
)

// Whoever waits for an update of somebody who has gone gets one all the same.
func TestAnUpdateIsTakenOverFromWhoLeaves(t *testing.T) {
	r, s, _ := versions(t, "1.0.0")
	goOn := stalled(t, r)
	k, _ := keep(t, s)
	ctx, leave := context.WithCancel(t.Context())
	first, waiting := make(chan error, 1), make(chan error, 3)
	go func() { first <- k.Update(ctx, false) }()
	until(t, k, "the download", func(s protocol.StudioStatus) bool { return s.Stage == protocol.StudioDownloading })
	for range cap(waiting) {
		go func() { waiting <- k.Update(t.Context(), false) }()
	}
	runtime.Gosched() // most of them wait by now; one that does not makes an update of its own
	leave()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("who left: got %v, want context.Canceled", err)
	}
	goOn()
	for range cap(waiting) {
		if err := <-waiting; err != nil {
			t.Errorf("who stayed: got %v", err)
		}
	}
	if got := k.Status(); got.Version != "1.1.0" {
		t.Errorf("got %+v, want 1.1.0", got)
	}
}
