package attach

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"go.uber.org/goleak"

	"chatwright.dev/tray/app/attach/screen"
	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fakeDaemon holds sessions in memory. Each turn is answered at once by the text in answer.
type fakeDaemon struct {
	mu       sync.Mutex
	logs     map[string][]protocol.Event
	live     map[string]bool
	changed  chan struct{}
	refuse   error // of StartTurn
	answer   string
	messages []protocol.TurnRequest
	asked    []string // what else was asked
}

func newFake(answer string) *fakeDaemon {
	f := &fakeDaemon{logs: map[string][]protocol.Event{}, live: map[string]bool{}, changed: make(chan struct{}), answer: answer}
	f.create("first", protocol.EventSessionCreated, protocol.SessionCreated{Workspace: "/w", Model: "m"})
	return f
}

func (f *fakeDaemon) create(id string, kind protocol.EventType, payload any) {
	f.live[id] = true
	f.tell(id, kind, payload)
}

// tell appends an event. The caller holds mu, or is alone.
func (f *fakeDaemon) tell(id string, kind protocol.EventType, payload any) {
	data, err := json.Marshal(payload)
	if err != nil {
		panic(err)
	}
	f.logs[id] = append(f.logs[id], protocol.Event{Seq: uint64(len(f.logs[id])) + 1, SessionID: id, Type: kind, Payload: data})
	close(f.changed)
	f.changed = make(chan struct{})
}

// end makes a session one that is only recorded.
func (f *fakeDaemon) end(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live[id] = false
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fakeDaemon) Follow(ctx context.Context, id string, from uint64, to client.Follower) error {
	for next := int(from) - 1; ; {
		f.mu.Lock()
		log, live, changed := f.logs[id], f.live[id], f.changed
		f.mu.Unlock()
		for ; next < len(log); next++ {
			if err := to.Event(log[next]); err != nil {
				return err
			}
		}
		if !live {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *fakeDaemon) Session(_ context.Context, id string) (protocol.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.logs[id] == nil {
		return protocol.Session{}, &client.Error{Status: 404, Code: protocol.CodeSessionNotFound, Message: "no such session"}
	}
	return protocol.Session{ID: id, Live: f.live[id], LastSeq: uint64(len(f.logs[id])), Workspace: "/w"}, nil
}

func (f *fakeDaemon) CreateSession(_ context.Context, req protocol.CreateSessionRequest) (protocol.Session, error) {
	f.mu.Lock()
	id := "after-" + req.Resume
	f.create(id, protocol.EventSessionResumed, protocol.SessionResumed{SourceID: req.Resume, Workspace: "/w"})
	f.mu.Unlock()
	return f.Session(context.Background(), id)
}

func (f *fakeDaemon) StartTurn(_ context.Context, id string, req protocol.TurnRequest) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.messages = append(f.messages, req)
	if f.refuse != nil {
		return "", f.refuse
	}
	f.tell(id, protocol.EventTurnStarted, protocol.TurnStarted{TurnID: "t", Text: req.Text, SubmissionID: req.SubmissionID})
	if f.answer != "" {
		f.tell(id, protocol.EventMessageDelta, protocol.MessageDelta{TurnID: "t", Text: f.answer})
		f.tell(id, protocol.EventTurnCompleted, protocol.TurnCompleted{TurnID: "t", Reason: protocol.TurnDone})
	}
	return "t", nil
}

func (f *fakeDaemon) note(what string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, what)
	return nil
}

func (f *fakeDaemon) Steer(_ context.Context, id, text string) error {
	return f.note("steer " + id + " " + text)
}
func (f *fakeDaemon) Interrupt(_ context.Context, id string) error { return f.note("interrupt " + id) }
func (f *fakeDaemon) RenameSession(_ context.Context, id, name string) error {
	return f.note("rename " + id + " " + name)
}

// A person is a model with a feed, without a terminal: what the daemon tells is taken when the test asks for it.
type person struct {
	t    *testing.T
	m    *model
	news chan any
}

func newPerson(t *testing.T, f *fakeDaemon) *person {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := f.Session(ctx, "first")
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t, m: newModel(ctx, f, s), news: make(chan any)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.m.feed.run(ctx, s, func(one any) { put(ctx, p.news, one) })
	}()
	t.Cleanup(func() { cancel(); <-done })
	return p
}

// hears takes news until the screen holds a text.
func (p *person) hears(text string) string {
	p.t.Helper()
	for {
		if screen := p.screen(); strings.Contains(screen, text) {
			return screen
		}
		select {
		case one := <-p.news:
			p.m.Update(one)
		case <-p.t.Context().Done():
			p.t.Fatalf("the screen never holds %q:\n%s", text, p.screen())
		}
	}
}

func (p *person) screen() string { return ansi.Strip(p.m.View().Content) }

func (p *person) types(text string) {
	for _, r := range text {
		p.press(tea.Key{Code: r, Text: string(r)})
	}
}

// press presses a key and lets what it asks for happen.
func (p *person) press(key tea.Key) tea.Msg {
	_, cmd := p.m.Update(tea.KeyPressMsg(key))
	if cmd == nil {
		return nil
	}
	msg := cmd()
	p.m.Update(msg)
	return msg
}

func (p *person) enter()           { p.press(tea.Key{Code: tea.KeyEnter}) }
func (p *person) ctrl(c rune)      { p.press(tea.Key{Code: c, Mod: tea.ModCtrl}) }
func (p *person) says(text string) { p.types(text); p.enter() }

func TestAMessageThatWasRefusedComesBackAndIsTheSameAgain(t *testing.T) {
	f := newFake("yes")
	p := newPerson(t, f)
	p.hears("● ready")
	f.refuse = hint.With(errors.New("the daemon closed the connection"), "try again")
	p.says("is it?")
	if got := p.screen(); !strings.Contains(got, "› is it?") || !strings.Contains(got, "closed the connection: try again") {
		t.Errorf("got\n%s", got)
	}
	f.refuse = nil
	p.enter()
	p.hears("  yes")
	p.says("another")
	if len(f.messages) != 3 || f.messages[0].SubmissionID != f.messages[1].SubmissionID || f.messages[1].SubmissionID == f.messages[2].SubmissionID {
		t.Errorf("messages: %+v; want the first two to be one", f.messages)
	}
}

func TestWhatIsWrittenSinceIsNotOverwritten(t *testing.T) {
	f := newFake("")
	p := newPerson(t, f)
	p.hears("● ready")
	f.refuse = errors.New("no")
	p.types("first")
	_, cmd := p.m.Update(tea.KeyPressMsg(tea.Key{Code: tea.KeyEnter}))
	p.types("second")
	p.m.Update(cmd())
	if got := p.m.state.Editor.Text(); got != "second" {
		t.Errorf("the composer holds %q", got)
	}
}

func TestTheNextMessageResumesASessionThatHasEnded(t *testing.T) {
	f := newFake("yes")
	p := newPerson(t, f)
	p.hears("● ready")
	p.says("one")
	p.hears("  yes")
	f.end("first")
	p.hears("This session has ended; its record is kept")
	p.says("two")
	p.hears("Carries on the conversation first")
	if got := p.hears("› two"); p.m.session.ID != "after-first" || strings.Contains(got, "recorded:") {
		t.Errorf("session %q, screen\n%s", p.m.session.ID, got)
	}
	f.end("after-first")
	p.hears("recorded: your next message resumes it")
	p.says("/resume")
	p.hears("Carries on the conversation after-first")
}

func TestNothingIsSentWithoutAConnection(t *testing.T) {
	f := newFake("yes")
	p := newPerson(t, f)
	p.hears("● ready")
	p.m.Update(lost{})
	p.says("wait")
	if got := p.screen(); !strings.Contains(got, "stays here until") || p.m.state.Editor.Text() != "wait" || len(f.messages) > 0 {
		t.Errorf("got\n%s", got)
	}
	p.m.Update(back{})
	p.enter()
	p.hears("  yes")
}

func TestASessionThatIsRemoved(t *testing.T) {
	f := newFake("")
	p := newPerson(t, f)
	p.hears("● ready")
	f.mu.Lock()
	delete(f.logs, "first")
	f.mu.Unlock()
	f.end("first")
	p.hears("This session is gone")
	p.says("hello?")
	if got := p.screen(); !strings.Contains(got, "no session that could take it") {
		t.Errorf("got\n%s", got)
	}
}

func TestKeysWhileATurnRuns(t *testing.T) {
	f := newFake("")
	p := newPerson(t, f)
	p.hears("● ready")
	p.says("begin")
	p.hears("● answering")
	p.says("/steer the other way")
	p.says("/rename A name")
	p.says("//slashed")
	if got := p.screen(); !strings.Contains(got, "a turn is running") {
		t.Errorf("got\n%s", got)
	}
	p.ctrl('c')
	want := "steer first the other way|rename first A name|interrupt first"
	if got := strings.Join(f.asked, "|"); got != want {
		t.Errorf("asked: got %q, want %q", got, want)
	}
}

func TestTwoSlashesAreOne(t *testing.T) {
	f := newFake("yes")
	p := newPerson(t, f)
	p.hears("● ready")
	p.says("//etc/hosts is a file")
	p.hears("  yes")
	if got := f.messages[0].Text; got != "/etc/hosts is a file" {
		t.Errorf("sent: %q", got)
	}
}

func TestHelpThoughtsAndLeaving(t *testing.T) {
	f := newFake("yes")
	p := newPerson(t, f)
	p.m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	p.hears("● ready")
	p.says("/help")
	if got := p.screen(); !strings.Contains(got, "/steer TEXT") {
		t.Errorf("/help: got\n%s", got)
	}
	fold := p.m.state.Fold
	p.ctrl('t')
	if p.m.state.Fold == fold {
		t.Error("Ctrl-T changes nothing")
	}
	if msg := p.press(tea.Key{Code: 'd', Mod: tea.ModCtrl}); msg != tea.Quit() {
		t.Errorf("Ctrl-D: got %v", msg)
	}
}

func TestTroubleIsShown(t *testing.T) {
	p := newPerson(t, newFake(""))
	p.hears("● ready")
	p.m.Update(trouble{"no space left on device"})
	if got := p.screen(); !strings.Contains(got, "no space left on device") {
		t.Errorf("got\n%s", got)
	}
	if p.m.state.Link != screen.Connected {
		t.Error("the link is not what is in trouble")
	}
}

func TestAPasteIsNoSequenceOfKeys(t *testing.T) {
	f := newFake("yes")
	p := newPerson(t, f)
	p.hears("● ready")
	p.m.Update(tea.PasteMsg{Content: "two\r\nlines\x1b[2J"})
	if got := p.m.state.Editor.Text(); got != "two\nlines·[2J" || len(f.messages) > 0 {
		t.Errorf("the composer holds %q", got)
	}
}

func TestWindowTitlesEndWhereTheyShould(t *testing.T) {
	for title, want := range map[string]string{"A title": "A title", "日本": "Chatwright", "a\x1b]0;b\a": "a·]0;b·"} {
		if got := windowTitle(title); got != want {
			t.Errorf("%q: got %q, want %q", title, got, want)
		}
	}
}
