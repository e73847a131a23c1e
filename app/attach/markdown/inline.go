package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// parseInline reads emphasis, code and links. All of it gets base, and what it is itself.
func parseInline(text string, base Style) []Span {
	p := inlineParser{rest: text, base: base}
	for p.rest != "" {
		p.step()
	}
	p.flush()
	p.matchEmphasis()
	var spans []Span
	for _, t := range p.tokens {
		if t.text != "" {
			spans = appendText(spans, t.text, t.style)
		}
	}
	return spans
}

// A token is text, or a run of marks that may begin or end an emphasis, or both.
type token struct {
	text        string
	style       Style
	opens, ends bool
	run         bool
}

type inlineParser struct {
	rest   string
	plain  strings.Builder
	before rune // the character before rest
	base   Style
	tokens []token
}

// step reads what rest begins with.
func (p *inlineParser) step() {
	switch c := p.rest[0]; c {
	case '\\':
		if len(p.rest) > 1 && strings.IndexByte("\\`*_{}[]()<>#+-.!~|\"'&$,/:;=?@^%", p.rest[1]) >= 0 {
			p.put(p.rest[1:2])
			p.skip(2)
			return
		}
	case '`':
		p.codeSpan()
		return
	case '*', '_', '~':
		if p.marks(c) {
			return
		}
	case '!', '[':
		if p.link() {
			return
		}
	case '<':
		if p.autolink() {
			return
		}
	}
	r, size := utf8.DecodeRuneInString(p.rest)
	p.plain.WriteString(p.rest[:size])
	p.before = r
	p.rest = p.rest[size:]
}

func (p *inlineParser) put(text string) { p.plain.WriteString(text) }

// skip goes on after n bytes.
func (p *inlineParser) skip(n int) {
	p.before, _ = utf8.DecodeLastRuneInString(p.rest[:n])
	p.rest = p.rest[n:]
}

func (p *inlineParser) flush() {
	if p.plain.Len() > 0 {
		p.tokens = append(p.tokens, token{text: p.plain.String(), style: p.base})
		p.plain.Reset()
	}
}

func (p *inlineParser) emit(text string, style Style) {
	p.flush()
	p.tokens = append(p.tokens, token{text: text, style: p.base | style})
}

// codeSpan reads code between two runs of back quotes of the same length. What has no end is text, all of the run.
func (p *inlineParser) codeSpan() {
	inner := strings.TrimLeft(p.rest, "`")
	n := len(p.rest) - len(inner)
	for at := 0; ; {
		i := strings.IndexByte(inner[at:], '`')
		if i < 0 {
			p.put(p.rest[:n])
			p.skip(n)
			return
		}
		at += i
		run := len(inner[at:]) - len(strings.TrimLeft(inner[at:], "`"))
		if run != n {
			at += run
			continue
		}
		text := strings.ReplaceAll(inner[:at], "\n", " ")
		if len(text) > 2 && text[0] == ' ' && text[len(text)-1] == ' ' && strings.TrimSpace(text) != "" {
			text = text[1 : len(text)-1]
		}
		p.emit(text, Code)
		p.skip(n + at + n)
		return
	}
}

// marks reads a run of the characters that emphasis is made of.
func (p *inlineParser) marks(c byte) bool {
	after := strings.TrimLeft(p.rest, string(c))
	n := len(p.rest) - len(after)
	if c == '~' && n != 2 {
		return false
	}
	next, _ := utf8.DecodeRuneInString(after)
	if after == "" {
		next = ' '
	}
	before := p.before
	if before == 0 {
		before = ' '
	}
	opens := !unicode.IsSpace(next) && (!isPunctuation(next) || unicode.IsSpace(before) || isPunctuation(before))
	ends := !unicode.IsSpace(before) && (!isPunctuation(before) || unicode.IsSpace(next) || isPunctuation(next))
	if c == '_' { // snake_case_names are none
		opens, ends = opens && (!ends || isPunctuation(before)), ends && (!opens || isPunctuation(next))
	}
	p.flush()
	p.tokens = append(p.tokens, token{text: p.rest[:n], style: p.base, opens: opens, ends: ends, run: true})
	p.skip(n)
	return true
}

func isPunctuation(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }

// maxLookBack bounds how many open runs an end is held against, so that nonsense takes no longer than sense.
const maxLookBack = 32

// matchEmphasis finds the pairs among the runs and gives what is between them its style.
func (p *inlineParser) matchEmphasis() {
	var open []int // runs that may begin an emphasis
	for i := range p.tokens {
		if !p.tokens[i].run {
			continue
		}
		if p.tokens[i].ends {
			open = p.close(open, i)
		}
		if p.tokens[i].opens && p.tokens[i].text != "" {
			open = append(open, i)
		}
	}
}

// close matches the run at end with those that are open, and returns which are still.
func (p *inlineParser) close(open []int, end int) []int {
	for at := len(open) - 1; at >= 0 && len(open)-at <= maxLookBack && p.tokens[end].text != ""; {
		first, last := &p.tokens[open[at]], &p.tokens[end]
		if first.text == "" || first.text[0] != last.text[0] {
			at--
			continue
		}
		n, style := 1, Emphasis
		switch {
		case first.text[0] == '~':
			n, style = 2, Struck
		case len(first.text) > 1 && len(last.text) > 1:
			n, style = 2, Strong
		}
		for i := open[at] + 1; i < end; i++ {
			p.tokens[i].style |= style
		}
		first.text, last.text = first.text[n:], last.text[n:]
		if open = open[:at+1]; first.text == "" {
			open = open[:at]
			at--
		}
	}
	return open
}

// link reads [text](target) and ![text](target). The target is shown where it says more than the text.
func (p *inlineParser) link() bool {
	begin := 0
	if p.rest[0] == '!' {
		begin = 1
	}
	if len(p.rest) < begin+2 || p.rest[begin] != '[' || !strings.Contains(p.rest, "](") {
		return false
	}
	end := matching(p.rest[begin:], '[', ']')
	if end < 0 || !strings.HasPrefix(p.rest[begin+end+1:], "(") {
		return false
	}
	text := p.rest[begin+1 : begin+end]
	target := p.rest[begin+end+1:]
	last := matching(target, '(', ')')
	if last < 0 {
		return false
	}
	address, _, _ := strings.Cut(strings.TrimSpace(target[1:last]), " ") // a title follows
	address = strings.Trim(address, "<>")
	p.flush()
	for _, s := range parseInline(text, p.base|Link) {
		p.tokens = append(p.tokens, token{text: s.Text, style: s.Style})
	}
	if address != "" && address != text && "mailto:"+text != address {
		p.emit(" ("+address+")", Faint)
	}
	p.skip(begin + end + 1 + last + 1)
	return true
}

// maxLink bounds a link's text and its target.
const maxLink = 2048

// matching finds the bracket that closes the one that text begins with, or -1.
func matching(text string, opening, closing byte) int {
	depth := 0
	for i := 0; i < min(len(text), maxLink); i++ {
		switch text[i] {
		case '\\':
			i++
		case opening:
			depth++
		case closing:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// autolink reads <https://example.com>.
func (p *inlineParser) autolink() bool {
	inner, _, ok := strings.Cut(p.rest[1:min(len(p.rest), maxLink)], ">")
	if !ok || strings.ContainsAny(inner, " <\n") || !strings.Contains(inner, "://") && !strings.HasPrefix(inner, "mailto:") {
		return false
	}
	p.emit(inner, Link)
	p.skip(len(inner) + 2)
	return true
}
