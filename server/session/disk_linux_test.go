package session_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/session"
)

// disk is a file system in memory that holds 512 KiB.
func disk(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	servertest.SmallDisk(t, folder, "512k")
	return folder
}

// fill leaves nothing of the disk.
func fill(t *testing.T, folder string) (remove func()) {
	t.Helper()
	file := filepath.Join(folder, "ballast")
	var fs unix.Statfs_t
	if err := unix.Statfs(folder, &fs); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, make([]byte, int64(fs.Bavail)*fs.Bsize), 0o600); err != nil {
		t.Fatal(err)
	}
	return func() { _ = os.Remove(file) }
}

// sessions.md, Tests that must exist: a full disk. The record fails, so the turn ends with an error, and nothing is shown
// that was not recorded. When there is room again, the end is recorded and the session goes on.
func TestAFullDiskEndsTheTurnAndShowsNothingThatWasNotRecorded(t *testing.T) {
	folder := disk(t)
	dir := filepath.Join(folder, "s")
	begun, full := make(chan struct{}), make(chan struct{})
	m := open(t, session.Config{Dir: dir, Model: model(func(ctx context.Context, req session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
		if strings.Contains(req.Messages[len(req.Messages)-1].Text, "again") {
			return says("Better")(ctx, req, emit)
		}
		emit(session.Delta{Text: "before"})
		begun <- struct{}{}
		<-full
		emit(session.Delta{Text: strings.Repeat("x", 5000)})
		<-ctx.Done()
		return session.ModelResult{}, ctx.Err()
	})})
	s := m.create(t)
	f := follow(s)
	say(t, s, "hello")
	<-begun
	f.until(t, protocol.EventMessageDelta)
	makeRoom := fill(t, folder)
	for s.Rename(strings.Repeat("x", 120)) == nil { // what is left of the last page
		f.until(t, protocol.EventSessionRenamed)
	}
	close(full)
	var page session.Page
	for page.Trouble == nil { // the follower is told why it sees nothing
		var err error
		if page, err = s.After(f.cursor, 0); err != nil {
			t.Fatal(err)
		}
		for _, entry := range page.Entries {
			t.Fatalf("it was shown %s", entry.JSON)
		}
		if page.Trouble == nil {
			<-page.Changed
		}
	}
	if got := page.Trouble.Error(); got != "recording the conversation: no space left on device" || hint.Of(page.Trouble) == "" {
		t.Errorf("the trouble: got %q, hint %q", got, hint.Of(page.Trouble))
	}
	info := s.Info()
	if info.State != protocol.SessionIdle || info.Trouble == "" {
		t.Errorf("the session: got %+v, want the turn over and the trouble said", info)
	}
	if _, err := s.StartTurn(protocol.TurnRequest{Text: "again"}); err == nil || hint.Of(err) == "" {
		t.Errorf("a turn on a full disk: got %v, want an error with a way out", err)
	}
	if got, want := len(m.record(t, s.ID())), int(info.LastSeq); got != want {
		t.Errorf("the record has %d lines, want %d", got, want)
	}

	makeRoom()
	<-page.Changed // it is tried again by itself
	if end := payload[protocol.TurnCompleted](t, f.until(t, protocol.EventTurnCompleted)); end.Reason != protocol.TurnError {
		t.Errorf("the end: got %+v", end)
	}
	if got := texts(t, f.seen, protocol.EventMessageDelta); got != "before" {
		t.Errorf("shown: got %.50q, want only what was recorded", got)
	}
	if info := s.Info(); info.Trouble != "" {
		t.Errorf("the trouble is over and still told: %q", info.Trouble)
	}
	say(t, s, "again")
	if end := payload[protocol.TurnCompleted](t, f.until(t, protocol.EventTurnCompleted)); end.Reason != protocol.TurnDone {
		t.Errorf("the next turn: got %+v", end)
	}
	wantContiguous(t, f.seen, 1)
	if lines := m.record(t, s.ID()); len(lines) != len(f.seen) {
		t.Errorf("the record has %d lines and %d were seen", len(lines), len(f.seen))
	}
}

func TestADiskThatIsFullFromTheStartMakesNoSession(t *testing.T) {
	folder := disk(t)
	m := open(t, session.Config{Dir: filepath.Join(folder, "s")})
	makeRoom := fill(t, folder)
	if _, err := m.Create(protocol.CreateSessionRequest{Workspace: folder}); err == nil {
		t.Error("got no error")
	}
	if len(m.Live()) != 0 {
		t.Error("a session lives without a record")
	}
	if left, _ := os.ReadDir(m.dir); len(left) != 0 {
		t.Errorf("got %v left behind", left)
	}
	makeRoom()
	m.create(t)
}

// fillToTheByte leaves no room for even the shortest event, not in the last page of the record either.
func fillToTheByte(t *testing.T, folder string, s *session.Session) (makeRoom func()) {
	t.Helper()
	makeRoom = fill(t, folder)
	for _, name := range []string{strings.Repeat("x", 120), ""} {
		for s.Rename(name) == nil {
		}
	}
	return makeRoom
}

// A daemon that ends while the disk is full says so, and leaves a turn without an end, which the next one finds.
func TestAnEndThatIsOwedIsFoundByTheNextDaemon(t *testing.T) {
	for name, end := range map[string]func(m sessions, id string) error{
		"at the end of the daemon":  func(m sessions, _ string) error { m.stop(); return nil },
		"at the end of the session": func(m sessions, id string) error { return m.Delete(context.Background(), id, false) },
	} {
		t.Run(name, func(t *testing.T) {
			folder := disk(t)
			begun := make(chan struct{})
			var said []string
			m := open(t, session.Config{Dir: filepath.Join(folder, "s"), Model: stalls(begun), Log: func(line string) { said = append(said, line) }})
			s := m.create(t)
			say(t, s, "hello")
			<-begun
			makeRoom := fillToTheByte(t, folder, s)
			if err := end(m, s.ID()); err != nil {
				t.Fatal(err)
			}
			if len(said) == 0 || !strings.Contains(said[len(said)-1], "the end of its last turn is lost") {
				t.Errorf("it said %q", said)
			}
			m.stop()
			makeRoom()
			next := open(t, session.Config{Dir: m.dir})
			events := next.events(t, s.ID())
			wantContiguous(t, events, 1)
			if end := events[len(events)-1]; end.Type != protocol.EventTurnCompleted {
				t.Errorf("it ends with %s", end.Type)
			}
		})
	}
}
