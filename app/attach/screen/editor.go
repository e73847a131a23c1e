package screen

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"chatwright.dev/tray/app/attach/safetext"
)

// Editor is the message that is being written, and those that were sent. Its cursor stands between characters as a
// person sees them, which may be several code points each. The zero value is an empty one.
type Editor struct {
	text string
	at   int // the cursor, in bytes

	sent  []string // oldest first
	back  int      // how many messages back it is in sent; 0: at what is being written
	draft string   // what was being written meanwhile
}

// maxSent is how many messages are remembered.
const maxSent = 200

// Text is what was written so far.
func (e *Editor) Text() string { return e.text }

// Insert writes at the cursor.
func (e *Editor) Insert(text string) {
	text = safetext.Text(text)
	e.text = e.text[:e.at] + text + e.text[e.at:]
	e.at += len(text)
}

// Set replaces what was written.
func (e *Editor) Set(text string) {
	e.text = safetext.Text(text)
	e.at = len(e.text)
}

// Take ends the message: it is returned, remembered, and the editor is empty.
func (e *Editor) Take() string {
	text := e.text
	if n := len(e.sent); strings.TrimSpace(text) != "" && (n == 0 || e.sent[n-1] != text) {
		e.sent = append(e.sent, text)
		e.sent = e.sent[max(len(e.sent)-maxSent, 0):]
	}
	e.text, e.at, e.back, e.draft = "", 0, 0, ""
	return text
}

// Remember adds a message that was sent earlier, for Up.
func (e *Editor) Remember(text string) {
	if n := len(e.sent); n == 0 || e.sent[n-1] != text {
		e.sent = append(e.sent, text)
		e.sent = e.sent[max(len(e.sent)-maxSent, 0):]
	}
}

// Up goes to the line above, or to the message before.
func (e *Editor) Up() {
	begin := e.lineBegin()
	if begin == 0 {
		e.recall(e.back + 1)
		return
	}
	column := utf8.RuneCountInString(e.text[begin:e.at])
	e.at = strings.LastIndexByte(e.text[:begin-1], '\n') + 1
	e.forward(column)
}

// Down goes to the line below, or to the message after.
func (e *Editor) Down() {
	end := e.lineEnd()
	if end == len(e.text) {
		e.recall(e.back - 1)
		return
	}
	column := utf8.RuneCountInString(e.text[e.lineBegin():e.at])
	e.at = end + 1
	e.forward(column)
}

// recall shows the message that was sent so many messages ago.
func (e *Editor) recall(back int) {
	if back < 0 || back > len(e.sent) {
		return
	}
	if e.back == 0 {
		e.draft = e.text
	}
	e.back = back
	text := e.draft
	if back > 0 {
		text = e.sent[len(e.sent)-back]
	}
	e.text, e.at = text, len(text)
}

// forward goes so many characters on, but not to another line.
func (e *Editor) forward(n int) {
	for end := e.lineEnd(); n > 0 && e.at < end; n-- {
		e.Right()
	}
}

// Left goes one character back.
func (e *Editor) Left() { e.at -= len(lastCluster(e.text[:e.at])) }

// Right goes one character on.
func (e *Editor) Right() { e.at += len(firstCluster(e.text[e.at:])) }

// Home goes to the begin of the line.
func (e *Editor) Home() { e.at = e.lineBegin() }

// End goes to the end of the line.
func (e *Editor) End() { e.at = e.lineEnd() }

// WordLeft goes to the begin of the word.
func (e *Editor) WordLeft() { e.at = wordBegin(e.text[:e.at]) }

// WordRight goes to the end of the word.
func (e *Editor) WordRight() {
	rest := strings.TrimLeftFunc(e.text[e.at:], isNoWord)
	e.at = len(e.text) - len(strings.TrimLeftFunc(rest, isWord))
}

// Backspace takes the character before the cursor away.
func (e *Editor) Backspace() { e.cut(e.at-len(lastCluster(e.text[:e.at])), e.at) }

// Delete takes the character after the cursor away.
func (e *Editor) Delete() { e.cut(e.at, e.at+len(firstCluster(e.text[e.at:]))) }

// DeleteWord takes the word before the cursor away.
func (e *Editor) DeleteWord() { e.cut(wordBegin(e.text[:e.at]), e.at) }

// DeleteToBegin takes away what stands before the cursor on its line.
func (e *Editor) DeleteToBegin() { e.cut(e.lineBegin(), e.at) }

// DeleteToEnd takes away what stands after the cursor on its line; at its end, the line break.
func (e *Editor) DeleteToEnd() {
	end := e.lineEnd()
	if end == e.at && end < len(e.text) {
		end++
	}
	e.cut(e.at, end)
}

func (e *Editor) cut(from, to int) {
	e.text = e.text[:from] + e.text[to:]
	e.at = from
}

func (e *Editor) lineBegin() int { return strings.LastIndexByte(e.text[:e.at], '\n') + 1 }

func (e *Editor) lineEnd() int {
	if n := strings.IndexByte(e.text[e.at:], '\n'); n >= 0 {
		return e.at + n
	}
	return len(e.text)
}

func isWord(r rune) bool   { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }
func isNoWord(r rune) bool { return !isWord(r) }

func wordBegin(text string) int {
	return len(strings.TrimRightFunc(strings.TrimRightFunc(text, isNoWord), isWord))
}

func firstCluster(text string) string {
	cluster, _ := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
	return cluster
}

// maxCluster bounds how far back the begin of a character is looked for.
const maxCluster = 128

func lastCluster(text string) string {
	from := max(strings.LastIndexByte(text[:max(len(text)-1, 0)], '\n')+1, len(text)-maxCluster)
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from--
	}
	last := ""
	for rest := text[from:]; rest != ""; rest = rest[len(last):] {
		if last = firstCluster(rest); last == "" {
			return rest
		}
	}
	return last
}

// layout sets the message on up to most rows of so many columns, those around the cursor, and says where that is.
func (e *Editor) layout(columns, most int, m ansi.Method) (rows []string, x, y int) {
	var row strings.Builder
	width := 0
	end := func() {
		rows = append(rows, row.String())
		row.Reset()
		width = 0
	}
	for at := 0; ; {
		if at == e.at {
			if width >= columns { // the cursor needs a place too
				end()
			}
			x, y = width, len(rows)
		}
		if at >= len(e.text) {
			break
		}
		cluster, w := ansi.FirstGraphemeCluster(e.text[at:], m)
		at += len(cluster)
		switch cluster {
		case "\n":
			end()
			continue
		case "\t":
			cluster, w = " ", 1
		}
		if width+w > columns {
			end()
		}
		row.WriteString(cluster)
		width += w
	}
	end()
	if first := min(max(y-most+1, 0), max(len(rows)-most, 0)); len(rows) > most {
		rows, y = rows[first:first+most], y-first
	}
	return rows, x, y
}
