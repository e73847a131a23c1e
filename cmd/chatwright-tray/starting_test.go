//go:build unix

package main

import (
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"chatwright.dev/tray/app/instance"
	"chatwright.dev/tray/app/paths"
	"chatwright.dev/tray/server/protocol"
)

// A companion that was killed leaves its daemon.json, and for a moment the next one answers beside it. A command that
// asks in that moment waits for the new one to be named, and does not say that nobody is there.
func TestCommandsWaitForACompanionThatIsStarting(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{{"status"}, {"calls", "--json"}, {"studio", "status"}} {
		u := newUser(t)
		p, err := paths.Resolve(filepath.Join(u.home, "c"))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Make(); err != nil {
			t.Fatal(err)
		}
		lock, err := instance.Acquire(p.Lock)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = lock.Release() })
		name := func(id string) {
			if err := instance.WriteDiscovery(p.Discovery, protocol.Discovery{InstanceID: id, PID: 4711, Socket: p.Socket}); err != nil {
				t.Error(err)
			}
		}
		name("killed")
		ln, err := net.Listen("unix", p.Socket)
		if err != nil {
			t.Fatal(err)
		}
		var once sync.Once
		answer := func(w http.ResponseWriter, r *http.Request) {
			var body any = protocol.Status{PID: 4711, Addr: "127.0.0.1:5"}
			switch r.URL.Path {
			case "/version":
				once.Do(func() { name("new") }) // whoever asks has read the old one
				body = protocol.VersionInfo{InstanceID: "new"}
			case "/history":
				body = protocol.HistoryPage{}
			case "/studio":
				body = protocol.StudioStatus{Version: "1.0.0"}
			}
			_ = json.NewEncoder(w).Encode(body)
		}
		daemon := &http.Server{Handler: http.HandlerFunc(answer), ReadHeaderTimeout: time.Minute}
		ended := make(chan struct{})
		go func() { defer close(ended); _ = daemon.Serve(ln) }()
		t.Cleanup(func() { _ = daemon.Close(); <-ended })
		if got := u.run(command...); got.code != exitOK || got.stdout == "" {
			t.Errorf("%q: got exit %d, %s%s", command, got.code, got.stdout, got.stderr)
		}
	}
}
