// Package screen draws the terminal client: a State is rendered to a Frame, rows of text with the cursor on one of them.
// It is plain values, so that frames can be compared with golden files; the terminal itself is for others.
package screen

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"chatwright.dev/tray/app/attach/markdown"
	"chatwright.dev/tray/app/attach/safetext"
	"chatwright.dev/tray/app/attach/transcript"
	"chatwright.dev/tray/app/tray"
)

// Link says how the client stands with the session.
type Link int

// The links.
const (
	Connecting Link = iota
	Connected
	Lost     // the companion does not answer; it is asked again
	Recorded // the session is only on disk: the next message carries it on
	Gone     // it is nowhere any more
)

// State is all that a frame is made of.
type State struct {
	Columns, Rows int
	Method        ansi.Method // how this terminal counts columns
	Dark          bool        // its background

	Transcript *transcript.Transcript
	Fold       bool // thoughts are one row each
	Link       Link
	Notice     string // about the last thing that was asked for; "": none

	Editor Editor
	Search Search

	scrolled bool             // else the end is shown
	top      transcript.Place // of the window, when it is scrolled
}

// Search is what is looked for.
type Search struct {
	Typing bool   // the person is writing Text
	Text   string // "": nothing
	hit    transcript.Place
	found  bool
}

// Frame is what the terminal is to show: one string a row, with styles as a terminal takes them.
type Frame struct {
	Rows  []string
	X, Y  int // of the cursor
	Title string
}

// The parts of a frame that take room from the transcript, where there is enough of it.
const (
	roomyRows   = 12 // from so many on there is a header, an empty row below it, and a rule
	roomyTakes  = 3
	maxComposer = 6
)

// Render draws a frame of exactly Rows rows, none of them wider than Columns.
func (s *State) Render() Frame {
	input, x, y := s.input()
	window := s.windowRows(len(input))
	f := Frame{Title: "Chatwright"}
	if s.Transcript.Title != "" {
		f.Title = s.Transcript.Title + " – Chatwright"
	}
	if s.roomy() {
		f.Rows = append(f.Rows, s.header(), "")
	}
	f.Rows = append(f.Rows, s.transcript(window)...)
	if s.roomy() {
		f.Rows = append(f.Rows, s.rule())
	}
	f.X, f.Y = min(x, max(s.Columns-1, 0)), len(f.Rows)+y
	f.Rows = append(append(f.Rows, input...), s.stateLine())
	if over := len(f.Rows) - s.Rows; over > 0 && s.Rows > 0 { // too low for all of it: the lower rows matter most
		f.Rows, f.Y = f.Rows[over:], max(f.Y-over, 0)
	}
	for i, row := range f.Rows {
		f.Rows[i] = s.Method.Truncate(row, s.Columns, "")
	}
	return f
}

func (s *State) roomy() bool { return s.Rows >= roomyRows }

// windowRows is how many rows the transcript has beside a composer of that many.
func (s *State) windowRows(composer int) int {
	rows := s.Rows - composer - 1
	if s.roomy() {
		rows -= roomyTakes
	}
	return max(rows, 0)
}

func (s *State) view() transcript.View {
	return transcript.View{Page: markdown.Page{Columns: max(s.Columns, 4), Method: s.Method}, Fold: s.Fold}
}

// transcript draws so many rows of it, with empty ones above where there are fewer.
func (s *State) transcript(rows int) []string {
	if rows == 0 {
		return nil
	}
	v := s.view()
	from := s.top
	if !s.scrolled {
		from = s.Transcript.Bottom(rows, v)
	}
	window := s.Transcript.Window(from, rows, v)
	drawn := make([]string, 0, rows)
	if s.Transcript.Len() == 0 {
		drawn = append(drawn, s.empty(rows)...)
	}
	for _, row := range window {
		drawn = append(drawn, s.row(row))
	}
	for len(drawn) < rows { // a short conversation begins at the top
		drawn = append(drawn, "")
	}
	return drawn
}

func (s *State) empty(rows int) []string {
	if rows < 2 || s.Link == Connecting {
		return nil
	}
	return []string{"", s.look(faint).Styled("  Nothing was said yet. Write below, Enter sends. /help lists the rest.")}
}

func (s *State) row(r transcript.Row) string {
	var b strings.Builder
	if mark := r.Mark; strings.TrimSpace(mark) == "" {
		b.WriteString(mark)
	} else {
		b.WriteString(s.look(markLook(r.Kind)).Styled(mark))
	}
	var hits []span
	if s.Search.found && r.At == s.Search.hit {
		hits = find(r.Line.String(), s.Search.Text)
	}
	at := 0
	for _, piece := range r.Line {
		s.mark(&b, piece.Text, at, hits, s.spanStyle(r.Kind, piece.Style))
		at += len(piece.Text)
	}
	return b.String()
}

// A span is a part of a row, in bytes.
type span struct{ from, to int }

// find is where a text stands in a row, in upper or lower case.
func find(row, text string) (hits []span) {
	lower, want := strings.ToLower(row), strings.ToLower(text)
	if want == "" || len(lower) != len(row) { // the other case of a letter has another length: the places do not match
		return nil
	}
	for from := 0; ; {
		at := strings.Index(lower[from:], want)
		if at < 0 {
			return hits
		}
		hits = append(hits, span{from + at, from + at + len(want)})
		from += at + len(want)
	}
}

// mark writes a piece of a row, which begins at that place of it, with its style, and what was found in reverse.
func (s *State) mark(b *strings.Builder, text string, at int, hits []span, style ansi.Style) {
	reversed := append(append(ansi.Style{}, style...), ansi.NewStyle(ansi.AttrReverse)...)
	done := 0
	for _, hit := range hits {
		from, to := max(hit.from-at, done), min(hit.to-at, len(text))
		if from >= to {
			continue
		}
		b.WriteString(styled(style, text[done:from]))
		b.WriteString(styled(reversed, text[from:to]))
		done = to
	}
	b.WriteString(styled(style, text[done:]))
}

func styled(style ansi.Style, text string) string {
	if text == "" || len(style) == 0 {
		return text
	}
	return style.Styled(text)
}

func (s *State) header() string {
	title := s.Transcript.Title
	if title == "" {
		title = "New session"
	}
	about := safetext.Line(s.Transcript.Workspace) + "  " + s.Transcript.SessionID
	room := s.Columns - s.Method.StringWidth(about) - 4
	if room < min(24, s.Method.StringWidth(title)) { // the title matters more
		return s.look(strong).Styled(s.Method.Truncate(" "+title, s.Columns, "…"))
	}
	title = s.Method.Truncate(title, room, "…")
	gap := s.Columns - 2 - s.Method.StringWidth(title) - s.Method.StringWidth(about)
	return " " + s.look(strong).Styled(title) + strings.Repeat(" ", gap) + s.look(faint).Styled(about)
}

// rule parts the transcript from the composer, and says what is not to be seen of it.
func (s *State) rule() string {
	text := ""
	switch {
	case s.Search.Text != "" && !s.Search.found && !s.Search.Typing:
		text = "not found: " + s.Search.Text + " · Esc ends"
	case s.Search.Text != "" && !s.Search.Typing:
		text = "found: " + s.Search.Text + " · Ctrl-P previous, Ctrl-N next, Esc ends"
	case s.scrolled:
		text = "↓ more below · Ctrl-End goes there"
	}
	if text = s.Method.Truncate(text, s.Columns-6, "…"); text != "" {
		text = "── " + text + " "
	}
	return s.look(faint).Styled(text + strings.Repeat("─", max(s.Columns-s.Method.StringWidth(text), 0)))
}

// input draws what is being written: a message, or what to look for.
func (s *State) input() (rows []string, x, y int) {
	if s.Search.Typing {
		label := "Find: "
		text := s.Method.TruncateLeft(s.Search.Text, max(s.Method.StringWidth(s.Search.Text)-s.Columns+len(label)+2, 0), "")
		return []string{s.look(accent).Styled(label) + text}, len(label) + s.Method.StringWidth(text), 0
	}
	most := max(min(maxComposer, s.Rows/3), 1)
	lines, x, y := s.Editor.layout(max(s.Columns-2, 2), most, s.Method)
	for i, line := range lines {
		mark := "  "
		if i == 0 {
			mark = s.look(accent).Styled("› ")
		}
		rows = append(rows, mark+line)
	}
	return rows, x + 2, y
}

// stateLine says how things stand: what matters most comes first, and what has no room is left out.
func (s *State) stateLine() string {
	style, word := s.word()
	parts := []string{word}
	if s.Transcript.Running() && s.Link == Connected {
		parts = append(parts, "Ctrl-C interrupts")
	}
	if s.Transcript.Model != "" {
		parts = append(parts, safetext.Line(s.Transcript.Model))
	}
	if k := s.Transcript.Tokens; k.Known {
		parts = append(parts, tray.Number(k.In)+" in, "+tray.Number(k.Out)+" out")
	} else if s.Transcript.Len() > 0 && !s.Transcript.Running() {
		parts = append(parts, "tokens unknown")
	}
	if r := s.Transcript.Rate.PerSecond; r > 0 {
		parts = append(parts, tray.Rate(r))
	}
	if s.Notice != "" {
		parts = []string{word, s.Notice}
	} else if !s.Transcript.Running() {
		parts = append(parts, "Ctrl-D leaves")
	}
	line := parts[0]
	for i, part := range parts[1:] {
		longer := line + " · " + part
		if s.Method.StringWidth(longer) > s.Columns-2 && (i > 0 || s.Notice == "") {
			break
		}
		line = longer
	}
	line = s.Method.Truncate(line, max(s.Columns-1, 0), "…")
	rest := strings.TrimPrefix(line, word)
	if rest == line {
		return " " + s.look(style).Styled(line)
	}
	return " " + s.look(style).Styled(word) + s.look(faint).Styled(rest)
}

func (s *State) word() (look, string) {
	switch {
	case s.Link == Connecting:
		return faint, "○ connecting"
	case s.Link == Lost:
		return warn, "○ no connection, trying again"
	case s.Link == Recorded:
		return warn, "○ recorded: your next message resumes it"
	case s.Link == Gone:
		return wrong, "○ gone"
	case s.Transcript.Running():
		return accent, "● answering"
	}
	return accent, "● ready"
}
