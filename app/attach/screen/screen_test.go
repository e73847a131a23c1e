package screen_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"chatwright.dev/tray/app/attach/screen"
	"chatwright.dev/tray/app/attach/transcript"
	"chatwright.dev/tray/server/protocol"
)

var update = flag.Bool("update", false, "write the golden files anew")

var begun = time.Date(2026, 11, 30, 15, 43, 53, 0, time.UTC)

// A story is a session as its events tell it.
type story struct {
	t   *testing.T
	tr  *transcript.Transcript
	now time.Time
}

func newStory(t *testing.T) *story {
	s := &story{t: t, tr: &transcript.Transcript{SessionID: "0mbq3c-7f4k2p"}, now: begun}
	s.tell(protocol.EventSessionCreated, protocol.SessionCreated{Workspace: "/home/ada/bots/pizza", Model: "llama3.2"})
	return s
}

func (s *story) tell(kind protocol.EventType, payload any) {
	s.t.Helper()
	data, err := json.Marshal(payload)
	if err != nil {
		s.t.Fatal(err)
	}
	s.tr.Apply(protocol.Event{Seq: s.tr.LastSeq + 1, Type: kind, At: s.now, Payload: data})
	s.now = s.now.Add(time.Second)
}

func (s *story) say(text string) {
	s.t.Helper()
	s.tell(protocol.EventTurnStarted, protocol.TurnStarted{TurnID: "t", Text: text})
}

func (s *story) answer(text string) {
	s.t.Helper()
	s.tell(protocol.EventMessageDelta, protocol.MessageDelta{TurnID: "t", Text: text})
}

func (s *story) think(text string) {
	s.t.Helper()
	s.tell(protocol.EventMessageReasoning, protocol.MessageDelta{TurnID: "t", Text: text})
}

func (s *story) end(reason protocol.TurnReason) {
	s.t.Helper()
	s.tell(protocol.EventTurnCompleted, protocol.TurnCompleted{TurnID: "t", Reason: reason, Model: "llama3.2:3b",
		Usage: &protocol.Usage{InputTokens: 1200, OutputTokens: 76}})
}

// aConversation has all that there is in one.
func aConversation(t *testing.T) *story {
	s := newStory(t)
	s.say("How do I test that the bot\nreally stored the order?")
	s.think("The user wants to check a database.\n\nChatwright has data-state assertions.")
	s.answer("With a **data-state assertion**: ask the database for the row.\n\n```sql\nSELECT state FROM orders\n```\n\n- it is `read only`\n- 日本語 and 👩‍🚀 are as wide as they are\n")
	s.end(protocol.TurnDone)
	s.say("And if nothing is there?")
	s.answer("\x1b[31mThen\x1b[0m it fails")
	s.end(protocol.TurnInterrupted)
	s.say("Again")
	s.tell(protocol.EventSessionError, protocol.SessionError{TurnID: "t", Message: "the model server answered 500", Hint: "look into its log"})
	s.tell(protocol.EventTurnCompleted, protocol.TurnCompleted{TurnID: "t", Reason: protocol.TurnError})
	return s
}

func stateOf(s *story, columns, rows int) *screen.State {
	return &screen.State{Columns: columns, Rows: rows, Method: ansi.GraphemeWidth, Dark: true, Transcript: s.tr, Fold: true,
		Link: screen.Connected}
}

// plain is a frame as text; the place of the cursor is shown below it.
func plain(f screen.Frame) string {
	var b strings.Builder
	for _, row := range f.Rows {
		b.WriteString(strings.TrimRight(ansi.Strip(row), " ") + "\n")
	}
	fmt.Fprintf(&b, "[cursor %d,%d] [title %s]\n", f.X, f.Y, f.Title)
	return b.String()
}

func mustBe(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".frame")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

func TestFrames(t *testing.T) {
	for name, draw := range map[string]func(t *testing.T) *screen.State{
		"empty":        func(t *testing.T) *screen.State { return stateOf(newStory(t), 80, 16) },
		"conversation": func(t *testing.T) *screen.State { return stateOf(aConversation(t), 80, 32) },
		"narrow":       func(t *testing.T) *screen.State { return stateOf(aConversation(t), 40, 40) },
		"low":          func(t *testing.T) *screen.State { return stateOf(aConversation(t), 60, 5) },
		"tiny":         func(t *testing.T) *screen.State { return stateOf(aConversation(t), 4, 3) },
		"thoughts": func(t *testing.T) *screen.State {
			s := stateOf(aConversation(t), 60, 34)
			s.Fold = false
			return s
		},
		"answering": func(t *testing.T) *screen.State {
			s := newStory(t)
			s.say("Count")
			s.answer("one, two,")
			return stateOf(s, 60, 12)
		},
		"thinking": func(t *testing.T) *screen.State {
			s := newStory(t)
			s.say("Count")
			s.think("Should I?")
			return stateOf(s, 60, 12)
		},
		"scrolled": func(t *testing.T) *screen.State {
			s := stateOf(aConversation(t), 60, 14)
			s.Page(false)
			return s
		},
		"found": func(t *testing.T) *screen.State {
			s := stateOf(aConversation(t), 80, 16)
			s.Search.Text = "ASSERTION"
			s.FindAgain(true)
			return s
		},
		"not found": func(t *testing.T) *screen.State {
			s := stateOf(aConversation(t), 60, 12)
			s.Search.Text = "nowhere"
			s.FindAgain(true)
			return s
		},
		"searching": func(t *testing.T) *screen.State {
			s := stateOf(aConversation(t), 60, 12)
			s.Search = screen.Search{Typing: true, Text: "ord"}
			return s
		},
		"writing": func(t *testing.T) *screen.State {
			s := stateOf(aConversation(t), 40, 16)
			s.Editor.Insert("A message of several\nlines, one of which is longer than the screen is wide 日本語\nthe last")
			s.Editor.Left()
			return s
		},
		"lost": func(t *testing.T) *screen.State {
			s := stateOf(aConversation(t), 60, 12)
			s.Link = screen.Lost
			return s
		},
		"recorded": func(t *testing.T) *screen.State {
			s := stateOf(aConversation(t), 60, 12)
			s.Link = screen.Recorded
			return s
		},
		"notice": func(t *testing.T) *screen.State {
			s := stateOf(aConversation(t), 60, 12)
			s.Notice = "a turn is running: wait for its end, or interrupt it"
			return s
		},
		"resumed": func(t *testing.T) *screen.State {
			s := &story{t: t, tr: &transcript.Transcript{SessionID: "0mbq3d-aaaaaa"}, now: begun}
			s.tell(protocol.EventSessionResumed, protocol.SessionResumed{SourceID: "0mbq3c-7f4k2p", Turns: 1, StartedAt: begun.In(time.Local), Workspace: "/w"})
			return stateOf(s, 80, 12)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := draw(t)
			f := s.Render()
			mustFit(t, s, f)
			mustBe(t, strings.ReplaceAll(name, " ", "-"), plain(f))
		})
	}
}

func mustFit(t *testing.T, s *screen.State, f screen.Frame) {
	t.Helper()
	if len(f.Rows) != s.Rows {
		t.Errorf("the frame has %d rows, want %d", len(f.Rows), s.Rows)
	}
	for _, row := range f.Rows {
		if width := s.Method.StringWidth(row); width > s.Columns {
			t.Errorf("%q is %d columns wide, want at most %d", row, width, s.Columns)
		}
	}
	if f.X >= s.Columns || f.Y >= s.Rows || f.X < 0 || f.Y < 0 {
		t.Errorf("the cursor is at %d,%d, outside", f.X, f.Y)
	}
}

// Whatever the size, the place and the width of characters, a frame fits its terminal and holds no sequence but styles.
func TestFramesFitEveryTerminal(t *testing.T) {
	story := aConversation(t)
	for _, columns := range []int{1, 2, 3, 4, 5, 7, 8, 9, 12, 17, 20, 31, 40, 41, 66, 80, 131} {
		for _, rows := range []int{1, 2, 3, 9, 10, 24} {
			for _, method := range []ansi.Method{ansi.WcWidth, ansi.GraphemeWidth} {
				s := stateOf(story, columns, rows)
				s.Method = method
				if columns >= 8 { // an astronaut that is written as woman and rocket takes six
					s.Editor.Insert("wide 日本語 👩‍🚀\n\nשלום")
				}
				s.Fold = columns%2 == 0
				s.Scroll(-columns % 7)
				f := s.Render()
				mustFit(t, s, f)
				for _, row := range f.Rows {
					if rest := withoutStyles(row); strings.ContainsAny(rest, "\x1b\r\n\t\b\a") {
						t.Fatalf("%d×%d: %q holds more than styles", columns, rows, row)
					}
				}
			}
		}
	}
}

// withoutStyles takes away the sequences that we write ourselves: ESC [ digits and semicolons m.
func withoutStyles(row string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(row, "\x1b[")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		rest := strings.TrimLeft(after, "0123456789;:")
		if !strings.HasPrefix(rest, "m") {
			return b.String() + "\x1b[" + after
		}
		row = rest[1:]
	}
}

func TestScrollingShowsEachRowOnceAndComesBackToTheEnd(t *testing.T) {
	story := newStory(t)
	for i := range 100 {
		story.say(fmt.Sprintf("question %d", i))
		story.answer(fmt.Sprintf("answer %d\n\nsecond paragraph of it", i))
		story.end(protocol.TurnDone)
	}
	s := stateOf(story, 60, 20)
	s.Begin()
	seen := map[string]bool{}
	for range 500 {
		for _, row := range s.Render().Rows[2:17] {
			seen[strings.TrimSpace(ansi.Strip(row))] = true
		}
		s.Scroll(7)
	}
	for i := range 100 {
		for _, want := range []string{fmt.Sprintf("› question %d", i), fmt.Sprintf("answer %d", i)} {
			if !seen[want] {
				t.Errorf("%q was never on the screen", want)
			}
		}
	}
	end := plain(s.Render())
	story.say("one more")
	if got := plain(s.Render()); got == end || !strings.Contains(got, "one more") {
		t.Errorf("at the end it does not follow:\n%s", got)
	}
	s.Scroll(-10)
	before := plain(s.Render())
	story.answer("unseen")
	if got := plain(s.Render()); strings.ReplaceAll(got, "ready", "answering") != strings.ReplaceAll(before, "ready", "answering") {
		t.Errorf("scrolled, it moves under the reader: got\n%s\nwant\n%s", got, before)
	}
	s.End()
	if got := plain(s.Render()); !strings.Contains(got, "unseen") {
		t.Errorf("the end is not shown:\n%s", got)
	}
}

func TestSearchGoesFromHitToHitAndRound(t *testing.T) {
	story := newStory(t)
	for i := range 30 {
		story.say(fmt.Sprintf("question %d", i))
		story.answer("Some **needle**s" + strings.Repeat(" in the hay", 20))
		story.end(protocol.TurnDone)
		story.say("filler")
		story.answer(strings.Repeat("nothing here\n\n", 5))
		story.end(protocol.TurnDone)
	}
	s := stateOf(story, 60, 20)
	s.Search.Text = "question 7"
	s.FindAgain(true)
	if got := plain(s.Render()); !strings.Contains(got, "› question 7\n") || !strings.Contains(got, "found: question 7") {
		t.Errorf("got\n%s", got)
	}
	s.Search = screen.Search{Text: "NEEDLES in"}
	hits := map[string]bool{}
	for range 30 {
		s.FindAgain(true)
		for _, row := range s.Render().Rows {
			if strings.Contains(row, "\x1b[7m") || strings.Contains(row, ";7m") {
				hits[plain(s.Render())] = true
			}
		}
	}
	if len(hits) != 30 {
		t.Errorf("%d hits were shown, want 30", len(hits))
	}
}

// Ten thousand events are shown without a pause, and what is held does not grow with what was looked at.
func TestALongTranscript(t *testing.T) {
	story := newStory(t)
	for i := range 200 {
		story.say(fmt.Sprint("question ", i))
		for range 48 {
			story.answer("words of an answer, and more of them. ")
		}
		story.end(protocol.TurnDone)
	}
	if story.tr.LastSeq < 10_000 {
		t.Fatalf("%d events", story.tr.LastSeq)
	}
	s := stateOf(story, 80, 24)
	drawn := testing.AllocsPerRun(10, func() { s.Render() })
	s.Begin()
	for range 400 {
		s.Scroll(50)
		s.Render()
	}
	if again := testing.AllocsPerRun(10, func() { s.Render() }); again > 2*drawn+100 {
		t.Errorf("a frame takes %.0f allocations after all was looked at, %.0f before", again, drawn)
	}
	if laid := story.tr.Laid(); laid > 2*transcript.MaxLaid {
		t.Errorf("%d entries hold lines, want at most %d", laid, 2*transcript.MaxLaid)
	}
}

// Colours are those of the background, and none says anything that a word or a sign does not say too.
func TestColoursSuitTheBackground(t *testing.T) {
	dark, light := stateOf(aConversation(t), 80, 30), stateOf(aConversation(t), 80, 30)
	light.Dark = false
	on, off := strings.Join(dark.Render().Rows, "\n"), strings.Join(light.Render().Rows, "\n")
	for _, c := range []struct{ name, frame, want, not string }{
		{"dark", on, "\x1b[38;2;45;212;191m", "\x1b[38;2;15;118;110m"},
		{"light", off, "\x1b[38;2;15;118;110m", "\x1b[38;2;45;212;191m"},
	} {
		if !strings.Contains(c.frame, c.want) || strings.Contains(c.frame, c.not) {
			t.Errorf("%s: the accent is not that of this background", c.name)
		}
	}
	if ansi.Strip(on) != ansi.Strip(off) {
		t.Error("the frames differ in more than colours")
	}
}
