package markdown

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// tabWidth is what a tab is worth in code.
const tabWidth = 4

func layoutBlocks(blocks []block, page Page) (lines []Line) {
	for _, b := range blocks {
		lines = appendBlock(lines, layoutBlock(b, page), false)
	}
	return lines
}

func layoutBlock(b block, page Page) []Line {
	switch b.kind {
	case heading:
		return wrap(parseInline(b.text, Heading|Strong), page)
	case code:
		return layoutCode(b.lang, b.lines, page)
	case quote:
		bar := Span{"▌ ", Faint}
		if !hasRoom(page, 2) {
			return layoutBlocks(b.inner, page)
		}
		return indentLines(layoutBlocks(b.inner, narrower(page, 2)), bar, bar, Quote)
	case list:
		return layoutList(b, page)
	case table:
		return layoutTable(b, page)
	case rule:
		return []Line{{{strings.Repeat("─", page.Columns), Faint}}}
	}
	return wrap(parseInline(b.text, 0), page)
}

// narrower is a page with so many columns less, while it has some to give.
func narrower(page Page, by int) Page {
	page.Columns = max(page.Columns-by, 1)
	return page
}

// hasRoom reports whether text can still be read that is so many columns in.
func hasRoom(page Page, indent int) bool { return page.Columns-indent >= 8 }

func layoutList(b block, page Page) (lines []Line) {
	width := 0
	for _, it := range b.items {
		width = max(width, page.Method.StringWidth(it.mark)+1)
	}
	rest := Span{strings.Repeat(" ", width), 0}
	for _, it := range b.items {
		if !hasRoom(page, width) { // the mark stands above
			lines = append(append(lines, wrap([]Span{{it.mark, Faint}}, page)...), layoutItem(it, page)...)
			continue
		}
		mark := it.mark + strings.Repeat(" ", width-page.Method.StringWidth(it.mark))
		body := layoutItem(it, narrower(page, width))
		lines = appendBlock(lines, indentLines(body, Span{mark, Faint}, rest, 0), !b.loose)
	}
	return lines
}

// layoutItem sets a list that stands in an item right below its text, as it was written.
func layoutItem(it item, page Page) (lines []Line) {
	for _, b := range it.inner {
		lines = appendBlock(lines, layoutBlock(b, page), b.kind == list && !b.loose)
	}
	if len(lines) == 0 {
		lines = []Line{nil} // an item that is not written yet has its mark
	}
	return lines
}

// indentLines puts first before the first line and rest before the others, and adds a style to all of them.
func indentLines(lines []Line, first, rest Span, style Style) []Line {
	indented := make([]Line, len(lines))
	for i, line := range lines {
		before := rest
		if i == 0 {
			before = first
		}
		indented[i] = append(make(Line, 0, len(line)+1), before)
		for _, s := range line {
			s.Style |= style
			indented[i] = append(indented[i], s)
		}
	}
	return indented
}

// layoutCode shows code as it stands, two columns in; lines that are too long go on below.
func layoutCode(lang string, code []string, page Page) (lines []Line) {
	indent := Span{"  ", 0}
	if page.Columns < 20 {
		indent.Text = ""
	}
	inner := narrower(page, len(indent.Text))
	if lang != "" {
		lines = append(lines, Line{indent, {inner.Method.Truncate(lang, inner.Columns, "…"), Faint}})
	}
	for _, text := range code {
		text = strings.TrimRight(expandTabs(text, inner.Method), " ")
		for {
			head, rest := cutAt(text, inner)
			if head == "" && rest == "" {
				lines = append(lines, nil)
				break
			}
			lines = append(lines, Line{indent, {head, Code}})
			if text = rest; text == "" {
				break
			}
		}
	}
	return lines
}

func expandTabs(text string, m ansi.Method) string {
	if !strings.Contains(text, "\t") {
		return text
	}
	var b strings.Builder
	column := 0
	for i, part := range strings.Split(text, "\t") {
		if i > 0 {
			gap := tabWidth - column%tabWidth
			b.WriteString(strings.Repeat(" ", gap))
			column += gap
		}
		b.WriteString(part)
		column += m.StringWidth(part)
	}
	return b.String()
}

// cutAt splits text where the page ends; head has at least one character if text has.
func cutAt(text string, page Page) (head, rest string) {
	width, at := 0, 0
	for at < len(text) {
		cluster, w := ansi.FirstGraphemeCluster(text[at:], page.Method)
		if width += w; width > page.Columns && at > 0 {
			break
		}
		at += len(cluster)
	}
	return text[:at], text[at:]
}

func spansWidth(spans []Span, m ansi.Method) (width int) {
	for _, s := range spans {
		width += m.StringWidth(s.Text)
	}
	return width
}

// A wrapper sets spans into lines, breaking between words, between characters that are two columns wide, and within a
// word only where it is wider than the page.
type wrapper struct {
	page  Page
	lines []Line
	line  Line
	used  int    // columns of line
	space []Span // what stands between line and word; left out where a line ends
	word  []Span
	wide  int // columns of word
	gap   int // columns of space
}

func wrap(spans []Span, page Page) []Line {
	w := wrapper{page: page}
	for _, s := range spans {
		for i, part := range strings.Split(s.Text, "\n") {
			if i > 0 {
				w.endWord()
				w.endLine()
			}
			w.add(strings.ReplaceAll(part, "\t", " "), s.Style)
		}
	}
	w.endWord()
	if len(w.line) > 0 || len(w.lines) == 0 {
		w.endLine()
	}
	return w.lines
}

func (w *wrapper) add(text string, style Style) {
	for text != "" {
		if n := plainWord(text, w.page.Columns); n > 0 && w.wide+n <= w.page.Columns {
			w.word = appendText(w.word, text[:n], style)
			w.wide += n
			text = text[n:]
			continue
		}
		cluster, width := ansi.FirstGraphemeCluster(text, w.page.Method)
		if cluster == "" { // cannot be; it must not loop
			return
		}
		text = text[len(cluster):]
		if cluster == " " {
			w.endWord()
			if w.used > 0 {
				w.space = appendText(w.space, cluster, style)
				w.gap += width
			}
			continue
		}
		if width > 1 || w.wide+width > w.page.Columns {
			w.endWord()
		}
		w.word = appendText(w.word, cluster, style)
		if w.wide += width; width > 1 {
			w.endWord()
		}
	}
}

// plainWord is how many characters text begins with, up to most, that are one column wide whatever follows them: the
// usual case, which needs no tables.
func plainWord(text string, most int) (n int) {
	for n < min(len(text), most) && text[n] > ' ' && text[n] < 0x7f {
		n++
	}
	if n < len(text) && text[n] >= 0x80 {
		n-- // a mark may follow that belongs to the last one
	}
	return n
}

// endWord sets the word, on a new line if there is no room on this one.
func (w *wrapper) endWord() {
	if len(w.word) == 0 {
		return
	}
	if w.used > 0 && w.used+w.gap+w.wide > w.page.Columns {
		w.endLine()
	}
	for _, spans := range [][]Span{w.space, w.word} {
		for _, s := range spans {
			w.line = appendText(w.line, s.Text, s.Style)
		}
	}
	w.used += w.gap + w.wide
	w.space, w.gap, w.word, w.wide = w.space[:0], 0, w.word[:0], 0
}

func (w *wrapper) endLine() {
	w.lines = append(w.lines, w.line)
	w.line, w.used, w.space, w.gap = nil, 0, w.space[:0], 0
}

// appendText adds to the last span where that has the same style.
func appendText(spans []Span, text string, style Style) []Span {
	if n := len(spans); n > 0 && spans[n-1].Style == style {
		spans[n-1].Text += text
		return spans
	}
	return append(spans, Span{text, style})
}

// Wrap sets a text that is no Markdown: each of its lines, with its indent, on as many rows as it takes.
func Wrap(text string, page Page) (lines []Line) {
	page.Columns = max(page.Columns, 1)
	for line := range strings.SplitSeq(text, "\n") {
		line = expandTabs(line, page.Method)
		body := strings.TrimLeft(line, " ")
		margin := min(len(line)-len(body), page.Columns/2)
		inner := Span{strings.Repeat(" ", margin), 0}
		if rows := wrap([]Span{{body, 0}}, Page{page.Columns - margin, page.Method}); margin > 0 {
			lines = append(lines, indentLines(rows, inner, inner, 0)...)
		} else {
			lines = append(lines, rows...)
		}
	}
	return lines
}
