package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/server/cassette"
	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/protocol"
)

// tellingModel streams two words, and the usage where it is asked for it, as OpenAI does.
func tellingModel(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, word := range []string{"Hello ", "again"} {
			_, _ = io.WriteString(w, sse(`{"model":"m","choices":[{"index":0,"delta":{"content":"`+word+`"}}]}`))
		}
		if bytes.Contains(body, []byte(`"include_usage":true`)) {
			_, _ = io.WriteString(w, sse(`{"model":"m","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}`))
		}
		_, _ = io.WriteString(w, sse("[DONE]"))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// A recording is of what the caller said and got: made with --meter-usage it answers without, and the reverse. What a
// replay does not see, it does not know.
func TestRecordingsAreTheSameWithAndWithoutMeterUsage(t *testing.T) {
	const plain = `{"model":"m","stream":true}`
	const asking = `{"model":"m","stream":true,"stream_options":{"include_usage":true}}`
	model := tellingModel(t)
	var first map[string]string
	for _, recorded := range []string{"true", "false"} {
		folder := filepath.Join(t.TempDir(), "cassettes")
		l := live(t, func(c *Config) {
			c.Settings = settingsWith(t, "upstream="+model, "record="+folder, "meter-usage="+recorded)
		})
		got := map[string]string{}
		for _, body := range []string{plain, asking} {
			_, got[body] = l.ask(body)
		}
		if first == nil {
			first = got
		}
		if got[plain] != first[plain] || got[asking] != first[asking] || strings.Contains(got[plain], "usage") {
			t.Fatalf("meter-usage %s: the callers got %q", recorded, got)
		}
		l.end()
		if err := <-l.ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		l.ended <- nil
		for _, replayed := range []string{"true", "false"} {
			l := live(t, func(c *Config) { c.Settings = settingsWith(t, "replay="+folder, "meter-usage="+replayed) })
			for body, known := range map[string]bool{plain: false, asking: true} {
				if status, answer := l.ask(body); status != 200 || answer != got[body] {
					t.Errorf("recorded with %s, replayed with %s: got %d %s, want %s", recorded, replayed, status, answer, got[body])
				}
				l.awaitStatus("the call in the books", func(s protocol.Status) bool {
					return len(s.Metrics.Recent) > 0 && s.Metrics.Recent[0].UsageKnown == known
				})
			}
		}
	}
}

// say runs a turn in a new session and returns its events.
func (l *living) say(model, text string) (events []protocol.Event) {
	l.t.Helper()
	c := l.client()
	s, err := c.CreateSession(l.t.Context(), protocol.CreateSessionRequest{Workspace: l.t.TempDir(), Model: model})
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := c.StartTurn(l.t.Context(), s.ID, protocol.TurnRequest{Text: text}); err != nil {
		l.t.Fatal(err)
	}
	done := errors.New("the turn is over")
	err = c.Follow(l.t.Context(), s.ID, 0, client.Follower{Event: func(e protocol.Event) error {
		events = append(events, e)
		if e.Type == protocol.EventTurnCompleted {
			return done
		}
		return nil
	}})
	if !errors.Is(err, done) {
		l.t.Fatal(err)
	}
	return events
}

// toldBy is what the events of a turn tell: what was said, how it ended, and the payload of the error, if any.
func toldBy(t *testing.T, events []protocol.Event) (text string, end protocol.TurnCompleted, failure string) {
	t.Helper()
	for _, e := range events {
		switch e.Type {
		case protocol.EventMessageDelta:
			var d protocol.MessageDelta
			if err := json.Unmarshal(e.Payload, &d); err != nil {
				t.Fatal(err)
			}
			text += d.Text
		case protocol.EventTurnCompleted:
			if err := json.Unmarshal(e.Payload, &end); err != nil {
				t.Fatal(err)
			}
		case protocol.EventSessionError:
			failure = string(e.Payload)
		}
	}
	return text, end, failure
}

// A turn of a session is answered from its recording, with no model server, and one that nobody recorded ends with the
// nearest and what differs.
func TestTurnsAreAnsweredFromRecordings(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "cassettes")
	model := tellingModel(t)
	l := live(t, func(c *Config) { c.Settings = settingsWith(t, "upstream="+model, "record="+folder) })
	text, end, failure := toldBy(t, l.say("m", "hello"))
	if text != "Hello again" || end.Reason != protocol.TurnDone || end.Usage == nil || failure != "" {
		t.Fatalf("while it was recorded: %q, %+v, %s", text, end, failure)
	}
	l.end()
	if err := <-l.ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	l.ended <- nil
	tapes, err := cassette.Load(folder)
	if err != nil || len(tapes) != 1 {
		t.Fatalf("%d recordings, %v; want the turn's", len(tapes), err)
	}
	if bytes.Contains(tapes[0].Tape.Request.Body, []byte("stream_options")) {
		t.Errorf("what the engine adds was recorded: %s", tapes[0].Tape.Request.Body)
	}

	l = replaying(t, folder, "0")
	text, end, failure = toldBy(t, l.say("m", "hello"))
	if text != "Hello again" || end.Reason != protocol.TurnDone || failure != "" || end.Usage == nil || *end.Usage != (protocol.Usage{InputTokens: 7, OutputTokens: 2}) {
		t.Errorf("replayed: %q, %+v, %s", text, end, failure)
	}
	if call := l.lastCall(); call.Upstream != "Replay of cassettes" || !call.UsageKnown || call.Verdict != protocol.VerdictComplete {
		t.Errorf("in the books as %+v", call)
	}

	text, end, failure = toldBy(t, l.say("m", "hullo"))
	if text != "" || end.Reason != protocol.TurnError {
		t.Errorf("missed: %q, %+v", text, end)
	}
	for _, want := range []string{"no recording answers this request", tapes[0].Name, `here \"hullo\"`, "record what is missing: chatwright-tray --record FOLDER"} {
		if !strings.Contains(failure, want) {
			t.Errorf("the error lacks %q: %s", want, failure)
		}
	}
}
