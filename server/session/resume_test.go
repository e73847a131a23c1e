package session_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/session"
)

// sessions.md, Records: resuming makes a new session whose log opens with session.resumed and carries the old
// conversation.
func TestResumingMakesANewSessionThatCarriesTheConversation(t *testing.T) {
	picture := protocol.Image{MediaType: "image/png", Data: []byte("\x89PNG")}
	var heard []session.Message
	remember := model(func(_ context.Context, req session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
		heard = req.Messages
		emit(session.Delta{Reasoning: "hm", Text: "It is "})
		emit(session.Delta{Text: "a cart"})
		return done(), nil
	})
	m := open(t, session.Config{Model: remember})
	old, err := m.Create(protocol.CreateSessionRequest{Workspace: m.dir, Model: "llama3.2", Upstream: "work", SandboxMode: "workspace-write"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.StartTurn(protocol.TurnRequest{Text: "what is it?", Images: []protocol.Image{picture}, SubmissionID: "one"}); err != nil {
		t.Fatal(err)
	}
	f := follow(old)
	f.until(t, protocol.EventTurnCompleted)
	say(t, old, "sure?")
	f.until(t, protocol.EventTurnCompleted)
	if err := old.Rename("the cart"); err != nil {
		t.Fatal(err)
	}
	before := m.record(t, old.ID())
	m.stop()

	m = open(t, session.Config{Dir: m.dir, Model: remember})
	s, err := m.Create(protocol.CreateSessionRequest{Resume: old.ID()})
	if err != nil {
		t.Fatal(err)
	}
	if s.ID() == old.ID() || !equal(m.record(t, old.ID()), before) {
		t.Error("the old session did not stay as it was")
	}
	events := all(t, s.After)
	wantContiguous(t, events, 1)
	opening := payload[protocol.SessionResumed](t, events[0])
	if events[0].Type != protocol.EventSessionResumed || opening.SourceID != old.ID() || opening.Turns != 2 || !opening.StartedAt.Equal(old.Info().CreatedAt) {
		t.Errorf("the opening: got %s %+v", events[0].Type, opening)
	}
	want := "session.resumed turn.started message.delta turn.completed turn.started message.delta turn.completed session.renamed"
	if got := kinds(events); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := texts(t, events[:4], protocol.EventMessageDelta); got != "It is a cart" {
		t.Errorf("the first answer: got %q", got)
	}
	for i, e := range events {
		if e.SessionID != s.ID() || strings.Contains(string(e.Payload), "submission") {
			t.Errorf("event %d: got %s of %s", i+1, e.Payload, e.SessionID)
		}
	}
	info := s.Info()
	if info.Title != "the cart" || info.Model != "llama3.2" || info.Upstream != "work" || info.SandboxMode != "workspace-write" || info.Workspace != m.dir {
		t.Errorf("got %+v, want what the old one had", info)
	}
	// The old one may go: what it said is carried, its pictures too.
	if err := m.Delete(t.Context(), old.ID(), true); err != nil {
		t.Fatal(err)
	}
	turn := say(t, s, "and now?")
	waitFor(t, s, turn)
	var said []string
	for _, message := range heard {
		said = append(said, string(message.Role)+":"+message.Text)
	}
	if got, want := strings.Join(said, "|"), "user:what is it?|assistant:It is a cart|user:sure?|assistant:It is a cart|user:and now?"; got != want {
		t.Errorf("heard: got %q, want %q", got, want)
	}
	if len(heard) == 0 || len(heard[0].Images) != 1 || string(heard[0].Images[0].Data) != string(picture.Data) {
		t.Error("the picture was not carried")
	}
	_, err = m.Create(protocol.CreateSessionRequest{Resume: old.ID()})
	wantCode(t, err, protocol.CodeSessionNotFound, "no such session")
}

// waitFor waits for the end of this turn.
func waitFor(t *testing.T, s *session.Session, turn string) {
	t.Helper()
	for f := follow(s); ; {
		if payload[protocol.TurnCompleted](t, f.until(t, protocol.EventTurnCompleted)).TurnID == turn {
			return
		}
	}
}

func TestWhatIsResumedMayBeAnotherModelAndAnotherWorkspace(t *testing.T) {
	m := open(t, session.Config{})
	old, err := m.Create(protocol.CreateSessionRequest{Workspace: m.dir, Model: "a", Upstream: "work"})
	if err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	for req, want := range map[protocol.CreateSessionRequest][3]string{
		{}:                             {m.dir, "a", "work"},
		{Model: "b"}:                   {m.dir, "b", "work"},
		{Upstream: "home"}:             {m.dir, "", "home"}, // whose models are others
		{Workspace: other}:             {other, "a", "work"},
		{Upstream: "home", Model: "c"}: {m.dir, "c", "home"},
	} {
		req.Resume = old.ID()
		s, err := m.Create(req)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Info(); [3]string{got.Workspace, got.Model, got.Upstream} != want {
			t.Errorf("%+v: got %+v, want %v", req, got, want)
		}
	}
}

// A turn that had no end in the old record has one in the new.
func TestResumingASessionThatWasCutOff(t *testing.T) {
	begun := make(chan struct{})
	m := open(t, session.Config{Model: stalls(begun)})
	s := m.create(t)
	say(t, s, "hello")
	<-begun
	_, err := m.Create(protocol.CreateSessionRequest{Resume: s.ID()})
	wantCode(t, err, protocol.CodeTurnActive, "running")
	if err := s.Steer("go on"); err != nil {
		t.Fatal(err)
	}
	<-begun
	s.Interrupt()
	follow(s).until(t, protocol.EventTurnCompleted)
	again, err := m.Create(protocol.CreateSessionRequest{Resume: s.ID()})
	if err != nil {
		t.Fatal(err)
	}
	events := all(t, again.After)
	if got, want := kinds(events), "session.resumed turn.started message.delta turn.steered message.delta turn.completed"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, e := range events[1:] {
		if !strings.Contains(string(e.Payload), `"turn_id":"t2"`) {
			t.Errorf("event %d belongs to another turn: %s", e.Seq, e.Payload)
		}
	}
}

// The folder of an old session may be gone by now. Its conversation is not: it says where else it can go on.
func TestResumingWhereTheWorkspaceIsGoneNamesAWayOut(t *testing.T) {
	m := open(t, session.Config{})
	folder := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	old, err := m.Create(protocol.CreateSessionRequest{Workspace: folder})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	_, err = m.Create(protocol.CreateSessionRequest{Resume: old.ID()})
	wantCode(t, err, protocol.CodeWorkspace, "gone")
	if way := hint.Of(err); !strings.Contains(way, "session new FOLDER --resume "+old.ID()) {
		t.Errorf("the way out: got %q", way)
	}
	if _, err := m.Create(protocol.CreateSessionRequest{Resume: old.ID(), Workspace: t.TempDir()}); err != nil {
		t.Errorf("in another folder: %v", err)
	}
}
