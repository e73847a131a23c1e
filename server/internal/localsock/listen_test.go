//go:build linux || darwin || freebsd

package localsock_test

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/internal/localsock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// folder returns a private folder whose path is short: socket paths are bounded, and t.TempDir is long and open.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func listen(t *testing.T, path string) net.Listener {
	t.Helper()
	ln, err := localsock.Listen(path, localsock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

// snapshot describes all that is in a folder, to show that nothing was changed.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		inode := uint64(0)
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			inode = uint64(stat.Ino)
		}
		b.WriteString(path + " " + info.Mode().String() + " " + strconv.FormatUint(inode, 10) + "\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// refused asserts that Listen on path fails, says wantText, names a way out and changes nothing below dir.
func refused(t *testing.T, dir, path, wantText string) {
	t.Helper()
	before := snapshot(t, dir)
	ln, err := localsock.Listen(path, localsock.Options{})
	if err == nil {
		_ = ln.Close()
		t.Fatalf("it listens, want an error with %q", wantText)
	}
	if !strings.Contains(err.Error(), wantText) {
		t.Errorf("got %q, want it to say %q", err, wantText)
	}
	if hint.Of(err) == "" {
		t.Errorf("%q has no hint", err)
	}
	if after := snapshot(t, dir); after != before {
		t.Errorf("something was changed: got\n%s\nwant\n%s", after, before)
	}
}

// security.md 9: the folder is ours, 0700, no symlink: otherwise start refuses and changes nothing.
func TestFolderThatIsNotOursAloneIsRefused(t *testing.T) {
	t.Run("open to others", func(t *testing.T) {
		for _, mode := range []fs.FileMode{0o755, 0o701, 0o710, 0o777, 0o600} {
			dir := folder(t)
			sub := filepath.Join(dir, "run")
			if err := os.Mkdir(sub, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(sub, mode); err != nil {
				t.Fatal(err)
			}
			if mode == 0o600 && os.Geteuid() != 0 {
				continue // it could not even be walked
			}
			refused(t, dir, filepath.Join(sub, "control.sock"), "has mode")
		}
	})
	t.Run("a symbolic link", func(t *testing.T) {
		dir := folder(t)
		if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("real", filepath.Join(dir, "run")); err != nil {
			t.Fatal(err)
		}
		refused(t, dir, filepath.Join(dir, "run", "control.sock"), "symbolic link")
	})
	t.Run("a file", func(t *testing.T) {
		dir := folder(t)
		if err := os.WriteFile(filepath.Join(dir, "run"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, dir, filepath.Join(dir, "run", "control.sock"), "no folder")
	})
	t.Run("another user's", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root can give a folder away")
		}
		dir := folder(t)
		sub := filepath.Join(dir, "run")
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(sub, 12345, -1); err != nil {
			t.Fatal(err)
		}
		refused(t, dir, filepath.Join(sub, "control.sock"), "belongs to another user")
	})
	t.Run("in a folder that is missing", func(t *testing.T) {
		dir := folder(t)
		refused(t, dir, filepath.Join(dir, "none", "run", "control.sock"), "no such file")
	})
}

func TestMissingFolderIsMadePrivate(t *testing.T) {
	path := filepath.Join(folder(t), "run", "control.sock")
	listen(t, path)
	info, err := os.Stat(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o700 {
		t.Errorf("mode: got %04o, want 0700", got)
	}
}

// security.md 9: over the OS limit the error names both numbers.
func TestPathOverTheLimitNamesBothNumbers(t *testing.T) {
	dir := folder(t)
	fits := filepath.Join(dir, strings.Repeat("s", localsock.MaxPath-len(dir)-1))
	listen(t, fits)
	conn, err := localsock.Dial(t.Context(), fits)
	if err != nil {
		t.Fatalf("a path of exactly %d bytes: %v", localsock.MaxPath, err)
	}
	_ = conn.Close()

	long := fits + "x"
	want := "has " + strconv.Itoa(localsock.MaxPath+1) + " bytes, and the system takes " + strconv.Itoa(localsock.MaxPath)
	refused(t, dir, long, want)
	if _, err := localsock.Dial(t.Context(), long); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Dial: got %v, want it to say %q", err, want)
	}
}

// security.md 10: the socket is 0600 before the first accept. The mask is the process's, so with none set whoever
// looks at the first moment would find it open to all.
func TestSocketIsPrivateFromTheFirstMomentItCanBeSeen(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	for range 20 {
		path := filepath.Join(folder(t), "control.sock")
		first := make(chan fs.FileMode)
		go func() {
			for {
				if info, err := os.Lstat(path); err == nil {
					first <- info.Mode()
					return
				}
			}
		}()
		ln := listen(t, path)
		if got := <-first; got != fs.ModeSocket|0o600 {
			t.Fatalf("mode: got %v, want a socket of 0600", got)
		}
		_ = ln.Close()
	}
}

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
		if os.Geteuid() == 0 {
			t.Skip("root may connect to everything")
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
	t.Skip("this system's backlog has no end")
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

// security.md 12: shutdown unlinks only what is still ours (same inode).
func TestCloseRemovesOnlyItsOwnSocket(t *testing.T) {
	t.Run("its own goes", func(t *testing.T) {
		path := filepath.Join(folder(t), "control.sock")
		ln := listen(t, path)
		if err := ln.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v, want no file", err)
		}
		if err := ln.Close(); err != nil {
			t.Errorf("closing again: %v", err)
		}
	})
	t.Run("another's stays", func(t *testing.T) {
		path := filepath.Join(folder(t), "control.sock")
		first := listen(t, path)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		second := listen(t, path)
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		greet(t, second, path)
	})
	t.Run("a missing one, folder and all, is no error and is not made", func(t *testing.T) {
		dir := filepath.Join(folder(t), "run")
		ln := listen(t, filepath.Join(dir, "control.sock"))
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := ln.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v, want no folder", err)
		}
	})
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
