package session_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/timetest"
	"chatwright.dev/tray/server/session"
)

// sessions.md, Turns: deltas are batched, at most 20 a second.
func TestDeltasAreBatched(t *testing.T) {
	for name, c := range map[string]struct {
		piece session.Delta
		most  int
	}{
		"text":               {session.Delta{Text: "a"}, 202},
		"text and reasoning": {session.Delta{Text: "a", Reasoning: "b"}, 204},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := open(t, session.Config{Model: model(func(_ context.Context, _ session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
					for range 10_000 { // ten seconds of a thousand pieces
						emit(c.piece)
						timetest.Pause(time.Millisecond, "a thousand pieces a second, by the bubble's clock")
					}
					return done(), nil
				})})
				s := m.create(t)
				f := follow(s)
				began := time.Now()
				say(t, s, "hello")
				first := f.until(t, protocol.EventMessageDelta)
				if waited := first.At.Sub(began); waited != 0 {
					t.Errorf("the first piece waited %s", waited)
				}
				timetest.Pass(10 * time.Second)
				events := all(t, s.After)
				deltas := strings.Count(kinds(events), "message.")
				if deltas > c.most || deltas < c.most-10 {
					t.Errorf("got %d deltas in 10 s, want 20 a second", deltas)
				}
				if got := len(texts(t, events, protocol.EventMessageDelta)); got != 10_000 {
					t.Errorf("got %d letters, want all", got)
				}
				m.stop()
			})
		})
	}
}

// A piece that nothing follows does not wait for the end.
func TestTheLastPieceOfABurstComesSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := open(t, session.Config{Model: model(func(ctx context.Context, _ session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
			emit(session.Delta{Text: "first"})
			emit(session.Delta{Text: " and last"})
			<-ctx.Done()
			return session.ModelResult{}, ctx.Err()
		})})
		s := m.create(t)
		say(t, s, "hello")
		timetest.Pass(60 * time.Millisecond)
		if got := texts(t, all(t, s.After), protocol.EventMessageDelta); got != "first and last" {
			t.Errorf("after 60 ms: got %q", got)
		}
		m.stop()
	})
}

// However much comes at once, no event is larger than what clients take.
func TestAVeryLongPieceBecomesSeveralEvents(t *testing.T) {
	long := strings.Repeat("é€𝔘", 100_000) // 900 KB, cut at odd places
	m := open(t, session.Config{Model: says(long)})
	s := m.create(t)
	f := follow(s)
	say(t, s, "hello")
	f.until(t, protocol.EventTurnCompleted)
	if got := texts(t, f.seen, protocol.EventMessageDelta); got != long {
		t.Errorf("got %d bytes, want %d", len(got), len(long))
	}
	for _, e := range f.seen {
		if len(e.Payload) > 300<<10 {
			t.Errorf("an event has %d bytes", len(e.Payload))
		}
	}
	again, err := m.Create(protocol.CreateSessionRequest{Resume: s.ID()})
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(t, all(t, again.After), protocol.EventMessageDelta); got != long {
		t.Errorf("resumed: got %d bytes, want %d", len(got), len(long))
	}
}
