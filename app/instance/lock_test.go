//go:build unix

package instance_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	"chatwright.dev/tray/server/hint"
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
		for range time.Tick(time.Millisecond) {
			runtime.GC()
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
	p.cmd.Env = append(os.Environ(), childLock+"="+lock, "GORACE=atexit_sleep_ms=0")
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
