//go:build unix

package instance_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"chatwright.dev/tray/app/instance"
	"chatwright.dev/tray/app/paths"
	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/control"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/watch"
)

// home returns the paths of an instance in a short folder of its own: socket paths are bounded.
func home(t *testing.T) paths.Paths {
	t.Helper()
	dir, err := os.MkdirTemp("", "ins")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p, err := paths.Resolve(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Make(); err != nil {
		t.Fatal(err)
	}
	return p
}

// daemon is a control socket as a daemon has it, with a daemon.json if wanted.
type daemon struct {
	opened chan protocol.OpenTarget
	stop   func()
}

func startDaemon(t *testing.T, p paths.Paths, id string, discovery bool) *daemon {
	t.Helper()
	d := &daemon{opened: make(chan protocol.OpenTarget, 1)}
	s := control.New(control.Config{
		SocketPath: p.Socket, Version: "0.1.0", InstanceID: id,
		Status: watch.New(protocol.Status{PID: 4711, Addr: "127.0.0.1:5"}),
		Open: func(_ context.Context, target protocol.OpenTarget) (string, error) {
			d.opened <- target
			return "http://127.0.0.1:5/", nil
		},
	})
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	d.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(d.stop)
	if discovery {
		writeDiscovery(t, p, id)
	}
	return d
}

// endsAfterVersion listens as a daemon does that has removed its daemon.json, says who it is, and is gone then.
func endsAfterVersion(t *testing.T, p paths.Paths) {
	t.Helper()
	ln, err := net.Listen("unix", p.Socket)
	if err != nil {
		t.Fatal(err)
	}
	answer := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/version" {
			panic(http.ErrAbortHandler)
		}
		_ = json.NewEncoder(w).Encode(protocol.VersionInfo{InstanceID: "abc"})
	}
	daemon := &http.Server{Handler: http.HandlerFunc(answer), ReadHeaderTimeout: time.Second}
	done := make(chan error, 1)
	go func() { done <- daemon.Serve(ln) }()
	t.Cleanup(func() {
		_ = daemon.Close()
		<-done
	})
}

func writeDiscovery(t *testing.T, p paths.Paths, id string) {
	t.Helper()
	if err := instance.WriteDiscovery(p.Discovery, protocol.Discovery{InstanceID: id, PID: 4711, Socket: p.Socket}); err != nil {
		t.Fatal(err)
	}
}

// sessions.md, Discovery: read it, ask /version on the socket, absent or proven stale. A failed health check never
// authorises a second launch.
func TestRunningTellsAliveAbsentStaleAndSilentApart(t *testing.T) {
	hold := func(t *testing.T, p paths.Paths) {
		lock, err := instance.Acquire(p.Lock)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = lock.Release() })
	}
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, p paths.Paths)
		want    error // nil: alive
	}{
		{"nothing at all", func(*testing.T, paths.Paths) {}, instance.ErrAbsent},
		{"a daemon and its daemon.json", func(t *testing.T, p paths.Paths) { startDaemon(t, p, "abc", true) }, nil},
		{"a daemon that lost its daemon.json", func(t *testing.T, p paths.Paths) { startDaemon(t, p, "abc", false) }, nil},
		{"a daemon beside a broken daemon.json", func(t *testing.T, p paths.Paths) {
			startDaemon(t, p, "abc", false)
			if err := os.WriteFile(p.Discovery, []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, nil},
		{"a daemon.json that was left", func(t *testing.T, p paths.Paths) { writeDiscovery(t, p, "gone") }, instance.ErrStale},
		{"one that was left, and its dead socket", func(t *testing.T, p paths.Paths) {
			writeDiscovery(t, p, "gone")
			ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.Socket, Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			ln.SetUnlinkOnClose(false)
			_ = ln.Close()
		}, instance.ErrStale},
		{"a broken daemon.json", func(t *testing.T, p paths.Paths) {
			if err := os.WriteFile(p.Discovery, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, instance.ErrStale},
		{"one that ends between two questions", func(t *testing.T, p paths.Paths) { endsAfterVersion(t, p) }, instance.ErrAbsent},
		{"one that ends between two questions, and holds the lock still", func(t *testing.T, p paths.Paths) {
			hold(t, p)
			endsAfterVersion(t, p)
		}, instance.ErrStarting},
		{"another instance on the socket", func(t *testing.T, p paths.Paths) {
			startDaemon(t, p, "abc", false)
			writeDiscovery(t, p, "gone")
		}, instance.ErrStale},
		{"one that is starting", func(t *testing.T, p paths.Paths) { hold(t, p) }, instance.ErrStarting},
		{"one that starts over what was left", func(t *testing.T, p paths.Paths) { hold(t, p); writeDiscovery(t, p, "gone") }, instance.ErrStarting},
		{"one that starts and has not replaced daemon.json", func(t *testing.T, p paths.Paths) {
			hold(t, p)
			startDaemon(t, p, "abc", false)
			writeDiscovery(t, p, "gone")
		}, instance.ErrStarting},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := home(t)
			c.prepare(t, p)
			got, d, err := instance.Running(t.Context(), p)
			if c.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				if d.InstanceID != "abc" || d.PID != 4711 || d.Socket != p.Socket || got.SocketPath() != p.Socket {
					t.Errorf("got %+v at %q, want the daemon", d, got.SocketPath())
				}
				return
			}
			if !errors.Is(err, c.want) || hint.Of(err) == "" {
				t.Errorf("got %v, hint %q, want %v with a way out", err, hint.Of(err), c.want)
			}
			if mayStart := c.want != instance.ErrStarting; errors.Is(err, client.ErrNotRunning) != mayStart {
				t.Errorf("may another start: got %v, want %v", !mayStart, mayStart)
			}
		})
	}
}

func TestDaemonThatDoesNotAnswerMayStillBeThere(t *testing.T) {
	p := home(t)
	writeDiscovery(t, p, "abc")
	ln, err := net.Listen("unix", p.Socket) // the kernel accepts for it, and nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, _, err = instance.Running(ctx, p)
	if err == nil || errors.Is(err, client.ErrNotRunning) || errors.Is(err, instance.ErrStarting) {
		t.Errorf("got %v, want neither an answer nor leave to start another", err)
	}
}

// tray.md, Start: a second launch asks the first to open Studio.
func TestHandOverAsksTheRunningOneToOpen(t *testing.T) {
	p := home(t)
	d := startDaemon(t, p, "abc", true)
	url, err := instance.HandOver(t.Context(), p, protocol.OpenStudio)
	if err != nil || url != "http://127.0.0.1:5/" {
		t.Errorf("got %q, %v, want the URL", url, err)
	}
	if got := <-d.opened; got != protocol.OpenStudio {
		t.Errorf("opened: got %q, want studio", got)
	}
}

func TestHandOverWaitsForOneThatIsStarting(t *testing.T) {
	p := home(t)
	lock, err := instance.Acquire(p.Lock)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Release() }()
	type result struct {
		url string
		err error
	}
	done := make(chan result, 1)
	go func() {
		url, err := instance.HandOver(t.Context(), p, protocol.OpenConsole)
		done <- result{url, err}
	}()
	select {
	case r := <-done:
		t.Fatalf("it did not wait: %+v", r)
	case <-time.After(60 * time.Millisecond):
	}
	d := startDaemon(t, p, "abc", true)
	if r := <-done; r.err != nil || r.url == "" {
		t.Errorf("got %+v, want the URL", r)
	}
	<-d.opened
}

func TestHandOverGivesUp(t *testing.T) {
	p := home(t)
	if _, err := instance.HandOver(t.Context(), p, protocol.OpenStudio); !errors.Is(err, client.ErrNotRunning) {
		t.Errorf("nobody there: got %v, want ErrNotRunning", err)
	}
	lock, err := instance.Acquire(p.Lock)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := instance.HandOver(ctx, p, protocol.OpenStudio); !errors.Is(err, instance.ErrStarting) {
		t.Errorf("one that never answers: got %v, want ErrStarting", err)
	}
	_ = lock.Release()
}
