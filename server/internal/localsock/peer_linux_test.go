package localsock_test

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"chatwright.dev/tray/server/servertest"
)

// security.md 10, with a real peer of another uid: one that has come past the folder (as a process with the right
// capability would) is still turned away by the kernel's word for who it is.
func TestRealPeerOfAnotherUserIsTurnedAway(t *testing.T) {
	if os.Geteuid() != 0 {
		servertest.Missing(t, "only root can be somebody else for a moment")
	}
	path := filepath.Join(folder(t), "control.sock")
	ln := listen(t, path)
	if accepted(t, ln, func() (net.Conn, error) { return dialAs(65534, path) }) {
		t.Error("a connection of uid 65534 was accepted")
	}
}

// dialAs connects with another effective uid but the file rights of root. The identity is that of a thread, so the
// thread is thrown away afterwards.
func dialAs(uid int, path string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
		conn, err := func() (net.Conn, error) {
			const keep = ^uintptr(0)
			if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, keep, uintptr(uid), keep); errno != 0 {
				return nil, errno
			}
			if _, _, errno := unix.RawSyscall(unix.SYS_SETFSUID, 0, 0, 0); errno != 0 {
				return nil, errno
			}
			return net.Dial("unix", path)
		}()
		done <- result{conn, err}
	}()
	r := <-done
	return r.conn, r.err
}
