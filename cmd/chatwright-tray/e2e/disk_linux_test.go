package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
)

// sessions.md, Tests that must exist: a full disk. The record fails, so the turn ends with an error, and nothing is shown
// that was not recorded. With room again the session goes on, and so it does after the daemon was killed.
func TestAFullDisk(t *testing.T) {
	next := make(chan struct{})
	provider := servertest.NewProvider(t, map[string]servertest.Scenario{"steps": {
		Pieces: []string{servertest.Said("before "), servertest.Said(strings.Repeat("unrecorded ", 2000)), servertest.Done}, Next: next,
	}, "plain": scenarios()["plain"]})
	u := newUser(t)
	records := filepath.Join(u.home, "state", "chatwright", "sessions")
	servertest.SmallDisk(t, records, "256k")
	u.start()
	u.upstream("steps", provider.BaseURL("steps"))
	id := u.session("steps")
	term := open(t, u.command("session", "send", id, "Begin"), 80, 24)
	term.sees("before")
	ballast := filepath.Join(records, "ballast")
	_ = os.WriteFile(ballast, make([]byte, 1<<20), 0o600) // as much of it as there is room for
	for u.daemon.RenameSession(t.Context(), id, strings.Repeat("x", 120)) == nil {
	}
	close(next)
	term.sees("no space left on device")
	shown := u.events(id)
	u.contiguous(shown)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	term.sees("error: recording the conversation")
	if code := term.ends(); code != 1 {
		t.Errorf("exit code: got %d, want 1", code)
	}
	if strings.Contains(term.written(), "unrecorded") {
		t.Error("it shows what was not recorded")
	}
	events := u.events(id)
	u.contiguous(events)
	if end := events[len(events)-1]; end.Type != protocol.EventTurnCompleted || !strings.Contains(string(end.Payload), `"reason":"error"`) {
		t.Errorf("the last event is %s %s", end.Type, end.Payload)
	}
	for i, e := range shown {
		if string(events[i].Payload) != string(e.Payload) {
			t.Errorf("event %d is %s, and was shown as %s", i+1, events[i].Payload, e.Payload)
		}
	}
	if got := u.must("session", "send", id, "Once more"); !strings.HasPrefix(got, "before unrecorded") {
		t.Errorf("the next turn: got %q", got[:min(len(got), 40)])
	}
	u.kill()
	u.must("session", "list", "--all") // which starts another
	u.meet()
	u.contiguous(u.events(id))
}
