package session_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/timetest"
	"chatwright.dev/tray/server/session"
)

// victimVariable makes this test binary a daemon to be killed, over the folder that it names.
const victimVariable = "CHATWRIGHT_TEST_VICTIM"

// victim begins a session whose turn never ends and prints each event as a follower sees it.
func victim(dir string) {
	babble := model(func(ctx context.Context, _ session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
		for i := 0; ctx.Err() == nil; i++ {
			emit(session.Delta{Text: fmt.Sprintf("piece %d ", i), Reasoning: "hm"})
			timetest.Pause(time.Millisecond, "a fast model, not a flood")
		}
		return session.ModelResult{}, ctx.Err()
	})
	fail := func(err error) {
		fmt.Println("FAIL", err)
		os.Exit(1)
	}
	m, err := session.Open(session.Config{Dir: dir, Model: babble})
	if err != nil {
		fail(err)
	}
	s, err := m.Create(protocol.CreateSessionRequest{Workspace: dir})
	if err != nil {
		fail(err)
	}
	if _, err := s.StartTurn(protocol.TurnRequest{Text: "talk"}); err != nil {
		fail(err)
	}
	for cursor := (session.Cursor{}); ; {
		page, err := s.After(cursor, 0)
		if err != nil {
			fail(err)
		}
		for _, entry := range page.Entries {
			_, _ = os.Stdout.Write(append(entry.JSON, '\n'))
		}
		if cursor = page.Next; page.Changed != nil {
			<-page.Changed
		}
	}
}

// A kill -9 in the middle of a turn: no event that was seen is lost, none comes twice, and the turn has an end.
func TestAKillInTheMiddleOfATurnLosesNothingThatWasSeen(t *testing.T) {
	for _, lines := range []int{2, 5, 9, 20} {
		t.Run(fmt.Sprintf("after %d events", lines), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), victimVariable+"="+dir)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var seen [][]byte
			reader := bufio.NewReader(out)
			for len(seen) < lines {
				line, err := reader.ReadBytes('\n')
				if err != nil {
					t.Fatal(err)
				}
				seen = append(seen, bytes.TrimSpace(line))
			}
			_ = cmd.Process.Kill()
			for { // what it showed before it died
				line, err := reader.ReadBytes('\n')
				if err != nil {
					break
				}
				seen = append(seen, bytes.TrimSpace(line))
			}
			_ = cmd.Wait()

			m := open(t, session.Config{Dir: dir})
			list, err := m.List(true, "")
			if err != nil || len(list) != 1 {
				t.Fatalf("got %v, %v, want the session", list, err)
			}
			if got := list[0]; got.Live || !got.Interrupted || got.State != protocol.SessionClosed || got.Title != "talk" {
				t.Errorf("the session: got %+v", got)
			}
			var kept [][]byte
			for cursor := (session.Cursor{}); ; {
				page, err := m.After(list[0].ID, cursor, 0)
				if err != nil {
					t.Fatal(err)
				}
				for _, entry := range page.Entries {
					kept = append(kept, entry.JSON)
				}
				if cursor = page.Next; page.Ended {
					break
				}
			}
			for i, line := range seen {
				if i >= len(kept) || !bytes.Equal(kept[i], line) {
					t.Fatalf("event %d was seen as %s and is not kept so", i+1, line)
				}
			}
			events := m.events(t, list[0].ID)
			wantContiguous(t, events, 1)
			end := events[len(events)-1]
			if end.Type != protocol.EventTurnCompleted || payload[protocol.TurnCompleted](t, end).Reason != protocol.TurnInterrupted {
				t.Errorf("it ends with %s %s", end.Type, end.Payload)
			}
		})
	}
}

// A power cut may leave any part of the last line. It is dropped, and said so in the log of the session itself.
func TestHalfALineAtTheEndIsDroppedAndSaidSo(t *testing.T) {
	m := open(t, session.Config{})
	s := m.create(t)
	f := follow(s)
	say(t, s, "hello")
	f.until(t, protocol.EventTurnCompleted)
	m.stop()
	whole, err := os.ReadFile(m.path(s.ID()))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	lines = lines[:len(lines)-1]
	if len(lines) != 4 {
		t.Fatalf("got %d lines", len(lines))
	}
	for cut := len(lines[0]); cut < len(whole); cut += 7 {
		var said []string
		dir := t.TempDir()
		again := session.Config{Dir: dir, Log: func(line string) { said = append(said, line) }}
		if err := os.WriteFile(dir+"/"+s.ID()+".jsonl", whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		kept := bytes.Count(whole[:cut], []byte("\n"))
		torn := whole[cut-1] != '\n'
		m := open(t, again)
		events := m.events(t, s.ID())
		wantContiguous(t, events, 1)
		want := kinds(f.seen[:kept])
		if torn {
			want += " session.error"
		}
		if kept > 1 && kept < 4 {
			want += " turn.completed"
		}
		if got := kinds(events); got != want {
			t.Errorf("cut at %d: got %s, want %s", cut, got, want)
		}
		if torn && (len(said) != 1 || !strings.Contains(said[0], "incomplete and is dropped")) {
			t.Errorf("cut at %d: it said %q", cut, said)
		}
		// Once is enough: the next start finds nothing to do, and a new event goes where it should.
		m.stop()
		m = open(t, again)
		if got := kinds(m.events(t, s.ID())); got != want {
			t.Errorf("cut at %d, opened again: got %s, want %s", cut, got, want)
		}
		if err := m.Rename(s.ID(), "after all"); err != nil {
			t.Fatal(err)
		}
		wantContiguous(t, m.events(t, s.ID()), 1)
	}
}

func TestARecordWithoutASingleEventGoes(t *testing.T) {
	for _, content := range []string{"", `{"seq":1,"session_`} {
		dir := t.TempDir()
		if err := os.WriteFile(dir+"/20261130-154353764-k7ra.jsonl", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		m := open(t, session.Config{Dir: dir})
		if list, err := m.List(true, ""); err != nil || len(list) != 0 {
			t.Errorf("%q: got %v, %v", content, list, err)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("%q: got %v, want it gone", content, left)
		}
	}
}

// The end of a daemon in good order interrupts the turns that run.
func TestTheEndOfTheDaemonInterruptsTurns(t *testing.T) {
	begun := make(chan struct{})
	m := open(t, session.Config{Model: stalls(begun)})
	s := m.create(t)
	say(t, s, "hello")
	<-begun
	m.stop()
	events := all(t, s.After)
	if end := events[len(events)-1]; payload[protocol.TurnCompleted](t, end).Reason != protocol.TurnInterrupted {
		t.Errorf("it ends with %s %s", end.Type, end.Payload)
	}
	_, err := s.StartTurn(protocol.TurnRequest{Text: "more"})
	wantCode(t, err, protocol.CodeConflict, "")
	next := open(t, session.Config{Dir: m.dir})
	if info, err := next.Info(s.ID()); err != nil || info.Live || !info.Interrupted {
		t.Errorf("after a restart: got %+v, %v", info, err)
	}
}
