package app

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/timetest"
)

// chat makes one call of the demo model.
func (l *living) chat() {
	l.t.Helper()
	resp, err := http.Post("http://"+l.discovery().Addr+"/v1/chat/completions", "application/json",
		strings.NewReader(`{"model":"chatwright-demo","messages":[{"role":"user","content":"Hello"}]}`))
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		l.t.Fatalf("the call: got %d, %v", resp.StatusCode, err)
	}
}

// awaitStatus waits until the status is as it should be.
func (l *living) awaitStatus(what string, ok func(protocol.Status) bool) {
	l.t.Helper()
	daemon := client.New(l.cfg.Paths.Socket)
	timetest.Until(l.t, "a status that shows "+what, func() (protocol.Status, bool) {
		l.t.Helper()
		status, err := daemon.Status(l.t.Context())
		if err != nil {
			l.t.Fatal(err)
		}
		return status, ok(status)
	})
}

func TestTodayIsShownAndSurvivesTheApp(t *testing.T) {
	where := pathsIn(t)
	t.Run("one life", func(t *testing.T) {
		l := live(t, func(c *Config) { c.Paths = where })
		l.awaitMenu("No calls today")
		l.chat()
		l.chat()
		l.awaitMenu("Today 2 calls · ")
		l.awaitStatus("two calls this week", func(s protocol.Status) bool { return s.History != nil && s.History.Week.Calls == 2 })
		l.chat() // and at once the end: it is written then
	})
	t.Run("the next", func(t *testing.T) {
		l := live(t, func(c *Config) { c.Paths = where })
		menu := l.awaitMenu("Today 3 calls · ")
		if !strings.Contains(menu, "No calls yet") {
			t.Errorf("the row of this run counts the calls of another:\n%s", menu)
		}
	})
}

// Gateway.md 20: losing the history loses no call; and the notice ends when the disk is well again.
func TestHistoryThatCannotBeWrittenIsANoticeUntilItCan(t *testing.T) {
	where := pathsIn(t)
	if err := os.MkdirAll(where.History, 0o700); err != nil {
		t.Fatal(err)
	}
	l := live(t, func(c *Config) { c.Paths = where })
	menu := l.awaitMenu("⚠ Calls are not recorded: history.db: is a directory")
	if strings.Contains(menu, "today") {
		t.Errorf("what is not known of today is shown:\n%s", menu)
	}
	l.chat()
	if err := os.Remove(where.History); err != nil {
		t.Fatal(err)
	}
	l.awaitView("the call, and no notice", func(menu string) bool {
		return strings.Contains(menu, "Today 1 call") && !strings.Contains(menu, "⚠")
	})
}

func TestBrokenHistoryIsSaidOnceAndReplaced(t *testing.T) {
	where := pathsIn(t)
	if err := os.WriteFile(where.History, []byte(strings.Repeat("noise", 2000)), 0o600); err != nil {
		t.Fatal(err)
	}
	l := live(t, func(c *Config) { c.Paths = where })
	l.awaitMenu("⚠ The history was broken and begins anew · The old file is history.db.broken")
	l.chat()
	l.awaitMenu("Today 1 call")
}

func TestNoHistoryWhereNoneIsWanted(t *testing.T) {
	l := live(t, func(c *Config) { c.Settings = settingsWith(t, "history=false") })
	l.chat()
	if menu := l.awaitMenu("Last: chatwright-demo"); strings.Contains(menu, "oday") {
		t.Errorf("the menu speaks of today:\n%s", menu)
	}
	_, err := client.New(l.cfg.Paths.Socket).History(t.Context(), protocol.HistoryQuery{})
	if err == nil || !strings.Contains(err.Error(), "keeps no history") {
		t.Errorf("asked for the history: got %v", err)
	}
	if _, err := os.Stat(l.cfg.Paths.History); !os.IsNotExist(err) {
		t.Errorf("the file: got %v, want none", err)
	}
}

func TestBadCursorOfTheHistoryIsTheCallersMistake(t *testing.T) {
	l := live(t, func(*Config) {})
	_, err := client.New(l.cfg.Paths.Socket).History(t.Context(), protocol.HistoryQuery{After: "x"})
	if remote, ok := err.(*client.Error); !ok || remote.Code != protocol.CodeInvalidInput {
		t.Errorf("got %v, want %s", err, protocol.CodeInvalidInput)
	}
}
