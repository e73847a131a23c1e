package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"chatwright.dev/tray/server/servertest/timetest"
)

// A silent stream says ": ping" every 15 s, so that both sides notice when the other is gone.
func TestEventsPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{Version: "1"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		w := httptest.NewRecorder()
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.serveEvents(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/console/events", nil))
		}()
		timetest.Pass(46 * time.Second)
		leave()
		<-done
		if got := strings.Count(w.Body.String(), ": ping\n\n"); got != 3 {
			t.Errorf("got %d pings in 46 s, want 3", got)
		}
		if got := strings.Count(w.Body.String(), "event: "); got != 2 {
			t.Errorf("got %d events while nothing happened, want the first 2", got)
		}
	})
}
