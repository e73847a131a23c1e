//go:build unix

package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/control"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/session"
	"chatwright.dev/tray/server/watch"
)

// talker answers with a word every few milliseconds, until it is interrupted or has said them all.
type talker struct{ words int }

func (m talker) Stream(ctx context.Context, _ session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
	for range m.words {
		emit(session.Delta{Text: "word "})
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return session.ModelResult{}, ctx.Err()
		}
	}
	return session.ModelResult{FinishReason: "stop"}, nil
}

// realDaemon is the control socket over a folder of records, until stop or the end of the test.
func realDaemon(t *testing.T, socket, dir string, m session.Model) (stop func()) {
	t.Helper()
	manager, err := session.Open(session.Config{Dir: dir, Model: m})
	if err != nil {
		t.Fatal(err)
	}
	server := control.New(control.Config{SocketPath: socket, Status: watch.New(protocol.Status{}), Manager: manager})
	if err := server.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- server.Serve(ctx) }()
	go func() { ended <- manager.Run(ctx) }()
	stopped := false
	stop = func() {
		if cancel(); !stopped {
			stopped = true
			if err := errors.Join(<-ended, <-ended); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(stop)
	return stop
}

// A client that follows a session through the end of its daemon in the middle of a turn sees every event once, the end
// of the turn among them, and learns that the session has ended.
func TestAFollowerOfARealDaemonOutlivesIt(t *testing.T) {
	socket, dir := socketPath(t), t.TempDir()
	stop := realDaemon(t, socket, dir, talker{1_000_000})
	c := client.New(socket)
	made, err := c.CreateSession(t.Context(), protocol.CreateSessionRequest{Workspace: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.StartTurn(t.Context(), made.ID, protocol.TurnRequest{Text: "talk", SubmissionID: "one"}); err != nil {
		t.Fatal(err)
	}
	talking := make(chan struct{})
	var events []protocol.Event
	done := make(chan error, 1)
	go func() {
		done <- c.Follow(t.Context(), made.ID, 0, client.Follower{Event: func(e protocol.Event) error {
			if events = append(events, e); len(events) == 6 {
				close(talking)
			}
			return nil
		}})
	}()
	<-talking
	stop()
	realDaemon(t, socket, dir, talker{1})
	if err := <-done; err != nil {
		t.Fatalf("the end: got %v", err)
	}
	for i, e := range events {
		if e.Seq != uint64(i+1) {
			t.Fatalf("event %d: got %d", i+1, e.Seq)
		}
	}
	if end := events[len(events)-1]; end.Type != protocol.EventTurnCompleted || !strings.Contains(string(end.Payload), "interrupted") {
		t.Errorf("the last event: got %s %s", end.Type, end.Payload)
	}
	again, err := c.CreateSession(t.Context(), protocol.CreateSessionRequest{Resume: made.ID})
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	if _, err := c.StartTurn(t.Context(), again.ID, protocol.TurnRequest{Text: "go on"}); err != nil {
		t.Fatal(err)
	}
	ends := 0
	err = c.Follow(t.Context(), again.ID, 0, client.Follower{Event: func(e protocol.Event) error {
		if e.Type == protocol.EventTurnCompleted {
			ends++
		}
		if ends == 2 {
			return enough
		}
		return nil
	}})
	if err != enough {
		t.Errorf("the resumed one: got %v", err)
	}
}
