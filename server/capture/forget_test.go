package capture_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/server/protocol"
)

func TestACallInFlightIsForgottenToo(t *testing.T) {
	for _, mode := range []protocol.CaptureMode{protocol.CaptureMemory, protocol.CaptureDisk} {
		t.Run(string(mode), func(t *testing.T) {
			s, folder := store(t, mode)
			m := serve(t, echo)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, m.target.String()+"/chat/completions", strings.NewReader("1"))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := s.Tap("call_1", m.target, m.target.Transport).RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Forget(); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
			m.say(s, "call_2", "2")
			if _, ok := s.Call("call_1"); ok {
				t.Error("the call that was in flight was kept")
			}
			if _, ok := s.Call("call_2"); !ok {
				t.Error("the call that began afterwards was not kept")
			}
			if _, err := os.Stat(filepath.Join(folder, "call_1.json")); err == nil {
				t.Error("there is a file of the call that was in flight")
			}
		})
	}
}

func TestWhatCouldNotBeForgottenIsStillShown(t *testing.T) {
	s, folder := store(t, protocol.CaptureDisk)
	m := serve(t, echo)
	m.say(s, "call_1", "1")
	if got := s.State(); got.Kept != 1 {
		t.Fatalf("got %+v, want one call kept", got)
	}
	// Where the file was, there is what no os.Remove removes, whoever runs the test.
	file, aside := filepath.Join(folder, "call_1.json"), filepath.Join(t.TempDir(), "aside")
	if err := os.Rename(file, aside); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(file, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Forget(); err == nil {
		t.Fatal("got no error, want one that says what is left")
	}
	if err := os.RemoveAll(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(aside, file); err != nil {
		t.Fatal(err)
	}
	if got := s.State(); got.Kept != 1 {
		t.Errorf("got %+v, want the call that is still there", got)
	}
	if err := s.Forget(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the file is still there")
	}
}
