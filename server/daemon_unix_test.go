//go:build unix

package server_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/hint"
)

// companion.md: the child is detached, in a session of its own.
func TestStartDetaches(t *testing.T) {
	d := newDaemon(t, "obedient")
	pid := d.started()
	if session, err := unix.Getsid(pid); err != nil || session != pid {
		t.Errorf("got session %d, %v, want its own", session, err)
	}
	if err := server.Stop(d.pid, 0); err != nil {
		t.Error(err)
	}
}

// companion.md: still alive after the wait is an error and the file stays.
func TestOriginalFault_StopSaysStoppedWhileItRuns(t *testing.T) {
	d := newDaemon(t, "stubborn")
	pid := d.started()
	err := server.Stop(d.pid, 50*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "still runs") || hint.Of(err) == "" {
		t.Errorf("got %v, want an error with a hint", err)
	}
	if !server.IsProcessRunning(pid) {
		t.Error("it was killed")
	}
	d.gone(false)
	if again, err := d.start(); again != pid {
		t.Errorf("start meanwhile: got %d, %v, want the one that runs", again, err)
	}
}

// A package manager that replaces the program does not make its process a stranger.
func TestStopAfterTheProgramWasReplaced(t *testing.T) {
	d := newDaemon(t, "obedient")
	d.opts.Executable = filepath.Join(d.dir, "program")
	copyFile(t, os.Args[0], d.opts.Executable)
	pid := d.started()
	if err := os.Remove(d.opts.Executable); err != nil {
		t.Fatal(err)
	}
	copyFile(t, os.Args[0], d.opts.Executable)
	if err := server.Stop(d.pid, 0); err != nil || server.IsProcessRunning(pid) {
		t.Errorf("got %v, running %v", err, server.IsProcessRunning(pid))
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
