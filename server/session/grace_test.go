package session_test

import (
	"context"
	"testing"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/session"
)

// A turn that runs when the daemon ends has the grace, and is recorded whole when it makes use of it.
func TestTurnsHaveTheGraceAndNoneBeginsInIt(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	m := open(t, session.Config{Grace: time.Hour, Model: model(
		func(ctx context.Context, _ session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
			begun <- struct{}{}
			select {
			case <-goOn:
				emit(session.Delta{Text: "whole"})
				return done(), nil
			case <-ctx.Done():
				return session.ModelResult{}, ctx.Err()
			}
		})})
	s, other := m.create(t), m.create(t)
	say(t, s, "hello")
	<-begun
	stopped := make(chan struct{})
	go func() { defer close(stopped); m.stop() }()
	for { // the end has begun once no turn begins any more
		turn, err := other.StartTurn(protocol.TurnRequest{Text: "late"})
		if err != nil {
			wantCode(t, err, protocol.CodeConflict, "ending")
			break
		}
		<-begun // it was in time
		other.Interrupt()
		follow(other).until(t, protocol.EventTurnCompleted)
		_ = turn
		if other = m.create(t); t.Failed() {
			return
		}
	}
	close(goOn)
	<-stopped
	events := all(t, s.After)
	if end := payload[protocol.TurnCompleted](t, events[len(events)-1]); end.Reason != protocol.TurnDone {
		t.Errorf("got %s, want done", end.Reason)
	}
}

func TestAbortCutsTheGrace(t *testing.T) {
	begun, abort := make(chan struct{}), make(chan struct{})
	m := open(t, session.Config{Grace: time.Hour, Abort: abort, Model: stalls(begun)})
	s := m.create(t)
	say(t, s, "hello")
	<-begun
	close(abort)
	m.stop()
	events := all(t, s.After)
	if end := payload[protocol.TurnCompleted](t, events[len(events)-1]); end.Reason != protocol.TurnInterrupted {
		t.Errorf("got %s, want interrupted", end.Reason)
	}
}
