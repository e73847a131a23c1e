//go:build unix

package instance_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"chatwright.dev/tray/app/instance"
	"chatwright.dev/tray/app/paths"
	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/control"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/watch"
)

// childLock makes this test binary a process that takes the lock at that path, says how it went, and holds it until
// its stdin ends.
const childLock = "CHATWRIGHT_TEST_LOCK"

func TestMain(m *testing.M) {
	if path := os.Getenv(childLock); path != "" {
		os.Exit(holdLock(path))
	}
	goleak.VerifyTestMain(m)
}

func holdLock(path string) int {
	go func() { // garbage is what a lock that nobody keeps becomes
		for {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := io.ReadAtLeast(os.Stdin, make([]byte, 1), 1); err != nil { // the starting gun
		return 1
	}
	lock, err := instance.Acquire(path)
	switch {
	case errors.Is(err, instance.ErrHeld):
		fmt.Println("held")
	case err != nil:
		fmt.Println(err)
		return 1
	default:
		defer func() { _ = lock.Release() }()
		fmt.Println("taken")
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// process is another process that is after the lock.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	said  *bufio.Reader
}

func newProcess(t *testing.T, lock string) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(exe)}
	p.cmd.Env = append(os.Environ(), childLock+"="+lock)
	p.cmd.Stderr = os.Stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.said = bufio.NewReader(stdout)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.stdin.Close()
		_ = p.cmd.Wait()
	})
	return p
}

func (p *process) fire(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(p.stdin, "x"); err != nil {
		t.Fatal(err)
	}
}

func (p *process) answer(t *testing.T) string {
	t.Helper()
	line, err := p.said.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

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

// Of four processes that start at once, one is the instance.
func TestOfFourProcessesOneGetsTheLock(t *testing.T) {
	p := home(t)
	var all []*process
	for range 4 {
		all = append(all, newProcess(t, p.Lock))
	}
	for _, child := range all {
		child.fire(t)
	}
	said := make(map[string]int)
	var winner *process
	for _, child := range all {
		answer := child.answer(t)
		said[answer]++
		if answer == "taken" {
			winner = child
		}
	}
	if said["taken"] != 1 || said["held"] != 3 {
		t.Fatalf("got %v, want one that took it and three that did not", said)
	}

	if _, err := instance.Acquire(p.Lock); !errors.Is(err, instance.ErrHeld) || hint.Of(err) == "" {
		t.Errorf("a fifth: got %v, want ErrHeld with a way out", err)
	}
	if err := winner.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = winner.cmd.Wait()
	lock, err := instance.Acquire(p.Lock)
	if err != nil {
		t.Fatalf("after the holder was killed: %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
}

// desktop-facts.md, Locks: a flock ends when its *os.File is garbage-collected.
func TestLockSurvivesTheGarbageCollector(t *testing.T) {
	p := home(t)
	lock, err := instance.Acquire(p.Lock)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Release() }()
	for range 10 {
		runtime.GC()
	}
	other := newProcess(t, p.Lock)
	other.fire(t)
	if got := other.answer(t); got != "held" {
		t.Errorf("another process: got %q, want held", got)
	}
}

func TestLockCanBeGivenBackAndTakenAgain(t *testing.T) {
	p := home(t)
	for range 3 {
		lock, err := instance.Acquire(p.Lock)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := lock.Release(); err != nil {
				t.Error(err)
			}
		}
	}
	info, err := os.Stat(p.Lock)
	if err != nil {
		t.Fatalf("the lock file must stay: %v", err)
	}
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("mode: got %04o, want 0600", got)
	}
}

// Asking must not get in the way of a start: Running takes the lock, shared, for a moment.
func TestThoseWhoOnlyAskDoNotKeepAnybodyFromStarting(t *testing.T) {
	p := home(t)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					_, _, _ = instance.Running(t.Context(), p)
				}
			}
		})
	}
	for range 50 {
		lock, err := instance.Acquire(p.Lock)
		if err != nil {
			t.Error(err)
			break
		}
		_ = lock.Release()
	}
	close(done)
	wg.Wait()
}

func TestLockInAFolderThatIsMissingIsAnError(t *testing.T) {
	_, err := instance.Acquire(filepath.Join(t.TempDir(), "none", "lock"))
	if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, instance.ErrHeld) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
}

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
		Protocol: protocol.Version, Addr: "127.0.0.1:4319", Socket: p.Socket}
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
	if got, err := instance.ReadDiscovery(p.Discovery); err != nil || got != want {
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
