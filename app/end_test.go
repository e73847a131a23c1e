package app

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/protocol"
)

// During the grace the companion still answers; whoever asks must hear that it will soon be gone.
func TestWhoAsksDuringTheGraceHearsThatItEnds(t *testing.T) {
	release := make(chan struct{})
	asked := make(chan struct{}, 1)
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			asked <- struct{}{}
			<-release
		}
		_, _ = w.Write([]byte(`{"object":"list","data":[]}`))
	}))
	t.Cleanup(model.Close)
	l := live(t, func(c *Config) { c.Settings = settingsWith(t, "upstream="+model.URL+"/v1") })
	daemon := client.New(l.cfg.Paths.Socket)
	called := make(chan struct{})
	go func() {
		defer close(called)
		resp, err := http.Post("http://"+l.discovery().Addr+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m"}`))
		if err == nil {
			_ = resp.Body.Close()
		}
	}()
	<-asked
	l.click(tray.Quit)
	l.awaitStatus("that the companion ends", func(s protocol.Status) bool { return s.Detail == DetailEnding && s.Metrics.InFlight == 1 })
	_, err := daemon.Open(t.Context(), protocol.OpenConsole)
	if refused, ok := errors.AsType[*client.Error](err); !ok || refused.Code != protocol.CodeConflict || refused.Hint == "" {
		t.Errorf("open: got %v, want a refusal with a way out", err)
	}
	if err := daemon.Server(t.Context(), protocol.ServerRestart); err == nil || err.Error() != errEnding.Error() {
		t.Errorf("restart: got %v, want %v", err, errEnding)
	}
	close(release)
	<-called
}

// A program of the desktop that hangs, asked by a click, keeps nobody from ending the companion at once.
func TestHangingProgramOfTheDesktopDoesNotDelayAnAbort(t *testing.T) {
	abort, hang, hanging := make(chan struct{}), make(chan struct{}), make(chan struct{})
	l := live(t, func(c *Config) {
		c.Abort = abort
		c.CopyText = func(string) error { close(hanging); <-hang; return nil }
	})
	l.click(tray.CopyAddress)
	<-hanging
	l.click(tray.Quit)
	close(abort)
	select {
	case err := <-l.ended:
		if !errors.Is(err, ErrAborted) {
			t.Errorf("Run: got %v, want %v", err, ErrAborted)
		}
	case <-time.After(patience):
		t.Error("Run does not end")
	}
	close(hang)
	l.ended <- nil
}
