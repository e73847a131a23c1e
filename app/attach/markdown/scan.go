package markdown

import (
	"strings"
	"unicode/utf8"
)

// A scanner finds where a growing text can be cut: at the top level, where nothing that follows changes what is above.
// It looks at each line once.
type scanner struct {
	at      int  // of tail: the begin of the first line that was not looked at
	blank   bool // the line before at was empty
	started bool // there is something else before at
	glue    bool // tail goes on with a block that was too long
	nested  openFence
	inFence bool // tail begins inside a block of code of the top level
	fence   openFence
}

// openFence is a block of code that has no end yet.
type openFence struct {
	marker string // "" where none is open
	lang   string
	lines  int // how many went into segments
}

// cut moves what is complete from tail to done.
func (d *Document) cut() {
	for {
		end := strings.IndexByte(d.tail[d.scan.at:], '\n')
		if end < 0 {
			d.cutLongLine()
			return
		}
		end += d.scan.at + 1
		d.look(d.scan.at, end)
	}
}

// cutLongLine takes a part of a line that does not end: at a space, where no word is torn, if it has one.
func (d *Document) cutLongLine() {
	s := &d.scan
	if len(d.tail) <= maxTail {
		return
	}
	end := strings.LastIndexByte(d.tail[:maxTail], ' ') + 1
	if strings.TrimSpace(d.tail[:end]) == "" {
		for end = maxTail; end > 0 && !utf8.RuneStart(d.tail[end]); end-- {
		}
	}
	if s.inFence {
		d.addCode(d.tail[:end])
		d.tail, s.at = d.tail[end:], 0
		return
	}
	d.take(end)
	s.at, s.started, s.glue, s.nested = 0, true, true, openFence{}
}

// look looks at the complete line tail[begin:end].
func (d *Document) look(begin, end int) {
	line := d.tail[begin : end-1]
	s := &d.scan
	s.at = end
	if s.inFence {
		d.lookInFence(line, end)
		return
	}
	if s.nested.marker != "" {
		if closesFence(line, s.nested.marker) {
			s.nested = openFence{}
		}
		d.cutIfLong(end)
		return
	}
	if strings.TrimSpace(line) == "" {
		s.blank = true
		return
	}
	indented := line[0] == ' ' || line[0] == '\t'
	marker, lang, isFence := opensFence(line)
	switch {
	case isFence && (!indented || !s.started):
		d.take(begin)
		d.tail, s.at = d.tail[end-begin:], 0
		s.inFence, s.fence = true, openFence{marker: marker, lang: lang}
		return
	case isFence:
		s.nested = openFence{marker: marker}
	case s.blank && s.started && !indented:
		d.take(begin)
	}
	s.blank, s.started = false, true
	if isHeading(line) && !indented {
		d.take(begin)
		d.take(s.at)
		return
	}
	d.cutIfLong(s.at)
}

// lookInFence takes a line of code at once: what follows cannot change it.
func (d *Document) lookInFence(line string, end int) {
	s := &d.scan
	if closesFence(line, s.fence.marker) {
		if s.fence.lines == 0 { // an empty block is shown too
			d.addCode("")
		}
		d.tail, d.scan = d.tail[end:], scanner{}
		return
	}
	d.addCode(d.tail[:end])
	d.tail, s.at = d.tail[end:], 0
}

// maxCode is how long a segment of code grows before the next begins.
const maxCode = 2 << 10

func (d *Document) addCode(text string) {
	s := &d.scan
	first := s.fence.lines == 0
	s.fence.lines++
	if !first {
		if last := d.done[len(d.done)-1]; len(last.text) < maxCode {
			last.text += text
			d.changed()
			return
		}
	}
	next := &segment{text: text, code: true, glued: !first}
	if first {
		next.lang = s.fence.lang
	}
	d.done = append(d.done, next)
}

// take makes tail[:end] a segment, if there is anything in it.
func (d *Document) take(end int) {
	text := d.tail[:end]
	d.tail = d.tail[end:]
	d.scan.at -= end
	d.scan.blank, d.scan.started = false, false
	if strings.TrimSpace(text) != "" {
		d.done = append(d.done, &segment{text: strings.Clone(text), glued: d.scan.glue})
	}
	d.scan.glue = false
}

func (d *Document) cutIfLong(end int) {
	if end > maxTail {
		d.take(end)
		d.scan.nested, d.scan.glue = openFence{}, true
	}
}

// unfinished is what stands in tail, as if it was complete.
func (s *scanner) unfinished(tail string) *segment {
	if !s.inFence {
		return &segment{text: tail, glued: s.glue}
	}
	if s.fence.lines > 0 && closesFence(tail, s.fence.marker) {
		tail = "" // its line break is all that is missing
	}
	last := &segment{text: tail, code: true, glued: s.fence.lines > 0}
	if !last.glued {
		last.lang = s.fence.lang
	}
	return last
}

// opensFence reads the first line of a block of code.
func opensFence(line string) (marker, lang string, ok bool) {
	text := strings.TrimLeft(line, " \t")
	if text == "" || text[0] != '`' && text[0] != '~' {
		return "", "", false
	}
	rest := strings.TrimLeft(text, text[:1])
	marker = text[:len(text)-len(rest)]
	if len(marker) < 3 || marker[0] == '`' && strings.Contains(rest, "`") {
		return "", "", false
	}
	lang, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
	return marker, lang, true
}

// closesFence reports whether a line ends the block of code that marker began.
func closesFence(line, marker string) bool {
	text := strings.TrimSpace(line)
	return len(text) >= len(marker) && strings.Trim(text, marker[:1]) == ""
}

func isHeading(line string) bool {
	level, _ := headingOf(line)
	return level > 0
}

// headingOf reads a heading: its level, from 1, or 0 where the line is none, and its text.
func headingOf(line string) (level int, text string) {
	rest := strings.TrimLeft(line, "#")
	level = len(line) - len(rest)
	if level == 0 || level > 6 || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0, ""
	}
	text = strings.TrimSpace(rest)
	if closed := strings.TrimRight(text, "#"); closed == "" || strings.HasSuffix(closed, " ") {
		text = strings.TrimSpace(closed)
	}
	return level, text
}
