package plain_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/app/attach/plain"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

func event(t *testing.T, kind protocol.EventType, payload any) protocol.Event {
	t.Helper()
	data, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	return protocol.Event{Type: kind, Payload: data}
}

// aTalk has a turn that ends well, one that does not, and one that is steered.
func aTalk(t *testing.T) []protocol.Event {
	said := func(text string) protocol.Event {
		return event(t, protocol.EventTurnStarted, protocol.TurnStarted{TurnID: "a", Text: text})
	}
	delta := func(text string) protocol.Event {
		return event(t, protocol.EventMessageDelta, protocol.MessageDelta{TurnID: "a", Text: text})
	}
	end := func(r protocol.TurnReason) protocol.Event {
		return event(t, protocol.EventTurnCompleted, protocol.TurnCompleted{TurnID: "a", Reason: r})
	}
	return []protocol.Event{
		event(t, protocol.EventSessionResumed, protocol.SessionResumed{SourceID: "old"}),
		said("One?\nor two"), event(t, protocol.EventMessageReasoning, protocol.MessageDelta{TurnID: "a", Text: "Hm.\nOne."}),
		delta("On"), delta("e\x1b[2J\n"), end(protocol.TurnDone),
		event(t, protocol.EventSessionRenamed, protocol.SessionRenamed{Name: "Num\x07bers"}),
		said("Again"), event(t, protocol.EventSessionError, protocol.SessionError{TurnID: "a", Message: "it broke", Hint: "mend it"}), end(protocol.TurnError),
		said("More"), delta("It begi"), event(t, protocol.EventTurnSteered, protocol.TurnSteered{TurnID: "a", Text: "Shorter"}), delta("No"), end(protocol.TurnMaxTokens),
		{Type: "from.the.future", Payload: json.RawMessage(`{}`)}, {Type: protocol.EventMessageDelta, Payload: json.RawMessage(`[`)},
	}
}

func TestPrinter(t *testing.T) {
	var b strings.Builder
	p := plain.Printer{W: &b}
	for _, e := range aTalk(t) {
		if err := p.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	want := "[carries on old]\nYou: One?\nor two\nModel: One·[2J\n[named Num·bers]\nYou: Again\nError: it broke\nHint: mend it\n" +
		"You: More\nModel: It begi\nYou: Shorter\nModel: No\n[max tokens]\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	p = plain.Printer{W: &b, Thoughts: true}
	for _, e := range aTalk(t)[1:6] {
		_ = p.Apply(e)
	}
	if want := "You: One?\nor two\nThinking: Hm.\nOne.\nModel: One·[2J\n"; b.String() != want {
		t.Errorf("with thoughts: got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestMarkdown(t *testing.T) {
	var b strings.Builder
	m := plain.Markdown{W: &b, Session: protocol.Session{ID: "x", Title: "Num\nbers", Workspace: "/w", CreatedAt: time.Unix(0, 0)}}
	for _, e := range aTalk(t) {
		if err := m.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.End(); err != nil {
		t.Fatal(err)
	}
	want := "# Num bers\n\n- Session: x\n- Begun: 1970-01-01T00:00:00Z\n- Workspace: /w\n\n## You\n\nOne?\nor two\n\n" +
		"## Thoughts of the model\n\n> Hm.\n> One.\n\n## Model\n\nOne·[2J\n\n## You\n\nAgain\n\n## Error\n\nit broke\n\n" +
		"## You\n\nMore\n\n## Model\n\nIt begi\n\n## You\n\nShorter\n\n## Model\n\nNo\n\n*max tokens*\n\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestReplyIsTheAnswerOfOneTurnAndHowItEnded(t *testing.T) {
	for name, c := range map[string]struct {
		reason protocol.TurnReason
		failed string
		want   string // of the error; "": none
	}{
		"done":        {protocol.TurnDone, "", ""},
		"interrupted": {protocol.TurnInterrupted, "", plain.ErrInterrupted.Error()},
		"error":       {protocol.TurnError, "it broke", "it broke"},
		"no words":    {protocol.TurnError, "", "the turn ended: error"},
		"too long":    {protocol.TurnMaxTokens, "", "the answer was cut at the model's limit of tokens"},
		"new reason":  {"tired", "", "the turn ended: tired"},
	} {
		var b strings.Builder
		r := plain.Reply{W: &b, TurnID: "mine"}
		events := []protocol.Event{
			event(t, protocol.EventMessageDelta, protocol.MessageDelta{TurnID: "other", Text: "not this"}),
			event(t, protocol.EventTurnCompleted, protocol.TurnCompleted{TurnID: "other", Reason: protocol.TurnDone}),
			event(t, protocol.EventMessageDelta, protocol.MessageDelta{TurnID: "mine", Text: "th\x1bis"}),
		}
		if c.failed != "" {
			events = append(events, event(t, protocol.EventSessionError, protocol.SessionError{TurnID: "mine", Message: c.failed, Hint: "way"}))
		}
		for _, e := range events {
			if done, err := r.Apply(e); done || err != nil {
				t.Fatalf("%s: %s: done %v (%v)", name, e.Type, done, err)
			}
		}
		done, err := r.Apply(event(t, protocol.EventTurnCompleted, protocol.TurnCompleted{TurnID: "mine", Reason: c.reason}))
		if !done || (err == nil) != (c.want == "") || err != nil && err.Error() != c.want || b.String() != "th·is\n" {
			t.Errorf("%s: got %q, done %v, %v; want %q", name, b.String(), done, err, c.want)
		}
		if c.failed != "" && hint.Of(err) != "way" {
			t.Errorf("%s: the hint is %q", name, hint.Of(err))
		}
	}
}

func TestAReaderThatIsGoneEndsThePrinting(t *testing.T) {
	gone := errors.New("gone")
	r, w := io.Pipe()
	_ = r.CloseWithError(gone)
	p := plain.Printer{W: w}
	if err := p.Apply(aTalk(t)[1]); !errors.Is(err, gone) {
		t.Errorf("Printer: got %v", err)
	}
	m := plain.Markdown{W: w}
	if err := m.Apply(aTalk(t)[1]); !errors.Is(err, gone) {
		t.Errorf("Markdown: got %v", err)
	}
	reply := plain.Reply{W: w, TurnID: "a"}
	if _, err := reply.Apply(aTalk(t)[3]); !errors.Is(err, gone) {
		t.Errorf("Reply: got %v", err)
	}
}
