// Package markdown lays out Markdown for a terminal while it is still being written. What is complete is laid out once:
// only the last block of a growing text is read again, so that a long answer costs no more for each of its pieces than a
// short one.
//
// It reads what models write: headings, lists, quotes, code, tables, rules, emphasis, links. It differs from CommonMark
// where a terminal does: a line break stays one, a link shows its target, HTML is text, and references to link
// definitions elsewhere are left as they stand. It is small on purpose: the usual parsers build tables of entities and
// expressions as a program starts, which would be paid in memory by a daemon that never shows a line.
package markdown

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Style is how a piece of text is to look: any of these together.
type Style uint16

// The styles. What they look like is for others to say.
const (
	Strong Style = 1 << iota
	Emphasis
	Struck
	Code
	Link
	Heading
	Faint // bullets, rules, the language of a block of code, the bar of a quote
	Quote
)

// A Span is text of one style. It holds no line break, no tab, and nothing that a terminal would obey if there was
// nothing of that kind in the source.
type Span struct {
	Text  string
	Style Style
}

// A Line is one row of the screen.
type Line []Span

// String is the line without its styles.
func (l Line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Page is what text is laid out for.
type Page struct {
	Columns int         // at least 1
	Method  ansi.Method // how this terminal counts the columns of a character
}

// maxTail bounds what is read again for each piece: a block that is longer, such as a table of thousands of rows, is
// taken in parts.
const maxTail = 4 << 10

// Document is Markdown that grows at its end. The zero value is an empty one. Not safe for concurrent use.
type Document struct {
	done []*segment // complete
	tail string     // may go on
	scan scanner

	page Page
	laid []Line // of the first segments of done, on page; its spare room takes those of tail
	n    int    // how many segments
	all  []Line // the lines of all of it; nil: not up to date
}

// A segment is one or more blocks that nothing which follows can change.
type segment struct {
	text  string
	code  bool   // the inside of a block of code
	lang  string // of the block of code that begins here
	glued bool   // belongs to what is above: no empty line between them
	from  int    // where its lines begin in laid, once they are there
}

// Append adds text at the end.
func (d *Document) Append(text string) {
	d.tail += text
	d.all = nil
	d.cut()
}

// Len is how many bytes of text the document holds.
func (d *Document) Len() int {
	n := len(d.tail)
	for _, s := range d.done {
		n += len(s.text)
	}
	return n
}

// Lines lays the document out. The lines are the document's own: they are not to be changed, and to be used before the
// next call of a method.
func (d *Document) Lines(page Page) []Line {
	if page.Columns = max(page.Columns, 1); page != d.page {
		d.Forget()
		d.page = page
	}
	if d.all != nil {
		return d.all
	}
	for ; d.n < len(d.done); d.n++ {
		s := d.done[d.n]
		s.from = len(d.laid)
		d.laid = appendBlock(d.laid, s.layout(page), s.glued)
	}
	last := d.scan.unfinished(d.tail)
	d.all = appendBlock(d.laid, last.layout(page), last.glued)
	if cap(d.all) > cap(d.laid) { // grown: the next call finds room
		d.laid = d.all[:len(d.laid)]
	}
	return d.all
}

// Forget frees what was laid out; the next Lines does it again.
func (d *Document) Forget() { d.laid, d.n, d.all = nil, 0, nil }

// changed says that the last of done is another now.
func (d *Document) changed() {
	if d.n == len(d.done) {
		d.n--
		d.laid = d.laid[:d.done[d.n].from]
	}
}

// appendBlock adds the lines of a block below an empty line, as blocks stand.
func appendBlock(all, lines []Line, glued bool) []Line {
	if len(lines) == 0 {
		return all
	}
	if len(all) > 0 && !glued {
		all = append(all, nil)
	}
	return append(all, lines...)
}

func (s *segment) layout(page Page) []Line {
	if s.code {
		return layoutCode(s.lang, codeLines(s.text), page)
	}
	return layoutBlocks(parseBlocks(splitLines(s.text), 0), page)
}

// Render lays out a whole text at once.
func Render(text string, page Page) []Line {
	var d Document
	d.Append(text)
	return d.Lines(page)
}

func splitLines(text string) []string {
	return strings.Split(strings.TrimRight(text, "\n"), "\n")
}

// codeLines are the lines of a block of code: here an empty line counts.
func codeLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
