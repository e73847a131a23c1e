package transcript

import (
	"strings"

	"chatwright.dev/tray/app/attach/markdown"
	"chatwright.dev/tray/app/tray"
)

// Kind says what an entry is.
type Kind int

// The kinds.
const (
	Said     Kind = iota // by a user
	Answered             // by the model
	Thought              // by the model, before it answered
	Noted                // about the session
	Failed               // what went wrong
)

// Entry is one thing that was said, or that happened.
type Entry struct {
	Kind Kind
	text strings.Builder
	size int
	open bool // it may go on

	doc   markdown.Document // of what the model says and thinks
	lines []markdown.Line   // of everything else; nil: not laid out
	page  markdown.Page     // that of lines
}

// Text is what the entry says, with nothing in it that a terminal would obey.
func (e *Entry) Text() string { return e.text.String() }

func (e *Entry) append(text string) {
	e.text.WriteString(text)
	e.size += len(text)
	if e.isModel() {
		e.doc.Append(text)
	}
}

// What stands before the lines of an entry: as wide as indent.
const (
	indent  = 2
	prompt  = "› "
	warning = "! "
	about   = "· "
	folded  = "▸ "
	opened  = "▾ "
	plain   = "  "
)

func (e *Entry) isModel() bool { return e.Kind == Answered || e.Kind == Thought }

// Lines are the rows of an entry on a page. The thoughts of a model are one row where they are folded.
func (e *Entry) Lines(page markdown.Page, fold bool) []markdown.Line {
	page.Columns = max(page.Columns-indent, 1)
	switch {
	case e.Kind == Answered:
		return e.doc.Lines(page)
	case e.Kind == Thought && fold:
		return e.summary(page)
	case e.Kind == Thought:
		return append(e.summary(page), e.doc.Lines(page)...)
	case e.lines == nil || e.page != page:
		e.page = page
		e.lines = markdown.Wrap(strings.TrimRight(e.Text(), "\n "), page)
	}
	return e.lines
}

// Mark is what stands before row n of an entry.
func (e *Entry) Mark(n int, fold bool) string {
	if n > 0 {
		return plain
	}
	switch e.Kind {
	case Said:
		return prompt
	case Failed:
		return warning
	case Noted:
		return about
	case Thought:
		if fold {
			return folded
		}
		return opened
	}
	return plain
}

// summary says that the model thought, and how much.
func (e *Entry) summary(page markdown.Page) []markdown.Line {
	if e.open {
		return markdown.Wrap("Thinking …", page)
	}
	return markdown.Wrap("Thought, "+tray.Plural(int64(len(strings.Fields(e.Text()))), "word"), page)
}

func (e *Entry) forget() {
	e.lines = nil
	e.doc.Forget()
}

// titleOf is a title from the first words of a conversation.
func titleOf(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	const most = 60
	n := 0
	for at := range line {
		if n++; n > most {
			return strings.TrimSpace(line[:at]) + "…"
		}
	}
	return line
}
