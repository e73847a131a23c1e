package transcript

import (
	"strings"
	"unicode"

	"chatwright.dev/tray/app/attach/markdown"
)

// Place is a row of the transcript: row Line of entry Entry, which counts from the first entry that there ever was. The
// row after the last of an entry is the empty one below it.
type Place struct{ Entry, Line int }

// Row is one row of a window.
type Row struct {
	Kind Kind
	Mark string // what stands before Line: two columns
	Line markdown.Line
	At   Place
}

// View says how a transcript is shown.
type View struct {
	Page markdown.Page
	Fold bool // the thoughts of models are one row each
}

// height is how many rows an entry takes, with the empty one below it.
func (t *Transcript) height(i int, v View) int {
	return len(t.lay(i, v)) + 1
}

// lay lays an entry out and keeps in mind that it holds lines now.
func (t *Transcript) lay(i int, v View) []markdown.Line {
	e := t.entries[i-t.dropped]
	if t.laid == nil {
		t.laid = map[*Entry]struct{}{}
	}
	t.laid[e] = struct{}{}
	return e.Lines(v.Page, v.Fold)
}

// end is the number of the entry after the last.
func (t *Transcript) end() int { return t.dropped + len(t.entries) }

// Len is how many entries there are.
func (t *Transcript) Len() int { return len(t.entries) }

// Dropped is how many entries were let go since all of them were too much.
func (t *Transcript) Dropped() int { return t.dropped }

// Bottom is the place from which a window of so many rows shows the end.
func (t *Transcript) Bottom(rows int, v View) Place {
	return t.Move(Place{t.end(), 0}, -rows-1, v) // the empty row below the last entry is not shown
}

// Move is the place so many rows further down, or up where rows is negative; it stays within the transcript.
func (t *Transcript) Move(from Place, rows int, v View) Place {
	at := t.clamp(from, v)
	at.Line += rows
	for at.Line < 0 {
		if at.Entry <= t.dropped {
			return Place{t.dropped, 0}
		}
		at.Entry--
		at.Line += t.height(at.Entry, v)
	}
	for at.Entry < t.end() {
		height := t.height(at.Entry, v)
		if at.Line < height {
			return at
		}
		at.Entry++
		at.Line -= height
	}
	return Place{t.end(), 0}
}

// clamp is a place that there is: entries are let go, and pages become wider.
func (t *Transcript) clamp(at Place, v View) Place {
	switch {
	case at.Entry < t.dropped:
		return Place{t.dropped, 0}
	case at.Entry >= t.end():
		return Place{t.end(), 0}
	}
	at.Line = min(at.Line, t.height(at.Entry, v)-1)
	return at
}

// Window is up to so many rows from a place on. It lets go the lines of entries that are far from it, so that what a
// transcript holds does not grow with how much of it was looked at.
func (t *Transcript) Window(from Place, rows int, v View) (window []Row) {
	at := t.clamp(from, v)
	first := at.Entry
	for ; at.Entry < t.end() && len(window) < rows; at = (Place{at.Entry + 1, 0}) {
		e := t.entries[at.Entry-t.dropped]
		lines := t.lay(at.Entry, v)
		for n := at.Line; n <= len(lines) && len(window) < rows; n++ {
			row := Row{Kind: e.Kind, Mark: plain, At: Place{at.Entry, n}}
			if n < len(lines) {
				row.Line, row.Mark = lines[n], e.Mark(n, v.Fold)
			}
			window = append(window, row)
		}
	}
	t.forgetBut(first, at.Entry)
	return window
}

// MaxLaid is how many entries may hold lines before those are let go that are not shown.
const MaxLaid = 64

func (t *Transcript) forgetBut(first, end int) {
	if len(t.laid) <= MaxLaid {
		return
	}
	keep := map[*Entry]struct{}{}
	for i := max(first-MaxLaid/4, t.dropped); i < min(end+MaxLaid/4, t.end()); i++ {
		keep[t.entries[i-t.dropped]] = struct{}{}
	}
	for e := range t.laid {
		if _, ok := keep[e]; !ok {
			e.forget()
			delete(t.laid, e)
		}
	}
}

// Find is the next row that holds a text, in upper or lower case, from a place on: downwards, or upwards with up. It goes
// on at the other end where there is none before it, and reports whether there is one at all.
func (t *Transcript) Find(text string, from Place, up bool, v View) (Place, bool) {
	want := fold(text)
	n := len(t.entries)
	if want == "" || n == 0 {
		return from, false
	}
	at := t.clamp(from, v)
	if at.Entry == t.end() {
		at = Place{t.end() - 1, t.height(t.end()-1, v)}
	}
	step := 1
	if up {
		step = -1
	}
	for i := range n + 1 { // the first entry once more: what is on its other side
		k := t.dropped + ((at.Entry-t.dropped+i*step)%n+n)%n
		if line, ok := t.findIn(k, want, at, i == 0, up, v); ok {
			return Place{k, line}, true
		}
	}
	return from, false
}

func (t *Transcript) findIn(k int, want string, at Place, isFirst, up bool, v View) (int, bool) {
	if !strings.Contains(fold(t.entries[k-t.dropped].Text()), want) && !isFirst && t.entries[k-t.dropped].Kind != Thought {
		// Markdown only takes marks away and puts line breaks in, so most entries need not be laid out.
		if !strings.Contains(unmarked(t.entries[k-t.dropped].Text()), want) {
			return 0, false
		}
	}
	lines := t.lay(k, v)
	found, ok := 0, false
	for n, line := range lines {
		if isFirst && (up && n >= at.Line || !up && n <= at.Line) || !strings.Contains(fold(line.String()), want) {
			continue
		}
		if found, ok = n, true; !up {
			return n, true
		}
	}
	return found, ok
}

// fold makes letters alike that differ only in case.
func fold(text string) string { return strings.Map(unicode.ToLower, text) }

// unmarked is text without the marks of Markdown, as a search reads it.
func unmarked(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("*_`~\\", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
}

// Laid is how many entries hold lines.
func (t *Transcript) Laid() int { return len(t.laid) }
