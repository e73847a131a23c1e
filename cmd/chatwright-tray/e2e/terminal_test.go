//go:build unix

package e2e_test

import (
	"errors"
	"image/color"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// patience bounds every wait. Nothing is expected to take a tenth of it.
const patience = 60 * time.Second

// A terminal is a program on a pseudo terminal, with a person who sees its screen and types.
type terminal struct {
	t     testing.TB
	cmd   *exec.Cmd
	pty   *os.File
	ended chan struct{} // closed once the program has been waited for

	mu      sync.Mutex
	vt      *vt.Emulator
	raw     strings.Builder // everything that was written to it
	changed chan struct{}   // closed and replaced when the screen changes
	closed  bool            // nothing is written to it any more
}

// open runs a command on a terminal of that size.
func open(t testing.TB, cmd *exec.Cmd, columns, rows int) *terminal {
	t.Helper()
	f, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(f, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}); err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, cmd: cmd, pty: f, ended: make(chan struct{}), vt: vt.NewEmulator(columns, rows), changed: make(chan struct{})}
	term.vt.SetDefaultBackgroundColor(color.Black)
	var work sync.WaitGroup
	work.Go(term.show)
	work.Go(func() { _, _ = io.Copy(f, term.vt) }) // what a terminal answers when it is asked
	go func() {
		defer close(term.ended)
		_ = cmd.Wait()
		// A terminal that hangs up may forget what it has not passed on yet: so it is told when that was all.
		_, _ = io.WriteString(tty, theEnd)
		_ = tty.Close()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-term.ended
		_ = f.Close()
		if answers, ok := term.vt.InputPipe().(io.Closer); ok { // and not Close, which races with Read
			_ = answers.Close()
		}
		work.Wait()
		if t.Failed() {
			t.Logf("the screen shows:\n%s", term.screen())
		}
	})
	return term
}

// theEnd is written after everything that a program wrote; it shows nothing.
const theEnd = "\x1b]9999;end\a"

// show passes what the program writes to the emulator.
func (term *terminal) show() {
	buf := make([]byte, 32<<10)
	for {
		n, err := term.pty.Read(buf)
		term.mu.Lock()
		term.raw.Write(buf[:n])
		_, _ = term.vt.Write(buf[:n])
		term.closed = err != nil || strings.HasSuffix(term.raw.String(), theEnd)
		close(term.changed)
		term.changed = make(chan struct{})
		over := term.closed
		term.mu.Unlock()
		if over {
			return
		}
	}
}

// screen is what the person sees.
func (term *terminal) screen() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.text()
}

func (term *terminal) text() string {
	lines := strings.Split(term.vt.String(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \r")
	}
	return strings.Join(lines, "\n")
}

// written is everything that the program has written, as it came.
func (term *terminal) written() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.raw.String()
}

// await waits until the screen is as it should be, and returns it.
func (term *terminal) await(what string, ok func(screen string) bool) string {
	term.t.Helper()
	timeout := time.After(patience)
	for {
		term.mu.Lock()
		text, changed, closed := term.text(), term.changed, term.closed
		term.mu.Unlock()
		if ok(text) {
			return text
		}
		if closed {
			term.t.Fatalf("the program has ended, and the screen never showed %s:\n%s", what, text)
		}
		select {
		case <-changed:
		case <-timeout:
			term.t.Fatalf("the screen does not show %s:\n%s", what, text)
		}
	}
}

// sees waits until all of the texts are on the screen.
func (term *terminal) sees(texts ...string) string {
	term.t.Helper()
	return term.await(strings.Join(texts, " and "), func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

// types types keys as a terminal sends them.
func (term *terminal) types(keys string) {
	term.t.Helper()
	if _, err := io.WriteString(term.pty, keys); err != nil {
		term.t.Fatal(err)
	}
}

// The keys that are no characters.
const (
	enter    = "\r"
	altEnter = "\x1b\r"
	ctrlC    = "\x03"
	ctrlD    = "\x04"
	ctrlF    = "\x06"
	ctrlT    = "\x14"
	pageUp   = "\x1b[5~"
	pageDown = "\x1b[6~"
	up       = "\x1b[A"
	ctrlEnd  = "\x1b[1;5F"
)

func (term *terminal) resize(columns, rows int) {
	term.t.Helper()
	term.mu.Lock()
	term.vt.Resize(columns, rows)
	term.mu.Unlock()
	if err := pty.Setsize(term.pty, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}); err != nil {
		term.t.Fatal(err)
	}
}

// ends waits for the end of the program and returns its exit code.
func (term *terminal) ends() int {
	term.t.Helper()
	select {
	case <-term.ended:
		return term.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		term.t.Fatalf("the program does not end:\n%s", term.screen())
		return -1
	}
}

// outcome is what a command printed and how it ended.
type outcome struct {
	stdout, stderr string
	code           int
}

func outcomeOf(t testing.TB, cmd *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Fatal(err)
		}
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}
