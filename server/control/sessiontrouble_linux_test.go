package control_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/server/control"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/session"
)

// A session whose events cannot be recorded tells its followers so, instead of falling silent; once there is room again,
// they see what they missed.
func TestFollowersAreToldThatTheDiskIsFull(t *testing.T) {
	folder := t.TempDir()
	servertest.SmallDisk(t, folder, "256k")
	begun, full := make(chan struct{}), make(chan struct{})
	m, err := session.Open(session.Config{Dir: filepath.Join(folder, "s"), Model: model(
		func(ctx context.Context, _ session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
			close(begun)
			<-full
			emit(session.Delta{Text: strings.Repeat("x", 5000)})
			<-ctx.Done()
			return session.ModelResult{}, ctx.Err()
		})})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- m.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	d := start(t, control.Config{Manager: m})
	path := "/v1/sessions/" + d.create(t, folder).ID
	d.do(t, http.MethodPost, path+"/turns", `{"text":"hello"}`)
	<-begun
	ballast := filepath.Join(folder, "ballast")
	_ = os.WriteFile(ballast, make([]byte, 1<<20), 0o600) // as much of it as there is room for
	for d.do(t, http.MethodPost, path+"/name", `{"name":"`+strings.Repeat("x", 120)+`"}`).status == http.StatusNoContent {
	}
	close(full)
	text := d.stream(t, path+"/events", `"message":"recording the conversation`)
	if !strings.Contains(text, "event: trouble\ndata: {\"code\":\"internal\"") || strings.Contains(text, "xxxxx\",\"turn") {
		t.Errorf("got %q", text[max(0, len(text)-300):])
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	text = d.stream(t, path+"/events", "turn.completed")
	if !strings.Contains(text, `"reason":"error"`) || strings.Contains(text, "message.delta") {
		t.Errorf("got %q", text[max(0, len(text)-300):])
	}
}
