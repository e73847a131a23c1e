package settings_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"chatwright.dev/tray/app/settings"
)

func TestWhatIsRememberedComesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	want := settings.State{Upstreams: map[string]settings.UpstreamMemory{
		"http://localhost:11434/v1": {LastAnswered: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)},
	}}
	if err := settings.WriteState(path, want); err != nil {
		t.Fatal(err)
	}
	got, setAside, err := settings.ReadState(path)
	if err != nil || setAside != "" || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %q, %v, want %+v", got, setAside, err, want)
	}
}

func TestNoStateFileIsNoMemory(t *testing.T) {
	got, setAside, err := settings.ReadState(filepath.Join(t.TempDir(), "state.json"))
	if err != nil || setAside != "" || got.Upstreams != nil {
		t.Errorf("got %+v, %q, %v, want nothing", got, setAside, err)
	}
}

// A broken state file is set aside and never stops a start.
func TestBrokenStateFileIsSetAside(t *testing.T) {
	for name, content := range map[string]string{
		"half written": `{"upstreams": {"http://x": {"lastAns`, "empty": "", "another shape": `{"upstreams": [1]}`, "zeros": "\x00\x00\x00",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.json")
			for range 2 { // the second time there is one that was set aside already
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				got, setAside, err := settings.ReadState(path)
				if err != nil || setAside != path+".broken" || got.Upstreams != nil {
					t.Fatalf("got %+v, %q, %v, want nothing, and the file set aside", got, setAside, err)
				}
				if kept, err := os.ReadFile(setAside); err != nil || string(kept) != content {
					t.Errorf("set aside: got %q, %v, want its content", kept, err)
				}
				if _, err := os.Lstat(path); !os.IsNotExist(err) {
					t.Errorf("the file: got %v, want it gone", err)
				}
			}
			if err := settings.WriteState(path, settings.State{}); err != nil {
				t.Errorf("writing anew: %v", err)
			}
		})
	}
}
