package assets_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"chatwright.dev/tray/server/protocol"
)

func (c *companion) serveSessions(w http.ResponseWriter, _ *http.Request) {
	_ = json.NewEncoder(w).Encode(protocol.SessionList{Sessions: append([]protocol.Session{}, c.sessions...)})
}

func (c *companion) serveSessionEvents(w http.ResponseWriter, r *http.Request) {
	from, _ := strconv.ParseUint(r.URL.Query().Get("from"), 10, 64)
	page := protocol.EventsPage{Events: []protocol.Event{}, Next: from}
	for _, event := range c.events[r.URL.Query().Get("id")] {
		if event.Seq >= from && len(page.Events) < 2 { // pages are small, so that more than one is needed
			page.Events, page.Next = append(page.Events, event), event.Seq+1
		}
	}
	_ = json.NewEncoder(w).Encode(page)
}

// happen adds events to a session: a type and its payload, in turn.
func (c *companion) happen(id string, typesAndPayloads ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := 0; i < len(typesAndPayloads); i += 2 {
		payload, err := json.Marshal(typesAndPayloads[i+1])
		if err != nil {
			c.t.Fatal(err)
		}
		c.events[id] = append(c.events[id], protocol.Event{
			Seq: uint64(len(c.events[id])) + 1, SessionID: id, Type: typesAndPayloads[i].(protocol.EventType), At: time.Now(), Payload: payload,
		})
	}
}

const firstSession, secondSession = "01hfirst-1", "01hsecond-2"

func playSessions(c *companion) {
	c.sessions = []protocol.Session{
		{ID: secondSession, State: protocol.SessionRunning, Live: true, Title: "Why does the <b>booking</b> bot forget the date?",
			Workspace: "/home/ada/booking-bot", Model: "llama3.2", Upstream: "work"},
		{ID: firstSession, State: protocol.SessionIdle, Live: true, Workspace: "/home/ada/a/folder/that/is/as/deep/as/folders/of/some/people/are"},
	}
	c.events = map[string][]protocol.Event{}
	c.happen(secondSession,
		protocol.EventSessionCreated, protocol.SessionCreated{Workspace: "/home/ada/booking-bot"},
		protocol.EventTurnStarted, protocol.TurnStarted{TurnID: "t2", Text: "Why does it forget?\n  <script>alert(1)</script>", Images: []protocol.ImageRef{{}}},
		protocol.EventMessageReasoning, protocol.MessageDelta{TurnID: "t2", Text: "Where is the state kept"},
		protocol.EventMessageReasoning, protocol.MessageDelta{TurnID: "t2", Text: "? In memory."},
		protocol.EventMessageDelta, protocol.MessageDelta{TurnID: "t2", Text: "It keeps the date in memory, "},
		protocol.EventMessageDelta, protocol.MessageDelta{TurnID: "t2", Text: "and a restart forgets it."},
		protocol.EventTurnCompleted, protocol.TurnCompleted{TurnID: "t2", Reason: protocol.TurnDone, Model: "llama3.2",
			Usage: &protocol.Usage{InputTokens: 1234, OutputTokens: 56}},
		protocol.EventTurnStarted, protocol.TurnStarted{TurnID: "t9", Text: "And then?"},
		protocol.EventMessageDelta, protocol.MessageDelta{TurnID: "t9", Text: "Then"},
	)
}

// The page shows what is said as it is said, foreign text as text, and asks for nothing but reading.
func (b chromium) testSessions(t *testing.T) {
	t.Parallel()
	c := newCompanion(t)
	p := b.open(t, c.url("/console/#/sessions"))
	p.waitFor(`!document.querySelector('#none').hidden`)
	replay := &companion{t: t}
	playSessions(replay)
	func() { c.mu.Lock(); defer c.mu.Unlock(); c.sessions, c.events = replay.sessions, replay.events }()

	said := `[...document.querySelectorAll('.said')].map((n) => n.innerText.replace(/\n+/g, ' | ')).join(' || ')`
	p.waitFor(`(` + said + `).endsWith('Model | Then')`)
	want := `You · 1 image | Why does it forget? |   <script>alert(1)</script> || Model | Reasoning | It keeps the date in memory, and a restart forgets it. | ` +
		`llama3.2 · 1.2k tokens in, 56 out || You | And then? || Model | Then`
	if got := evaluate[string](p, said); got != want {
		t.Errorf("transcript: got\n%s\nwant\n%s", got, want)
	}
	if got := evaluate[string](p, `document.querySelector('details p').textContent`); got != "Where is the state kept? In memory." {
		t.Errorf("reasoning: got %q", got)
	}
	if got := evaluate[string](p, `document.querySelector('#title').textContent`); !strings.Contains(got, "<b>booking</b>") {
		t.Errorf("title: got %q, want the text as it is", got)
	}
	c.happen(secondSession, protocol.EventMessageDelta, protocol.MessageDelta{TurnID: "t9", Text: " it asks again."},
		protocol.EventSessionError, protocol.SessionError{Message: "work broke off its answer", Hint: "say it again"},
		protocol.EventTurnCompleted, protocol.TurnCompleted{TurnID: "t9", Reason: protocol.TurnError})
	p.waitFor(`(` + said + `).endsWith('Then it asks again. | work broke off its answer · say it again | failed')`)

	p.run(chromedp.Click(fmt.Sprintf(`a[href="#/sessions/%s"]`, firstSession)))
	p.waitFor(`document.querySelector('#title').textContent === 'New session' && document.querySelectorAll('.said').length === 0`)
	func() { c.mu.Lock(); defer c.mu.Unlock(); c.sessions = c.sessions[:1] }()
	p.waitFor(`document.querySelectorAll('#list li').length === 1 && document.querySelectorAll('.said').length === 4`)
	p.clean(c)
}

// The sessions page in light and dark, wide and narrow, photographed for a person to look at.
func (b chromium) testSessionLooks(t *testing.T) {
	for _, view := range []struct {
		name   string
		width  int64
		scheme string
	}{{"sessions-light", 1280, "light"}, {"sessions-dark", 1280, "dark"}, {"sessions-narrow", 360, "light"}} {
		t.Run(view.name, func(t *testing.T) {
			t.Parallel()
			c := newCompanion(t)
			playSessions(c)
			p := b.open(t, c.url("/console/#/sessions"), chromedp.EmulateViewport(view.width, 800), media("prefers-color-scheme", view.scheme))
			p.waitFor(`document.querySelectorAll('.said').length === 4`)
			p.photograph(view.name)
			if over := evaluate[int](p, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
				t.Errorf("the page is %d px wider than its window", over)
			}
			p.clean(c)
		})
	}
}
