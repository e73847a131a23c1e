package session_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/session"
)

// Steering cuts off the answer, keeps what was said of it, and is the next thing that the model hears in the same turn.
func TestASteerIsHeardInTheSameTurn(t *testing.T) {
	begun := make(chan struct{})
	var heard []session.Message
	m := open(t, session.Config{Model: model(func(ctx context.Context, req session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
		if len(req.Messages) == 1 {
			result, err := stalls(begun)(ctx, req, emit)
			emit(session.Delta{Text: " of what was cut off"})
			return result, err
		}
		heard = req.Messages
		emit(session.Delta{Text: "Short."})
		return done(), nil
	})})
	s := m.create(t)
	wantCode(t, s.Steer("shorter"), protocol.CodeNoActiveTurn, "no turn is running")
	f := follow(s)
	turn := say(t, s, "tell me all")
	<-begun
	if err := s.Steer("shorter"); err != nil {
		t.Fatal(err)
	}
	if err := s.Steer("much shorter"); err != nil {
		t.Fatal(err)
	}
	end := payload[protocol.TurnCompleted](t, f.until(t, protocol.EventTurnCompleted))
	if end.TurnID != turn || end.Reason != protocol.TurnDone || end.Usage != nil {
		t.Errorf("got %+v, want the same turn done, its usage unknown", end)
	}
	var said []string
	for _, message := range heard {
		said = append(said, string(message.Role)+":"+message.Text)
	}
	if got, want := strings.Join(said, "|"), "user:tell me all|assistant:one moment|user:shorter\n\nmuch shorter"; got != want {
		t.Errorf("heard: got %q, want %q", got, want)
	}
	if got, want := kinds(f.seen[1:]), "turn.started message.delta turn.steered turn.steered message.delta turn.completed"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := payload[protocol.TurnSteered](t, lastOf(f.seen, protocol.EventTurnSteered)); got.Text != "much shorter" || got.TurnID != turn {
		t.Errorf("got %+v", got)
	}
}

func TestASteerThatRacesWithTheEndIsHeardOrRefused(t *testing.T) {
	var heard atomic.Int64
	m := open(t, session.Config{Model: model(func(_ context.Context, req session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
		var count int64
		for _, message := range req.Messages {
			count += int64(strings.Count(message.Text, "steer"))
		}
		heard.Store(count)
		emit(session.Delta{Text: "ok"})
		return done(), nil
	})})
	s := m.create(t)
	f := follow(s)
	var taken int64
	for range rounds(200) {
		say(t, s, "go")
		if s.Steer("steer") == nil {
			taken++
		}
		f.until(t, protocol.EventTurnCompleted)
		if got := heard.Load(); got != taken {
			t.Fatalf("%d steers were taken and %d heard", taken, got)
		}
	}
}

// The usage of a turn is the sum of its calls, as long as each of them says what it cost.
func TestUsageIsTheSumOfTheCallsOfATurn(t *testing.T) {
	for name, c := range map[string]struct {
		second *protocol.Usage
		want   string
	}{
		"each says":    {&protocol.Usage{InputTokens: 20, OutputTokens: 2, CacheReadTokens: new(int64(8))}, `{"input_tokens":30,"output_tokens":3,"cache_read_tokens":12}`},
		"one does not": {nil, "null"},
	} {
		t.Run(name, func(t *testing.T) {
			begun := make(chan struct{})
			m := open(t, session.Config{Model: model(func(ctx context.Context, req session.ModelRequest, _ func(session.Delta)) (session.ModelResult, error) {
				if len(req.Messages) == 1 && !strings.Contains(req.Messages[0].Text, "more") {
					begun <- struct{}{}
					<-ctx.Done() // and it was whole all the same
					return session.ModelResult{FinishReason: "stop", Usage: &protocol.Usage{InputTokens: 10, OutputTokens: 1, CacheReadTokens: new(int64(4))}}, nil
				}
				return session.ModelResult{FinishReason: "stop", Usage: c.second}, nil
			})})
			s := m.create(t)
			say(t, s, "hello")
			<-begun
			if err := s.Steer("more"); err != nil {
				t.Fatal(err)
			}
			end := payload[protocol.TurnCompleted](t, follow(s).until(t, protocol.EventTurnCompleted))
			got, err := json.Marshal(end.Usage)
			if err != nil || string(got) != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
