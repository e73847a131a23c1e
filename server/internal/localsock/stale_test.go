//go:build linux || darwin || freebsd

package localsock_test

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"chatwright.dev/tray/server/internal/localsock"
	"chatwright.dev/tray/server/servertest"
)

// security.md 11: a socket file is removed only when Lstat says socket and a connect is refused.
func TestOnlyADeadSocketIsRemoved(t *testing.T) {
	t.Run("a socket that nobody listens on", func(t *testing.T) {
		path := filepath.Join(folder(t), "control.sock")
		leaveDeadSocket(t, path)
		listen(t, path)
		conn, err := localsock.Dial(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
	})
	t.Run("one that a killed process left half made", func(t *testing.T) {
		dir := folder(t)
		leaveDeadSocket(t, filepath.Join(dir, localsock.Pending))
		listen(t, filepath.Join(dir, "control.sock"))
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) != 1 {
			t.Errorf("got %v, want the socket alone", entries)
		}
	})
	t.Run("a regular file stays", func(t *testing.T) {
		dir := folder(t)
		path := filepath.Join(dir, "control.sock")
		if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, dir, path, "is no socket")
	})
	t.Run("a symbolic link stays, even to a dead socket", func(t *testing.T) {
		dir := folder(t)
		leaveDeadSocket(t, filepath.Join(dir, "dead"))
		path := filepath.Join(dir, "control.sock")
		if err := os.Symlink("dead", path); err != nil {
			t.Fatal(err)
		}
		refused(t, dir, path, "is no socket")
	})
	t.Run("a folder stays", func(t *testing.T) {
		dir := folder(t)
		path := filepath.Join(dir, "control.sock")
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		refused(t, dir, path, "is no socket")
	})
	t.Run("a live daemon that accepts nothing stays", func(t *testing.T) {
		dir := folder(t)
		path := filepath.Join(dir, "control.sock")
		listen(t, path) // and never accepts
		refused(t, dir, path, "another process listens there")
	})
	t.Run("a live daemon whose backlog is full stays", func(t *testing.T) {
		dir := folder(t)
		path := filepath.Join(dir, "control.sock")
		fillBacklog(t, path)
		before := snapshot(t, dir)
		if ln, err := localsock.Listen(path, localsock.Options{}); err == nil {
			_ = ln.Close()
			t.Fatal("it took the socket of a busy daemon")
		}
		if after := snapshot(t, dir); after != before {
			t.Errorf("something was changed: got\n%s\nwant\n%s", after, before)
		}
	})
	t.Run("a socket of another type stays", func(t *testing.T) {
		dir := folder(t)
		path := filepath.Join(dir, "control.sock")
		conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		before := snapshot(t, dir)
		if ln, err := localsock.Listen(path, localsock.Options{}); err == nil {
			_ = ln.Close()
			t.Fatal("it took the socket of another program")
		}
		if after := snapshot(t, dir); after != before {
			t.Errorf("something was changed: got\n%s\nwant\n%s", after, before)
		}
	})
	t.Run("one that we may not connect to stays", func(t *testing.T) {
		if servertest.AsNobody(t) { // root may connect to everything
			return
		}
		dir := folder(t)
		path := filepath.Join(dir, "control.sock")
		leaveDeadSocket(t, path)
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		before := snapshot(t, dir)
		if ln, err := localsock.Listen(path, localsock.Options{}); err == nil {
			_ = ln.Close()
			t.Fatal("it listens")
		}
		if after := snapshot(t, dir); after != before {
			t.Errorf("something was changed: got\n%s\nwant\n%s", after, before)
		}
	})
}

func leaveDeadSocket(t *testing.T, path string) {
	t.Helper()
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false)
	_ = ln.Close()
}

// fillBacklog leaves a listener at path whose queue takes no further connection.
func fillBacklog(t *testing.T, path string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	for range 16 {
		client, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Close(client) })
		if err := syscall.SetNonblock(client, true); err != nil {
			t.Fatal(err)
		}
		if syscall.Connect(client, &syscall.SockaddrUnix{Name: path}) != nil {
			return
		}
	}
	servertest.Missing(t, "this system's backlog has no end")
}

// security.md 11: of two concurrent starters one serves, a dead socket in the way or not.
func TestOfConcurrentStartersOneServes(t *testing.T) {
	for _, stale := range []bool{false, true} {
		for range 10 {
			path := filepath.Join(folder(t), "control.sock")
			if stale {
				leaveDeadSocket(t, path)
			}
			var mu sync.Mutex
			var winners []net.Listener
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					ln, err := localsock.Listen(path, localsock.Options{})
					if err == nil {
						mu.Lock()
						winners = append(winners, ln)
						mu.Unlock()
					} else if !errors.Is(err, localsock.ErrInUse) {
						t.Errorf("a loser: got %v, want ErrInUse", err)
					}
				})
			}
			wg.Wait()
			if len(winners) != 1 {
				t.Fatalf("got %d that listen, want 1", len(winners))
			}
			greet(t, winners[0], path)
		}
	}
}

// greet proves that whoever dials path reaches ln. Connections of those that only looked may be in the queue before.
func greet(t *testing.T, ln net.Listener, path string) {
	t.Helper()
	conn, err := localsock.Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			served, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(served, "hello")
			_ = served.Close()
		}
	})
	got, err := io.ReadAll(conn)
	if string(got) != "hello" {
		t.Errorf("got %q, %v, want the greeting", got, err)
	}
	_ = ln.Close()
	wg.Wait()
}

func TestNobodyListensIsSaidOnlyWhenItIsProven(t *testing.T) {
	dir := folder(t)
	if _, err := localsock.Dial(t.Context(), filepath.Join(dir, "none")); !localsock.NobodyListens(err) {
		t.Errorf("no file: got %v, want proof", err)
	}
	leaveDeadSocket(t, filepath.Join(dir, "dead"))
	if _, err := localsock.Dial(t.Context(), filepath.Join(dir, "dead")); !localsock.NobodyListens(err) {
		t.Errorf("a dead socket: got %v, want proof", err)
	}
	fillBacklog(t, filepath.Join(dir, "busy"))
	if _, err := localsock.Dial(t.Context(), filepath.Join(dir, "busy")); err == nil || localsock.NobodyListens(err) {
		t.Errorf("a full backlog: got %v, want an error that is no proof", err)
	}
}
