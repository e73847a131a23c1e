//go:build unix

package instance_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/app/instance"
	"chatwright.dev/tray/server/protocol"
)

func TestInstanceIDsDiffer(t *testing.T) {
	seen := make(map[string]bool)
	for range 1000 {
		id := instance.NewInstanceID()
		if seen[id] || len(id) < 26 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") != "" {
			t.Fatalf("got %q, want a new word of at least 26 letters and digits", id)
		}
		seen[id] = true
	}
}

// sessions.md, Discovery: daemon.json in the state folder, 0600, whole.
func TestDiscoveryIsWrittenReadAndRemovedByItsOwner(t *testing.T) {
	p := home(t)
	want := protocol.Discovery{InstanceID: "abc", PID: 1, StartedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Version: "0.1.0",
		Protocol: protocol.Version, Addr: "127.0.0.1:4319", Socket: p.Socket, Args: []string{"--headless"}, Dir: "/home"}
	if err := instance.WriteDiscovery(p.Discovery, want); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(p.Discovery)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("mode: got %04o, want 0600", got)
	}
	if got, err := instance.ReadDiscovery(p.Discovery); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if err := instance.RemoveDiscovery(p.Discovery, "another"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(p.Discovery); err != nil {
		t.Errorf("another instance removed it: %v", err)
	}
	for range 2 {
		if err := instance.RemoveDiscovery(p.Discovery, "abc"); err != nil {
			t.Error(err)
		}
	}
	if _, err := instance.ReadDiscovery(p.Discovery); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("afterwards: got %v, want fs.ErrNotExist", err)
	}
}

func FuzzReadDiscovery(f *testing.F) {
	f.Add([]byte(`{"instance_id":"a","socket":"/s","pid":1}`))
	f.Add([]byte(`{"instance_id":"a"}`))
	f.Add([]byte(`{"instance_id":7}`))
	f.Add([]byte("\x00"))
	path := filepath.Join(f.TempDir(), "daemon.json")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if d, err := instance.ReadDiscovery(path); err == nil && (d.InstanceID == "" || d.Socket == "") {
			t.Errorf("%q gave %+v, of which nothing can be asked", content, d)
		}
	})
}
