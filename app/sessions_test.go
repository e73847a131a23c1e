package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
)

// startedTurn is a turn that has begun to answer, and goes on when next is closed.
func startedTurn(t *testing.T, l *living, provider *servertest.Provider) (session string) {
	t.Helper()
	c := l.client()
	putUpstream(t, c, "work", provider.BaseURL("slow"), nil)
	s, err := c.CreateSession(t.Context(), protocol.CreateSessionRequest{Workspace: t.TempDir(), Upstream: "work", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.StartTurn(t.Context(), s.ID, protocol.TurnRequest{Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	said := errors.New("it speaks")
	err = c.Follow(t.Context(), s.ID, 0, client.Follower{Event: func(e protocol.Event) error {
		if e.Type == protocol.EventMessageDelta {
			return said
		}
		return nil
	}})
	if !errors.Is(err, said) {
		t.Fatal(err)
	}
	return s.ID
}

func slowProvider(t *testing.T) (*servertest.Provider, chan struct{}) {
	next := make(chan struct{})
	return servertest.NewProvider(t, map[string]servertest.Scenario{"slow": {Next: next, Pieces: []string{
		sse(`{"choices":[{"delta":{"content":"one moment"}}]}`),
		sse(`{"choices":[{"delta":{"content":", done"},"finish_reason":"stop"}]}`) + sse("[DONE]"),
	}}}), next
}

func TestServerThatStopsEndsNoTurn(t *testing.T) {
	provider, next := slowProvider(t)
	l := live(t, func(*Config) {})
	id := startedTurn(t, l, provider)
	c := l.client()
	if err := c.Server(t.Context(), protocol.ServerStop); err != nil {
		t.Fatal(err)
	}
	s, err := c.Status(t.Context())
	if err != nil || s.Phase != protocol.PhaseStopped || s.Sessions == nil || s.Metrics.InFlight != 1 {
		t.Errorf("status: got %s, %+v, %d in flight, %v", s.Phase, s.Sessions, s.Metrics.InFlight, err)
	}
	close(next)
	done := errors.New("done")
	err = c.Follow(t.Context(), id, 0, client.Follower{Event: func(e protocol.Event) error {
		if e.Type == protocol.EventTurnCompleted {
			if !strings.Contains(string(e.Payload), `"reason":"done"`) {
				t.Errorf("the turn ended with %s", e.Payload)
			}
			return done
		}
		return nil
	}})
	if !errors.Is(err, done) {
		t.Error(err)
	}
	if s, err := c.Status(t.Context()); err != nil || s.Metrics.Calls != 1 || s.Metrics.Recent[0].Upstream != "work" {
		t.Errorf("the call in the metrics: %+v, %v", s.Metrics, err)
	}
}

// The record of a turn that was running when the end came.
func recordOf(t *testing.T, l *living, id string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(l.cfg.Paths.Sessions, id+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestTurnHasTheGraceWhenTheCompanionEnds(t *testing.T) {
	provider, next := slowProvider(t)
	l := live(t, func(c *Config) { c.Settings = settingsWith(t, "grace=1h") })
	id := startedTurn(t, l, provider)
	c := l.client()
	l.end()
	for { // until the end has begun, for everybody to see
		s, err := c.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.Detail == DetailEnding {
			break
		}
	}
	if _, err := c.StartTurn(t.Context(), id, protocol.TurnRequest{Text: "more"}); err == nil {
		t.Error("a turn began while another ran, and the companion was ending")
	}
	close(next)
	if err := <-l.ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	l.ended <- nil
	if record := recordOf(t, l, id); !strings.Contains(record, `"reason":"done"`) || !strings.Contains(record, ", done") {
		t.Errorf("the record is not whole:\n%s", record)
	}
}

func TestAbortCutsTheGraceOfATurn(t *testing.T) {
	provider, _ := slowProvider(t)
	abort := make(chan struct{})
	l := live(t, func(c *Config) { c.Settings = settingsWith(t, "grace=1h"); c.Abort = abort })
	id := startedTurn(t, l, provider)
	l.end()
	close(abort)
	if err := <-l.ended; !errors.Is(err, ErrAborted) {
		t.Errorf("Run: got %v, want ErrAborted", err)
	}
	l.ended <- nil
	if record := recordOf(t, l, id); !strings.Contains(record, `"reason":"interrupted"`) {
		t.Errorf("the record does not say how the turn ended:\n%s", record)
	}
}

func TestSessionsWithoutAPlaceAreANotice(t *testing.T) {
	where := pathsIn(t)
	if err := errors.Join(where.Make(), os.WriteFile(where.Sessions, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	l := live(t, func(c *Config) { c.Paths = where })
	l.awaitMenu("There are no sessions")
	if status, _ := l.ask(`{"model":"chatwright-demo","messages":[{"role":"user","content":"x"}]}`); status != 200 {
		t.Errorf("the rest does not work either: status %d", status)
	}
}

func TestMenuChoosesUpstreamsAndOpensSessions(t *testing.T) {
	opened := make(chan []string, 1)
	l := live(t, func(c *Config) { c.OpenTerminal = func(args []string) error { opened <- args; return nil } })
	c := l.client()
	putUpstream(t, c, "work", "http://localhost:1/v1", nil)
	l.awaitMenu("    work ")
	l.click(tray.UseUpstream.With("work"))
	l.awaitMenu("    work ✓")
	s, err := c.CreateSession(t.Context(), protocol.CreateSessionRequest{Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	l.awaitMenu("OpenSession " + s.ID)
	if err := c.RenameSession(t.Context(), s.ID, "The booking bot"); err != nil {
		t.Fatal(err)
	}
	l.awaitMenu("    The booking bot")
	l.click(tray.OpenSession.With(s.ID))
	if got := strings.Join(<-opened, " "); got != "session attach "+s.ID {
		t.Errorf("opened %q", got)
	}
	if err := c.DeleteSession(t.Context(), s.ID, false); err != nil {
		t.Fatal(err)
	}
	l.awaitView("no session", func(menu string) bool { return !strings.Contains(menu, "Sessions") })
}

func TestTerminalThatCannotBeOpenedIsANotice(t *testing.T) {
	l := live(t, func(c *Config) {
		c.OpenTerminal = func([]string) error { return errors.New("no program that opens a terminal was found") }
	})
	l.click(tray.OpenSession.With("01-a"))
	l.awaitMenu("⚠ Opening the session: no program that opens a terminal was found")
}

func TestConsoleReadsLiveSessionsWhereItMay(t *testing.T) {
	provider, next := slowProvider(t)
	close(next)
	l := live(t, func(c *Config) { c.Settings = settingsWith(t, "console-sessions=true") })
	id := startedTurn(t, l, provider)
	p := l.browse()
	if got := p.get("/console/api/sessions"); !strings.Contains(got, `"id":"`+id+`"`) {
		t.Errorf("list: got %s", got)
	}
	if got := p.get("/console/api/sessions/events?id=" + id); !strings.Contains(got, `"type":"turn.started"`) || !strings.Contains(got, `"text":"hello"`) {
		t.Errorf("events: got %s", got)
	}
	if got := p.get("/console/api/sessions/events?id=" + id + "&from=2"); strings.Contains(got, `"seq":1,`) || !strings.Contains(got, `"seq":2,`) {
		t.Errorf("events from 2: got %s", got)
	}
	if got := l.read("/console/events", ""); !strings.Contains(got, `"sessions":{"live":`) {
		t.Errorf("status: got %s", got)
	}
	if err := l.client().DeleteSession(t.Context(), id, false); err != nil {
		t.Fatal(err)
	}
	if got := p.get("/console/api/sessions/events?id=" + id); !strings.Contains(got, "no such session") {
		t.Errorf("a session that has ended: got %s", got)
	}
}
