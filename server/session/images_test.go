package session_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/session"
)

// Images are kept beside the record, so that no follower is sent megabytes, and reach the model in every later turn.
func TestImagesReachTheModelAndNotTheFollowers(t *testing.T) {
	data := []byte("\x89PNG\r\n\x1a\n" + strings.Repeat("picture", 100_000))
	var heard [][]session.Message
	m := open(t, session.Config{Model: model(func(_ context.Context, req session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
		heard = append(heard, req.Messages)
		emit(session.Delta{Text: "A cart"})
		return done(), nil
	})})
	s := m.create(t)
	f := follow(s)
	if _, err := s.StartTurn(protocol.TurnRequest{Images: []protocol.Image{{MediaType: "image/png", Data: data}}}); err != nil {
		t.Fatal(err)
	}
	started := f.until(t, protocol.EventTurnStarted)
	if ref := payload[protocol.TurnStarted](t, started).Images; len(ref) != 1 || ref[0].Bytes != int64(len(data)) || len(started.Payload) > 300 {
		t.Errorf("the event: got %s", started.Payload)
	}
	f.until(t, protocol.EventTurnCompleted)
	say(t, s, "and now?")
	f.until(t, protocol.EventTurnCompleted)
	if len(heard) != 2 {
		t.Errorf("the model heard %d turns, want 2", len(heard))
	}
	for i, messages := range heard {
		if images := messages[0].Images; len(images) != 1 || string(images[0].Data) != string(data) {
			t.Errorf("turn %d: the model did not see the picture", i+1)
		}
	}
	folder := filepath.Join(m.dir, s.ID()+".images")
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of images: got %v, %v, want 0700", info, err)
	}
	if err := m.Delete(t.Context(), s.ID(), true); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(m.dir); len(left) != 0 {
		t.Errorf("after a purge: got %v, want nothing left", left)
	}
}

// A record that somebody wrote into, or pictures that somebody removed, cost the pictures and not the session.
func TestAConversationThatLostItsPicturesGoesOn(t *testing.T) {
	var heard []session.Message
	m := open(t, session.Config{Model: model(func(_ context.Context, req session.ModelRequest, _ func(session.Delta)) (session.ModelResult, error) {
		heard = req.Messages
		return done(), nil
	})})
	s := m.create(t)
	f := follow(s)
	if _, err := s.StartTurn(protocol.TurnRequest{Text: "see", Images: []protocol.Image{{MediaType: "image/png", Data: []byte("\x89PNG")}}}); err != nil {
		t.Fatal(err)
	}
	f.until(t, protocol.EventTurnCompleted)
	pictures, err := filepath.Glob(filepath.Join(m.dir, "*.images", "*"))
	if err != nil || len(pictures) != 1 {
		t.Fatalf("got %v, %v, want one picture", pictures, err)
	}
	if err := os.WriteFile(pictures[0], []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	resumed, err := m.Create(protocol.CreateSessionRequest{Resume: s.ID()})
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []*session.Session{s, resumed} {
		waitFor(t, of, say(t, of, "and now?"))
		if len(heard[0].Images) != 0 || !strings.Contains(heard[0].Text, "a picture here, which cannot be read") {
			t.Errorf("heard: got %+v", heard[0])
		}
	}
}

func TestARecordNamesNoFileOutside(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	var heard []session.Message
	dir := t.TempDir()
	record := line(1, "session.created", `{"workspace":"`+dir+`","sandbox_mode":"read-only"}`) +
		line(2, "turn.started", `{"turn_id":"t2","text":"see","images":[{"media_type":"image/png","sha256":"../../`+filepath.Base(filepath.Dir(outside))+`/secret","bytes":6}]}`) +
		line(3, "turn.completed", `{"turn_id":"t2","reason":"done"}`)
	if err := os.WriteFile(filepath.Join(dir, recordID+".jsonl"), []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	m := open(t, session.Config{Dir: dir, Model: model(func(_ context.Context, req session.ModelRequest, _ func(session.Delta)) (session.ModelResult, error) {
		heard = req.Messages
		return done(), nil
	})})
	s, err := m.Create(protocol.CreateSessionRequest{Resume: recordID})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, s, say(t, s, "well?"))
	if len(heard[0].Images) != 0 {
		t.Errorf("the model was shown %q", heard[0].Images[0].Data)
	}
}

// A purge that was cut short leaves nothing for ever.
func TestImagesWithoutARecordGo(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{recordID + ".images", "something else.images", "notes"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	open(t, session.Config{Dir: dir})
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("got %v, %v, want only what is not ours", left, err)
	}
}
