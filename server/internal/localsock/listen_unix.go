//go:build linux || darwin || freebsd

package localsock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"chatwright.dev/tray/server/hint"
)

// pending is the name under which a socket is born: nobody looks for it there, so it can get its mode before it gets
// its name. It is fixed, not random, so that what a killed process leaves behind is found and removed.
const pending = "new.sock"

// Listen opens the socket at path for its owner. The folder must be ours alone (0700, no symlink); a missing one is
// made, one level. What is in the way is removed only if it is a socket that nobody listens on; anything else is
// refused and left as it is. The caller holds the lock of the instance; beyond that the folder itself is locked while
// we look and change, so that two instances with different locks and the same folder do not meet either.
func Listen(path string, o Options) (net.Listener, error) {
	folder := filepath.Dir(path)
	born := filepath.Join(folder, pending)
	if err := checkLength(path, born); err != nil {
		return nil, err
	}
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, hint.With(fmt.Errorf("making the folder of the control socket: %w", err),
			"create its parent folder, or choose another place with --control-socket")
	}
	unlock, err := lockFolder(folder)
	if err != nil {
		return nil, err
	}
	defer unlock()

	for _, name := range []string{path, born} {
		if err := clearStale(name); err != nil {
			return nil, err
		}
	}
	return listen(path, born, o)
}

// listen binds under the name born, and lets the socket appear at path when it is 0600 and accepting.
func listen(path, born string, o Options) (_ net.Listener, err error) {
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: born, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", path, err)
	}
	ln.SetUnlinkOnClose(false) // its idea of its name is the one that we are about to take away
	defer func() {
		if err != nil {
			_ = os.Remove(born)
			_ = ln.Close()
		}
	}()
	if err := os.Chmod(born, 0o600); err != nil {
		return nil, fmt.Errorf("making the control socket private: %w", err)
	}
	if err := place(born, path); err != nil {
		return nil, fmt.Errorf("placing the control socket: %w", err)
	}
	self, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("placing the control socket: %w", err)
	}
	return &listener{UnixListener: ln, path: path, self: self, o: o, uid: os.Geteuid()}, nil
}

// place gives the socket its name. A hard link never replaces what is there; file systems without hard links get a
// rename, which the lock on the folder makes as safe.
func place(born, path string) error {
	err := os.Link(born, path)
	switch {
	case err == nil:
		return os.Remove(born)
	case errors.Is(err, fs.ErrExist):
		return err
	}
	return os.Rename(born, path)
}

// lockFolder checks that folder is ours alone and locks it until the returned func is called. The checks are made on
// the open folder, so what was checked is what is locked.
func lockFolder(folder string) (unlock func(), err error) {
	f, err := os.OpenFile(folder, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return nil, hint.With(fmt.Errorf("the folder of the control socket, %s, is a symbolic link or no folder", folder),
			"move it away, or choose another place with --control-socket")
	}
	if err != nil {
		return nil, fmt.Errorf("opening the folder of the control socket: %w", err)
	}
	if err := checkFolder(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	// Other listeners hold it for no longer than one dial. A file system that cannot lock a folder leaves us with the
	// lock of the instance alone.
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	return func() { _ = f.Close() }, nil
}

func checkFolder(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("checking the folder of the control socket: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Geteuid() {
		return hint.With(fmt.Errorf("the folder of the control socket, %s, belongs to another user", f.Name()),
			"choose another place with --control-socket")
	}
	if perm := info.Mode().Perm(); perm != 0o700 {
		return hint.With(fmt.Errorf("the folder of the control socket, %s, has mode %04o, want 0700", f.Name(), perm),
			"name a socket in a folder of its own: one that only you can use, and with nothing else in it")
	}
	return nil
}

// clearStale removes a socket that nobody listens on. That a connection is refused proves nothing alone (on Linux a
// regular file refuses too), so it must be a socket as well.
func clearStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for an old control socket: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return hint.With(fmt.Errorf("%s is in the way of the control socket and is no socket", path),
			"move it away, or choose another place with --control-socket")
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	conn, err := Dial(ctx, path)
	if err == nil {
		_ = conn.Close()
		return hint.With(fmt.Errorf("control socket %s: %w", path, ErrInUse),
			"another Chatwright Tray is running: see chatwright-tray status")
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return fmt.Errorf("an old control socket is in the way: %w", err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("removing the old control socket: %w", err)
	}
	return nil
}

// listener accepts the owner's connections only.
type listener struct {
	*net.UnixListener
	path  string
	self  fs.FileInfo // the socket that we made
	uid   int         // of the owner
	o     Options
	close sync.Once
	err   error
}

// Accept closes connections of others before a byte of them is read.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		uid, err := peerUID(conn)
		if err == nil && (int(uid) == l.uid || l.o.AllowRoot && uid == 0) {
			return conn, nil
		}
		_ = conn.Close()
		if l.o.Log != nil {
			l.o.Log("turned a connection away: " + describePeer(uid, err))
		}
	}
}

func describePeer(uid uint32, err error) string {
	if err != nil {
		return "its owner is unknown: " + err.Error()
	}
	return fmt.Sprintf("it belongs to uid %d", uid)
}

// Close removes the socket if it is still the one that we made, then stops listening. In this order: as long as we
// listen the system cannot give our file's number to another file, so the comparison cannot be fooled.
func (l *listener) Close() error {
	l.close.Do(func() {
		if unlock, err := lockFolder(filepath.Dir(l.path)); err == nil {
			if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.self) {
				_ = os.Remove(l.path)
			}
			unlock()
		}
		l.err = l.UnixListener.Close()
	})
	return l.err
}

// Addr is the name that the socket is found under.
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }
