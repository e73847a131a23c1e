package screen_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"chatwright.dev/tray/app/attach/screen"
)

// edit writes text, with | for the cursor, then does things.
func edit(text string, do ...func(*screen.Editor)) *screen.Editor {
	before, after, _ := strings.Cut(text, "|")
	e := &screen.Editor{}
	e.Insert(before + after)
	for range after {
		e.Left()
	}
	for _, f := range do {
		f(e)
	}
	return e
}

func TestEditing(t *testing.T) {
	type do = func(*screen.Editor)
	for name, c := range map[string]struct {
		text string
		do   do
		want string // once x was written at the cursor
	}{
		"left":                               {"ab|", (*screen.Editor).Left, "axb"},
		"right":                              {"a|b", (*screen.Editor).Right, "abx"},
		"home":                               {"a\nbc|", (*screen.Editor).Home, "a\nxbc"},
		"end":                                {"|a\nbc", (*screen.Editor).End, "ax\nbc"},
		"word left":                          {"one two, |", (*screen.Editor).WordLeft, "one xtwo, "},
		"word right":                         {"|one two", (*screen.Editor).WordRight, "onex two"},
		"backspace":                          {"ab|", (*screen.Editor).Backspace, "ax"},
		"backspace at the begin":             {"|", (*screen.Editor).Backspace, "x"},
		"backspace of a family":              {"a👨‍👩‍👧|", (*screen.Editor).Backspace, "ax"},
		"backspace of a letter and its mark": {"ae\u0301|", (*screen.Editor).Backspace, "ax"},
		"backspace joins lines":              {"a\n|", (*screen.Editor).Backspace, "ax"},
		"delete":                             {"|ab", (*screen.Editor).Delete, "xb"},
		"delete at the end":                  {"ab|", (*screen.Editor).Delete, "abx"},
		"delete word":                        {"one two|", (*screen.Editor).DeleteWord, "one x"},
		"delete to begin":                    {"a\nbc|", (*screen.Editor).DeleteToBegin, "a\nx"},
		"delete to end":                      {"|ab\nc", (*screen.Editor).DeleteToEnd, "x\nc"},
		"delete to end, at the end":          {"ab|\nc", (*screen.Editor).DeleteToEnd, "abxc"},
		"up":                                 {"abc\nde|f", (*screen.Editor).Up, "abxc\ndef"},
		"up to a shorter line":               {"a\ndef|", (*screen.Editor).Up, "ax\ndef"},
		"down":                               {"a|bc\ndef", (*screen.Editor).Down, "abc\ndxef"},
		"what a terminal obeys":              {"|", func(e *screen.Editor) { e.Insert("a\x1b[2J\r\nb") }, "a·[2J\nbx"},
	} {
		e := edit(c.text, c.do)
		e.Insert("x")
		if got := e.Text(); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestUpAndDownGoThroughWhatWasSent(t *testing.T) {
	e := &screen.Editor{}
	for _, text := range []string{"one", "two", "two", " "} {
		e.Insert(text)
		if got := e.Take(); got != text || e.Text() != "" {
			t.Errorf("took %q, left %q", got, e.Text())
		}
	}
	e.Remember("three\nlines")
	e.Insert("draft")
	var got []string
	for _, step := range []func(){e.Up, e.Up, e.Up, e.Up, e.Up, e.Up} {
		step()
		got = append(got, e.Text())
	}
	if want := "three\nlines|three\nlines|two|one|one|one"; strings.Join(got, "|") != want { // the second goes to its first line
		t.Errorf("up: got %q, want %q", strings.Join(got, "|"), want)
	}
	for range 6 {
		e.Down()
	}
	if e.Text() != "draft" {
		t.Errorf("down: got %q, want the draft", e.Text())
	}
}

func FuzzEditor(f *testing.F) {
	f.Add("two\nlines 日本 👨‍👩‍👧 e\u0301", "lrbdwkuUDhe")
	f.Fuzz(func(t *testing.T, text, keys string) {
		e := &screen.Editor{}
		e.Insert(text)
		for _, k := range keys {
			switch k {
			case 'l':
				e.Left()
			case 'r':
				e.Right()
			case 'b':
				e.Backspace()
			case 'd':
				e.Delete()
			case 'w':
				e.DeleteWord()
			case 'k':
				e.DeleteToEnd()
			case 'u':
				e.DeleteToBegin()
			case 'U':
				e.Up()
			case 'D':
				e.Down()
			case 'h':
				e.WordLeft()
			case 'e':
				e.WordRight()
			default:
				e.Insert(string(k))
			}
			if !utf8.ValidString(e.Text()) {
				t.Fatalf("%q is cut in the middle of a character", e.Text())
			}
		}
	})
}
