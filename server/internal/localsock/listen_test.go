//go:build linux || darwin || freebsd

package localsock_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/internal/localsock"
	"chatwright.dev/tray/server/servertest"
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
			inode = stat.Ino
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
			servertest.Missing(t, "only root can give a folder away")
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
