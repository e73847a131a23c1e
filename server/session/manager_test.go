package session_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/session"
)

// sessions.md: the id sorts by time and matches ^[0-9a-z-]{8,40}$. Not even a clock that jumps changes the order.
func TestIDsSortByCreationWhateverTheClockDoes(t *testing.T) {
	now := time.Date(2026, 11, 30, 15, 43, 53, 764_000_000, time.UTC)
	dir := filepath.Join(t.TempDir(), "s")
	cfg := session.Config{Dir: dir, Clock: func() time.Time { return now }}
	m := open(t, cfg)
	var ids []string
	for _, jump := range []time.Duration{0, 0, time.Hour, -48 * time.Hour, 0, time.Millisecond, 100 * 24 * time.Hour, -time.Second} {
		now = now.Add(jump)
		ids = append(ids, m.create(t).ID())
	}
	m.stop()
	m = open(t, cfg)
	now = now.Add(-1000 * time.Hour)
	ids = append(ids, m.create(t).ID()) // another daemon goes on from there
	if !slices.IsSorted(ids) {
		t.Errorf("got %v, want them sorted", ids)
	}
	if ids[0][:18] != "20261130-154353764" {
		t.Errorf("got %s, want it to say when", ids[0])
	}
	for _, id := range ids {
		if !regexp.MustCompile(`^[0-9a-z-]{8,40}$`).MatchString(id) || !session.ValidID(id) {
			t.Errorf("%q is not valid", id)
		}
	}
}

func TestNamesOfFilesAreNoIDs(t *testing.T) {
	for _, id := range []string{"", "short", "..", "../../etc/passwd", "..%2f..%2fetc", "20261130/15435376", "UPPERCASE", "with.dots.in", "with space", "nul\x00nulnul", strings.Repeat("a", 41), "ümlaut-id"} {
		if session.ValidID(id) {
			t.Errorf("%q: got valid", id)
		}
	}
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret00.jsonl")
	if err := os.WriteFile(secret, []byte(line(1, "session.created", `{}`)), 0o600); err != nil {
		t.Fatal(err)
	}
	m := open(t, session.Config{Dir: filepath.Join(outside, "s")})
	for name, err := range map[string]error{
		"Info":   func() error { _, err := m.Info("../secret00"); return err }(),
		"After":  func() error { _, err := m.After("../secret00", session.Cursor{}, 0); return err }(),
		"Rename": m.Rename("../secret00", "x"),
		"Delete": m.Delete(t.Context(), "../secret00", true),
		"Resume": func() error {
			_, err := m.Create(protocol.CreateSessionRequest{Workspace: outside, Resume: "../secret00"})
			return err
		}(),
	} {
		t.Run(name, func(t *testing.T) { wantCode(t, err, protocol.CodeSessionNotFound, "no such session") })
	}
	if _, err := os.Stat(secret); err != nil {
		t.Errorf("a file outside was touched: %v", err)
	}
}

// A symbolic link among the records leads nowhere.
func TestALinkIsNoRecord(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "outside"), []byte(line(1, "session.created", `{}`)), 0o600); err != nil {
		t.Fatal(err)
	}
	m := open(t, session.Config{Dir: filepath.Join(dir, "s")})
	if err := os.Symlink(filepath.Join(dir, "outside"), m.path(recordID)); err != nil {
		servertest.Missing(t, "the right to make a symbolic link: "+err.Error())
	}
	_, err := m.Info(recordID)
	wantCode(t, err, protocol.CodeSessionNotFound, "")
	if list, _ := m.List(true, ""); len(list) != 0 {
		t.Errorf("got %+v", list)
	}
}

func TestRecordsAreTheOwnersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	m := open(t, session.Config{Dir: dir})
	s := m.create(t)
	for path, want := range map[string]os.FileMode{dir: 0o700, m.path(s.ID()): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: got %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
}

func TestAWorkspaceIsAFolderThatIsThere(t *testing.T) {
	m := open(t, session.Config{})
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"": "not an absolute path", "here": "not an absolute path", file: "not a folder", file + "/x": "", "/no/such/folder": "no such file"} {
		_, err := m.Create(protocol.CreateSessionRequest{Workspace: path})
		wantCode(t, err, protocol.CodeWorkspace, want)
	}
	_, err := m.Create(protocol.CreateSessionRequest{Workspace: m.dir, SandboxMode: "none"})
	wantCode(t, err, protocol.CodeInvalidInput, "sandbox_mode")
	if left, _ := os.ReadDir(m.dir); len(left) != 0 {
		t.Errorf("got %v, want no record of what was refused", left)
	}
}

func TestListsShowLiveOnesInOrderThenRecordsNewestFirst(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	m := open(t, session.Config{Dir: dir})
	var old []string
	for i := range 3 {
		s := m.create(t)
		say(t, s, fmt.Sprintf("question %d\nand more", i))
		follow(s).until(t, protocol.EventTurnCompleted)
		old = append(old, s.ID())
	}
	if err := m.Rename(old[1], "the second"); err != nil {
		t.Fatal(err)
	}
	m.stop()
	m = open(t, session.Config{Dir: dir})
	if err := m.Rename(old[0], "the first"); err != nil { // one that is only on disk
		t.Fatal(err)
	}
	other := t.TempDir()
	live := []string{m.create(t).ID(), m.create(t).ID()}
	elsewhere, err := m.Create(protocol.CreateSessionRequest{Workspace: other})
	if err != nil {
		t.Fatal(err)
	}
	show := func(recorded bool, workspace string) string {
		list, err := m.List(recorded, workspace)
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for _, s := range list {
			rows = append(rows, fmt.Sprintf("%s %v %s %q %d", s.ID, s.Live, s.State, s.Title, s.LastSeq))
		}
		return strings.Join(rows, "\n")
	}
	row := func(id, live, state, title string, last int) string {
		return fmt.Sprintf("%s %s %s %q %d", id, live, state, title, last)
	}
	alive := []string{row(live[0], "true", "idle", "", 1), row(live[1], "true", "idle", "", 1)}
	onDisk := []string{row(old[2], "false", "closed", "question 2", 4), row(old[1], "false", "closed", "the second", 5), row(old[0], "false", "closed", "the first", 5)}
	there := row(elsewhere.ID(), "true", "idle", "", 1)
	if got, want := show(false, ""), strings.Join(append(slices.Clone(alive), there), "\n"); got != want {
		t.Errorf("live: got\n%s\nwant\n%s", got, want)
	}
	if got, want := show(true, dir), strings.Join(append(slices.Clone(alive), onDisk...), "\n"); got != want {
		t.Errorf("of one workspace: got\n%s\nwant\n%s", got, want)
	}
	if got := show(true, other); got != there {
		t.Errorf("of the other: got\n%s", got)
	}
}

func TestNamesAreRefusedNotTrimmed(t *testing.T) {
	m := open(t, session.Config{})
	s := m.create(t)
	say(t, s, "  What\tis   a cart?  \nPlease.")
	follow(s).until(t, protocol.EventTurnCompleted)
	if got := s.Info().Title; got != "What is a cart?" {
		t.Errorf("the derived title: got %q", got)
	}
	for _, name := range []string{strings.Repeat("é", 121), "two\nlines", "bell\a", "\x7f", "no\xffutf8", "a\u2028b", "a\u202eb", "a\u2066b", "   ", "\u00a0"} {
		for _, id := range []string{s.ID()} {
			wantCode(t, m.Rename(id, name), protocol.CodeInvalidInput, "name")
		}
	}
	for _, name := range []string{strings.Repeat("é", 120), " spaces stay ", "𝔘nicode ✓"} {
		if err := m.Rename(s.ID(), name); err != nil || s.Info().Title != name {
			t.Errorf("%q: got %q, %v", name, s.Info().Title, err)
		}
	}
	if err := m.Rename(s.ID(), ""); err != nil || s.Info().Title != "What is a cart?" {
		t.Errorf("an empty name: got %q, %v, want the derived title back", s.Info().Title, err)
	}
	wantCode(t, m.Rename("20200101-000000000-none", "x"), protocol.CodeSessionNotFound, "")
}

func TestALongFirstLineIsCutForTheTitle(t *testing.T) {
	m := open(t, session.Config{})
	s := m.create(t)
	say(t, s, strings.Repeat("wörd ", 50))
	if got := []rune(s.Info().Title); len(got) > 80 || got[len(got)-1] != '…' {
		t.Errorf("got %q", string(got))
	}
}

func TestDeleteEndsASessionAndKeepsOrPurgesItsRecord(t *testing.T) {
	begun := make(chan struct{})
	m := open(t, session.Config{Model: stalls(begun)})
	s := m.create(t)
	say(t, s, "hello")
	<-begun
	if err := m.Delete(t.Context(), s.ID(), false); err != nil {
		t.Fatal(err)
	}
	if m.Get(s.ID()) != nil {
		t.Error("it is still live")
	}
	events := m.events(t, s.ID())
	if end := events[len(events)-1]; payload[protocol.TurnCompleted](t, end).Reason != protocol.TurnInterrupted {
		t.Errorf("it ends with %s %s", end.Type, end.Payload)
	}
	if page, err := s.After(session.Cursor{Seq: events[len(events)-1].Seq}, 0); err != nil || !page.Ended || page.Changed != nil {
		t.Errorf("a follower of the ended session: got %+v, %v", page, err)
	}
	_, err := s.StartTurn(protocol.TurnRequest{Text: "more"})
	wantCode(t, err, protocol.CodeConflict, "has ended")
	wantCode(t, s.Rename("x"), protocol.CodeConflict, "has ended")
	if err := m.Delete(t.Context(), s.ID(), false); err != nil {
		t.Errorf("once more: %v", err)
	}
	if err := m.Delete(t.Context(), s.ID(), true); err != nil {
		t.Fatal(err)
	}
	wantCode(t, m.Delete(t.Context(), s.ID(), true), protocol.CodeSessionNotFound, "")
	if left, _ := os.ReadDir(m.dir); len(left) != 0 {
		t.Errorf("got %v, want nothing left", left)
	}
}

// sessions.md, Records: 30 days, 512 MiB, the newest 10 stay, live ones always.
func TestOldRecordsGoWhenASessionBegins(t *testing.T) {
	day := 24 * time.Hour
	now := time.Now()
	for name, c := range map[string]struct {
		cfg  session.Config
		ages []time.Duration // of the records, the newest first
		size int
		keep int
	}{
		"young ones stay":                    {session.Config{Keep: 2}, []time.Duration{day, 2 * day, 29 * day}, 0, 3},
		"those over 30 days go":              {session.Config{Keep: 2}, []time.Duration{day, 2 * day, 31 * day, 90 * day}, 0, 2},
		"the newest stay however old":        {session.Config{Keep: 3}, []time.Duration{40 * day, 50 * day, 60 * day, 70 * day}, 0, 3},
		"the oldest go over the size":        {session.Config{Keep: 1, MaxBytes: 10_000}, []time.Duration{1 * day, 2 * day, 3 * day, 4 * day}, 4000, 2},
		"the newest stay whatever size":      {session.Config{Keep: 3, MaxBytes: 1}, []time.Duration{1 * day, 2 * day, 3 * day, 4 * day}, 4000, 3},
		"ten stay when nothing else is said": {session.Config{}, slices.Repeat([]time.Duration{100 * day}, 14), 0, 10},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var ids []string
			for i, age := range c.ages {
				at := now.Add(-age - time.Duration(i)*time.Second)
				id := fmt.Sprintf("%s-%04d", at.UTC().Format("20060102-150405000"), i)
				ids = append(ids, id)
				content := fmt.Sprintf(`{"seq":1,"session_id":"%s","type":"session.created","at":"2026-11-30T15:43:53Z","payload":{"workspace":"%s"}}`+"\n", id, strings.Repeat("x", c.size))
				path := filepath.Join(dir, id+".jsonl")
				if err := errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Mkdir(filepath.Join(dir, id+".images"), 0o700), os.Chtimes(path, at, at)); err != nil {
					t.Fatal(err)
				}
			}
			c.cfg.Dir = dir
			m := open(t, c.cfg)
			s := m.create(t)
			for i, id := range ids {
				for _, path := range []string{m.path(id), strings.TrimSuffix(m.path(id), ".jsonl") + ".images"} {
					if _, err := os.Stat(path); (err == nil) != (i < c.keep) {
						t.Errorf("%s, %d of %d: got %v, want the newest %d kept", path, i+1, len(ids), err, c.keep)
					}
				}
			}
			if _, err := os.Stat(m.path(s.ID())); err != nil {
				t.Errorf("the live one: %v", err)
			}
		})
	}
}

func TestChangedWakesWhoWatchesAllSessions(t *testing.T) {
	m := open(t, session.Config{})
	changed := m.Changed()
	s := m.create(t)
	<-changed
	changed = m.Changed()
	if err := s.Rename("x"); err != nil {
		t.Fatal(err)
	}
	<-changed
	changed = m.Changed()
	say(t, s, "hello")
	<-changed
	follow(s).until(t, protocol.EventTurnCompleted)
	for s.Info().State != protocol.SessionIdle {
		<-m.Changed()
	}
	if live := m.Live(); len(live) != 1 || live[0] != s {
		t.Errorf("got %v", live)
	}
}
