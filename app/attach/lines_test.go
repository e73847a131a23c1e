package attach

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

// run runs a client of lines on what is typed, and returns what it wrote.
func runLines(t *testing.T, f *fakeDaemon, in io.Reader, typed bool) (string, protocol.Session, error) {
	t.Helper()
	s, err := f.Session(t.Context(), "first")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	last, err := Lines{Daemon: f, Session: s, In: in, Out: &out, Typed: typed}.Run(t.Context())
	return out.String(), last, err
}

func TestLinesOfAPipeAreAnsweredOneAfterTheOther(t *testing.T) {
	got, _, err := runLines(t, newFake("yes\x1b[2J"), strings.NewReader("one\n\ntwo\n//three\n/detach\nfour\n"), false)
	want := "You: one\nModel: yes·[2J\nYou: two\nModel: yes·[2J\nYou: /three\nModel: yes·[2J\n"
	if got != want || err != nil {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
}

func TestLinesCarryOnASessionThatHasEnded(t *testing.T) {
	f := newFake("yes")
	f.end("first")
	got, last, err := runLines(t, f, strings.NewReader("go on\n"), false)
	if err != nil || last.ID != "after-first" || !strings.Contains(got, "[carried on in session after-first]") || !strings.HasSuffix(got, "Model: yes\n") {
		t.Errorf("got %q, session %q (%v)", got, last.ID, err)
	}
}

// What cannot be read is not the end of what is said: nothing of a pipe is lost in silence.
func TestLinesThatCannotBeRead(t *testing.T) {
	got, _, err := runLines(t, newFake("yes"), strings.NewReader("one\n"+strings.Repeat("x", 1<<20+1)+"\n"), false)
	if want := "You: one\nModel: yes\n"; got != want || err == nil || !strings.Contains(err.Error(), "longer than 1024 KiB") || hint.Of(err) == "" {
		t.Errorf("a line that is too long: got %q (%v), want %q and an error with a way out", got, err, want)
	}
	broken := errors.New("input/output error")
	if _, _, err := runLines(t, newFake("yes"), iotest.ErrReader(broken), false); !errors.Is(err, broken) {
		t.Errorf("a broken input: got %v, want %v", err, broken)
	}
}

func TestLinesThatAreRefused(t *testing.T) {
	f := newFake("yes")
	f.refuse = errors.New("a turn is running")
	if _, _, err := runLines(t, f, strings.NewReader("one\n"), false); err == nil || !strings.Contains(err.Error(), "a turn is running") {
		t.Errorf("a pipe: got %v, want the error", err)
	}
	got, _, err := runLines(t, f, strings.NewReader("one\n"), true)
	if err != nil || !strings.Contains(got, "[a turn is running]") {
		t.Errorf("a person: got %q (%v), want a note", got, err)
	}
}

func TestAnInterruptEndsTheTurnAndThenTheClient(t *testing.T) {
	f := newFake("") // turns that do not end
	s, err := f.Session(t.Context(), "first")
	if err != nil {
		t.Fatal(err)
	}
	in, typing := io.Pipe()
	interrupts := make(chan struct{})
	out := &notifying{seen: make(chan string, 100)}
	done := make(chan error, 1)
	go func() {
		_, err := Lines{Daemon: f, Session: s, In: in, Out: out, Interrupts: interrupts}.Run(t.Context())
		done <- err
	}()
	_, _ = io.WriteString(typing, "begin\n")
	for !strings.Contains(<-out.seen, "begin") {
	}
	interrupts <- struct{}{}
	f.mu.Lock()
	f.tell("first", protocol.EventTurnCompleted, protocol.TurnCompleted{TurnID: "t", Reason: protocol.TurnInterrupted})
	f.mu.Unlock()
	for !strings.Contains(<-out.seen, "[interrupted]") {
	}
	interrupts <- struct{}{}
	if err := <-done; err != nil {
		t.Error(err)
	}
	_ = typing.Close()
	if got := strings.Join(f.asked, "|"); got != "interrupt first" {
		t.Errorf("asked: %q", got)
	}
}

func TestLinesEndWithTheirContext(t *testing.T) {
	f := newFake("")
	s, _ := f.Session(t.Context(), "first")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in, typing := io.Pipe()
	if _, err := (Lines{Daemon: f, Session: s, In: in, Out: io.Discard}).Run(ctx); err != nil {
		t.Error(err)
	}
	_ = typing.Close()
}

// notifying tells what is written to it.
type notifying struct{ seen chan string }

func (n *notifying) Write(p []byte) (int, error) {
	n.seen <- string(p)
	return len(p), nil
}
