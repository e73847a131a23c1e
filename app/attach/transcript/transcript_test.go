package transcript_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"chatwright.dev/tray/app/attach/markdown"
	"chatwright.dev/tray/app/attach/transcript"
	"chatwright.dev/tray/server/protocol"
)

var view = transcript.View{Page: markdown.Page{Columns: 60, Method: ansi.GraphemeWidth}}

type story struct {
	t   *testing.T
	tr  transcript.Transcript
	now time.Time
}

func (s *story) tell(kind protocol.EventType, payload any) {
	s.t.Helper()
	data, err := json.Marshal(payload)
	if err != nil {
		s.t.Fatal(err)
	}
	s.tr.Apply(protocol.Event{Seq: s.tr.LastSeq + 1, Type: kind, At: s.now, Payload: data})
}

// text is the whole transcript as rows with their marks.
func (s *story) text() string {
	var b strings.Builder
	for _, row := range s.tr.Window(transcript.Place{}, 1_000_000, view) {
		b.WriteString(strings.TrimRight(row.Mark+row.Line.String(), " ") + "\n")
	}
	return b.String()
}

func TestDeltasBecomeOneEntryAndThoughtsAnother(t *testing.T) {
	s := &story{t: t}
	s.tell(protocol.EventTurnStarted, protocol.TurnStarted{TurnID: "t", Text: "Why?", Images: []protocol.ImageRef{{}}})
	s.tell(protocol.EventMessageReasoning, protocol.MessageDelta{TurnID: "t", Text: "Well"})
	s.tell(protocol.EventMessageReasoning, protocol.MessageDelta{TurnID: "t", Text: ", "})
	s.tell(protocol.EventMessageDelta, protocol.MessageDelta{TurnID: "t", Text: "Be"})
	if !s.tr.Running() {
		t.Error("no turn runs")
	}
	s.tell(protocol.EventMessageDelta, protocol.MessageDelta{TurnID: "t", Text: "cause."})
	s.tell(protocol.EventTurnSteered, protocol.TurnSteered{TurnID: "t", Text: "Really?"})
	s.tell(protocol.EventMessageDelta, protocol.MessageDelta{TurnID: "t", Text: "Yes."})
	s.tell(protocol.EventTurnCompleted, protocol.TurnCompleted{TurnID: "t", Reason: protocol.TurnDone})
	want := "› Why?\n  [image]\n\n▾ Thought, 1 word\n  Well,\n\n  Because.\n\n› Really?\n\n  Yes.\n\n"
	if got := s.text(); got != want || s.tr.Running() {
		t.Errorf("running %v, got\n%s\nwant\n%s", s.tr.Running(), got, want)
	}
}

func TestTitles(t *testing.T) {
	s := &story{t: t}
	s.tell(protocol.EventTurnStarted, protocol.TurnStarted{Text: "  First line\nsecond"})
	if s.tr.Title != "First line" {
		t.Errorf("derived: %q", s.tr.Title)
	}
	s.tell(protocol.EventSessionRenamed, protocol.SessionRenamed{Name: "Na\x1bme"})
	if s.tr.Title != "Na·me" {
		t.Errorf("named: %q", s.tr.Title)
	}
	s.tell(protocol.EventSessionRenamed, protocol.SessionRenamed{})
	if s.tr.Title != "First line" {
		t.Errorf("no name any more: %q", s.tr.Title)
	}
}

func TestTokensAreSummedAndUnknownIsNotZero(t *testing.T) {
	s := &story{t: t, now: time.Unix(100, 0)}
	turn := func(u *protocol.Usage) {
		s.tell(protocol.EventTurnStarted, protocol.TurnStarted{TurnID: "t"})
		s.tell(protocol.EventMessageDelta, protocol.MessageDelta{TurnID: "t", Text: "x"})
		s.now = s.now.Add(2 * time.Second)
		s.tell(protocol.EventTurnCompleted, protocol.TurnCompleted{TurnID: "t", Reason: protocol.TurnDone, Usage: u})
	}
	turn(nil)
	if s.tr.Tokens.Known || s.tr.Rate.PerSecond != 0 {
		t.Errorf("without usage: %+v, %v", s.tr.Tokens, s.tr.Rate.PerSecond)
	}
	turn(&protocol.Usage{InputTokens: 10, OutputTokens: 100})
	turn(&protocol.Usage{InputTokens: 5, OutputTokens: 60})
	if want := (transcript.Tokens{Known: true, In: 15, Out: 160}); s.tr.Tokens != want || s.tr.Rate.PerSecond != 30 {
		t.Errorf("got %+v, %v tokens a second; want %+v, 30", s.tr.Tokens, s.tr.Rate.PerSecond, want)
	}
}

func TestHowATurnEndedIsSaid(t *testing.T) {
	for reason, want := range map[protocol.TurnReason]string{
		protocol.TurnInterrupted: "Interrupted.", protocol.TurnMaxTokens: "limit of tokens", protocol.TurnIncomplete: "before the model said",
		protocol.TurnRepeatLoop: "by itself", "new": "The turn ended: new.",
	} {
		s := &story{t: t}
		s.tell(protocol.EventTurnCompleted, protocol.TurnCompleted{Reason: reason})
		if got := s.text(); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q in it", reason, got, want)
		}
	}
}

func TestWhatIsNotKnownOrBrokenHidesNothing(t *testing.T) {
	s := &story{t: t}
	s.tell("from.the.future", map[string]int{"x": 1})
	s.tr.Apply(protocol.Event{Seq: 2, Type: protocol.EventMessageDelta, Payload: json.RawMessage(`{"text":`)})
	s.tell(protocol.EventMessageDelta, protocol.MessageDelta{Text: "there"})
	if got := s.text(); got != "  there\n\n" || s.tr.LastSeq != 3 {
		t.Errorf("got %q at %d", got, s.tr.LastSeq)
	}
}

// Moving is the same as reading: whatever the steps, the rows come in their order, and none twice.
func TestMovingByAnyStepsShowsTheSameRows(t *testing.T) {
	s := &story{t: t}
	for i := range 30 {
		s.tell(protocol.EventTurnStarted, protocol.TurnStarted{Text: fmt.Sprint("question ", i)})
		s.tell(protocol.EventMessageDelta, protocol.MessageDelta{Text: strings.Repeat(fmt.Sprintf("p%d\n\n", i), i%5)})
	}
	all := s.tr.Window(transcript.Place{}, 10_000, view)
	for _, step := range []int{1, 2, 3, 7, 50} {
		at := transcript.Place{}
		for n := 0; n < len(all); n += step {
			if at != all[n].At {
				t.Fatalf("steps of %d: row %d is at %v, want %v", step, n, at, all[n].At)
			}
			at = s.tr.Move(at, step, view)
		}
		for n := (len(all) - 1) / step * step; n >= 0; n -= step {
			if at = s.tr.Move(all[n].At, 0, view); at != all[n].At {
				t.Fatalf("moving nowhere from %v comes to %v", all[n].At, at)
			}
			if up := s.tr.Move(at, -step, view); n >= step && up != all[n-step].At {
				t.Fatalf("steps of -%d: from %v to %v, want %v", step, at, up, all[n-step].At)
			}
		}
	}
	if got := s.tr.Move(transcript.Place{}, -5, view); got != (transcript.Place{}) {
		t.Errorf("above the first row: %v", got)
	}
}

func TestTheOldestIsLetGoWhenItBecomesTooMuch(t *testing.T) {
	s := &story{t: t}
	megabyte := strings.Repeat("x", 1<<20)
	for i := range 10 {
		s.tell(protocol.EventTurnStarted, protocol.TurnStarted{Text: fmt.Sprint(i, " ", megabyte)})
	}
	if s.tr.Dropped() < 2 || s.tr.Len() < 5 {
		t.Errorf("%d entries were let go, %d are left", s.tr.Dropped(), s.tr.Len())
	}
	s.tell(protocol.EventTurnStarted, protocol.TurnStarted{Text: "the last"})
	at, ok := s.tr.Find("LAST", transcript.Place{Entry: s.tr.Dropped() + s.tr.Len()}, true, view)
	if !ok || at.Entry != 10 {
		t.Errorf("the last entry is at %v (%v), want 10", at, ok)
	}
}
