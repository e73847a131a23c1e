package server_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/servertest/timetest"
)

func TestReadPIDFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.pid")
	if _, err := server.ReadPIDFile(path); !os.IsNotExist(err) {
		t.Errorf("a missing file: got %v, want one that os.IsNotExist takes", err)
	}
	for content, want := range map[string]int{
		"1234\n": 1234, "1234": 1234, " 1234\r\n": 1234, "2147483647\n": 2147483647,
		"": 0, "\n": 0, "0\n": 0, "-5\n": 0, "+5\n": 0, "12 34\n": 0, "0x10\n": 0, "1e3\n": 0, "99999999999999999999\n": 0,
		"2147483648\n": 0, "abc": 0, "12\x0034": 0, strings.Repeat("9", 1<<20): 0,
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := server.ReadPIDFile(path)
		if got != want || (err == nil) != (want != 0) || os.IsNotExist(err) {
			t.Errorf("%.30q: got %d, %v, want %d", content, got, err, want)
		}
	}
	if _, err := server.ReadPIDFile(t.TempDir()); err == nil || os.IsNotExist(err) {
		t.Errorf("a folder: got %v", err)
	}
}

func FuzzReadPIDFile(f *testing.F) {
	for _, seed := range []string{"1234\n", "", "-1", "0", "\xff", "1\n2", "00012"} {
		f.Add([]byte(seed))
	}
	path := filepath.Join(f.TempDir(), "server.pid")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		pid, err := server.ReadPIDFile(path)
		if (err == nil) != (pid > 0) {
			t.Fatalf("got %d, %v", pid, err)
		}
		if err == nil && strings.TrimLeft(strings.TrimSpace(string(content)), "0") != strconv.Itoa(pid) {
			t.Errorf("%q: got %d", content, pid)
		}
	})
}

func TestWriteAndRemovePIDFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "server.pid") // the folder is made
	for _, pid := range []int{os.Getpid(), 99999999} {        // one that runs, one that does not
		if err := server.WritePIDFile(path, pid); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil || string(content) != strconv.Itoa(pid)+"\n" {
			t.Errorf("got %q, %v, want decimal and a newline", content, err)
		}
		_, err = os.Stat(path + ".proc")
		if known := err == nil; known != (pid == os.Getpid()) {
			t.Errorf("%d: recorded %v", pid, known)
		}
	}
	if err := server.WritePIDFile(path, os.Getpid()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // missing is success
		if err := server.RemovePIDFile(path); err != nil {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestIsProcessRunning(t *testing.T) {
	for pid, want := range map[int]bool{os.Getpid(): true, os.Getppid(): true, 0: false, -1: false, -os.Getpid(): false, 99999999: false, 1 << 40: false} {
		if got := server.IsProcessRunning(pid); got != want {
			t.Errorf("%d: got %v, want %v", pid, got, want)
		}
	}
	// One that ended and that nobody waited for yet does not run.
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	for buf := make([]byte, 64); ; { // until it closes its output, which is its end
		if _, err := out.Read(buf); err != nil {
			break
		}
	}
	timetest.Until(t, "the process to have ended", func() (int, bool) { return pid, !server.IsProcessRunning(pid) })
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
