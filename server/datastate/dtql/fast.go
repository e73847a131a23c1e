package dtql

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A fastReader reads the YAML that queries are written in: block and flow mappings and lists, scalars of one line,
// comments. It is here because the library takes five times as long as parsing may take. It never judges: at anything
// else, and at anything wrong, it declines, and the library has the word. What it does accept it reads to the same nodes
// as the library, which a fuzz test holds it to.
type fastReader struct {
	text      string // scalars are parts of it, which costs nothing
	pos       int
	line      int32
	lineStart int
	json      bool   // the text is valid JSON: tabs and CR are white space, \ud83d\ude00 is one character
	nodes     []node // what room takes from
	used      int    // of them
}

// readFast reads a document, or reports false.
func readFast(text []byte) (*node, bool) {
	r := fastReader{text: string(text), line: 1, nodes: make([]node, len(text)/6)}
	if first := bytes.TrimLeft(text, " \t\r\n"); len(first) > 0 && first[0] == '{' {
		r.json = json.Valid(text)
	}
	if !r.json && !simple(r.text) {
		return nil, false
	}
	var root node
	indent, ok := r.nextLine()
	if !ok || !r.block(&root, -1, indent, 1) {
		return nil, false
	}
	_, more := r.nextLine()
	return &root, !more && r.pos == len(text)
}

// simple rules out what would make every rule below longer: tabs, carriage returns, the line breaks of Unicode, marks of
// documents, directives and byte order.
func simple(text string) bool {
	lineStart := true
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			lineStart = true
			continue
		case c < 0x20 || c == 0x7F:
			return false
		case lineStart && (c == '-' || c == '.') && i+2 < len(text) && text[i+1] == c && text[i+2] == c, lineStart && c == '%':
			return false
		case c == 0xC2 && text[i+1] < 0xA0: // U+0080 to U+009F
			return false
		case c == 0xE2 && text[i+1] == 0x80 && (text[i+2] == 0xA8 || text[i+2] == 0xA9): // U+2028, U+2029
			return false
		case c == 0xEF && (text[i+1] == 0xBB && text[i+2] == 0xBF || text[i+1] == 0xBF && text[i+2] >= 0xBE): // U+FEFF, U+FFFE, U+FFFF
			return false
		}
		lineStart = false
	}
	return true
}

func (r *fastReader) peek() byte { return r.at(r.pos) }

// at is the byte at a position; past the end there are line breaks.
func (r *fastReader) at(pos int) byte {
	if pos < len(r.text) {
		return r.text[pos]
	}
	return '\n'
}

func (r *fastReader) column() int32 {
	return int32(utf8.RuneCountInString(r.text[r.lineStart:r.pos])) + 1
}

func (r *fastReader) newline() {
	r.pos++
	r.line++
	r.lineStart = r.pos
}

func (r *fastReader) spaces() {
	for r.pos < len(r.text) && (r.text[r.pos] == ' ' || r.json && (r.text[r.pos] == '\t' || r.text[r.pos] == '\r')) {
		r.pos++
	}
}

// nextLine goes to the first thing on this line or a later one that is no comment, and says how far it is indented. It
// reports false at the end of the text.
func (r *fastReader) nextLine() (indent int, ok bool) {
	for {
		r.spaces()
		switch {
		case r.pos >= len(r.text):
			return 0, false
		case r.text[r.pos] == '#' && r.pos > 0 && r.text[r.pos-1] != ' ' && r.pos != r.lineStart:
			return 0, true // not a comment; whoever is next declines
		case r.text[r.pos] == '#':
			for r.pos < len(r.text) && r.text[r.pos] != '\n' {
				r.pos++
			}
		case r.text[r.pos] != '\n':
			return r.pos - r.lineStart, true
		}
		if r.pos < len(r.text) {
			r.newline()
		}
	}
}

// done reports whether the line has nothing more, and whether the next line with something is not indented deeper than
// indent: then what stands before it is complete.
func (r *fastReader) done(indent int) bool {
	line := r.line
	next, more := r.nextLine()
	return !more || r.line > line && next <= indent
}

// block reads the node that begins here, in the column indent, inside a block with the indent around.
func (r *fastReader) block(n *node, around, indent, depth int) bool {
	switch {
	case indent <= around || depth > MaxDepth+1:
		return false
	case r.dash():
		return r.blockList(n, indent, depth)
	case r.isKey():
		return r.blockMapping(n, indent, depth)
	}
	return r.inline(n, around, depth)
}

// inline reads a flow collection or a scalar, which must be all there is inside the indent around.
func (r *fastReader) inline(n *node, around, depth int) bool {
	start := r.line
	if !r.flowNode(n, false, depth) {
		return false
	}
	// The library has rules of its own about how flow goes on in further lines inside a block.
	if r.line > start && around >= 0 {
		return false
	}
	return r.done(around)
}

func (r *fastReader) start(n *node, k kind, depth int) bool {
	*n = node{kind: k, line: r.line, column: r.column(), items: r.room()}
	return depth <= MaxDepth
}

// room is where a collection puts its first nodes: most have three keys at most. What they left, close takes back.
func (r *fastReader) room() []node {
	const usual = 6
	if len(r.nodes)-r.used < usual {
		return nil
	}
	r.used += usual
	return r.nodes[r.used-usual : r.used-usual : r.used]
}

// close gives back what a collection took and did not need, when nothing was taken since: it holds scalars only.
func (r *fastReader) close(n *node) {
	end := r.used
	if left := cap(n.items) - len(n.items); end > 0 && left > 0 && cap(n.items) <= end && &n.items[:cap(n.items)][cap(n.items)-1] == &r.nodes[end-1] {
		n.items = n.items[:len(n.items):len(n.items)]
		r.used -= left
	}
}

func (r *fastReader) blockList(n *node, indent, depth int) bool {
	if !r.start(n, list, depth) {
		return false
	}
	for {
		r.pos++ // the dash
		line := r.line
		inner, more := r.nextLine()
		n.items = append(n.items, node{})
		// An element that begins on a later line, or is empty, is not what people write.
		if !more || r.line != line || !r.block(&n.items[len(n.items)-1], indent, inner, depth+1) {
			return false
		}
		next, more := r.here()
		if !more || next < indent {
			return true
		}
		if next != indent || !r.dash() {
			// A list may stand in the same column as the key that it is the value of.
			return next == indent && r.isKey()
		}
	}
}

// dash reports whether an element of a block list begins here.
func (r *fastReader) dash() bool {
	return r.peek() == '-' && (r.at(r.pos+1) == ' ' || r.at(r.pos+1) == '\n')
}

// here is where nextLine stopped.
func (r *fastReader) here() (indent int, more bool) {
	return r.pos - r.lineStart, r.pos < len(r.text)
}

func (r *fastReader) blockMapping(n *node, indent, depth int) bool {
	if !r.start(n, mapping, depth) {
		return false
	}
	for {
		n.items = append(n.items, node{}, node{})
		key, value := &n.items[len(n.items)-2], &n.items[len(n.items)-1]
		if !r.flowScalar(key, false) || r.peek() != ':' {
			return false
		}
		r.pos++
		line := r.line
		inner, more := r.nextLine()
		switch {
		case !more:
			return false
		case r.line == line:
			if !r.inline(value, indent, depth+1) {
				return false
			}
		case inner == indent && r.dash():
			if !r.block(value, indent-1, inner, depth+1) {
				return false
			}
		case !r.block(value, indent, inner, depth+1):
			return false
		}
		next, more := r.here()
		if !more || next < indent {
			return true
		}
		if next != indent || !r.isKey() {
			return false
		}
	}
}

// isKey reports whether the line goes on with a plain key, a colon and a space.
func (r *fastReader) isKey() bool {
	pos := r.pos
	for c := r.at(pos); c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'; c = r.at(pos) {
		pos++
	}
	return pos > r.pos && r.at(pos) == ':' && (r.at(pos+1) == ' ' || r.at(pos+1) == '\n')
}

// unquote reads the scalar in double quotes that begins here.
func (r *fastReader) unquote(n *node) bool {
	begin := r.pos + 1
	end := begin
	escaped := false
	for ; r.at(end) != '"'; end++ {
		switch r.at(end) {
		case '\n':
			return false
		case '\\':
			escaped = true
			end++
			// JSON's escapes, and no others. A slash is one of the later versions of YAML.
			if r.at(end) == 'u' && (r.json || !surrogate(r.text[end:])) {
				continue
			}
			if strings.IndexByte(`"\/bfnrt`, r.at(end)) < 0 {
				return false
			}
		}
	}
	r.pos = end + 1
	if !escaped {
		n.value = r.text[begin:end]
		return true
	}
	return json.Unmarshal([]byte(r.text[begin-1:end+1]), &n.value) == nil
}

// surrogate reports whether text, from its u on, is one half of a character.
func surrogate(text string) bool {
	if len(text) < 5 {
		return true
	}
	n, err := strconv.ParseUint(text[1:5], 16, 32)
	return err != nil || n >= 0xD800 && n < 0xE000
}
