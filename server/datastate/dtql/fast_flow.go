package dtql

import "strings"

// flowNode reads a flow collection or a scalar of one line; in says that it is inside a flow collection.
func (r *fastReader) flowNode(n *node, in bool, depth int) bool {
	switch r.peek() {
	case '{':
		return r.flow(n, mapping, '}', depth)
	case '[':
		return r.flow(n, list, ']', depth)
	}
	return r.flowScalar(n, in)
}

// gap steps over white space and line breaks inside a flow collection. Comments there are the library's.
func (r *fastReader) gap() {
	for {
		r.spaces()
		if r.pos >= len(r.text) || r.text[r.pos] != '\n' {
			return
		}
		r.newline()
	}
}

func (r *fastReader) flow(n *node, k kind, end byte, depth int) bool {
	if !r.start(n, k, depth) {
		return false
	}
	r.pos++
	r.gap()
	if r.peek() == end {
		r.pos++
		r.close(n)
		return true
	}
	for {
		if k == mapping && !r.flowKey(n) {
			return false
		}
		n.items = append(n.items, node{})
		if !r.flowNode(&n.items[len(n.items)-1], true, depth+1) {
			return false
		}
		r.gap()
		switch r.peek() {
		case end:
			r.pos++
			r.close(n)
			return true
		case ',':
			r.pos++
			r.gap()
		default:
			return false
		}
	}
}

// flowKey reads a key and its colon, and goes to the value.
func (r *fastReader) flowKey(n *node) bool {
	n.items = append(n.items, node{})
	key := &n.items[len(n.items)-1]
	begin := r.pos
	const longest = 512 // of a key, to YAML, 1024
	if !r.flowScalar(key, true) || r.pos-begin > longest {
		return false
	}
	if r.json {
		r.gap()
	}
	if r.peek() != ':' {
		return false
	}
	r.pos++
	c := r.peek()
	tight := r.json || key.quoted && c != ',' && c != '}' // "a":1 needs no space, a:1 is a word
	r.gap()
	return tight || c == ' ' || c == '\n'
}

func (r *fastReader) flowScalar(n *node, in bool) bool {
	*n = node{line: r.line, column: r.column()}
	switch c := r.peek(); {
	case c == '"':
		n.quoted = true
		return r.unquote(n)
	case c == '\'':
		n.quoted = true
		return r.single(n)
	case c == '-' && !alphanumeric(r.at(r.pos+1)):
		return false
	case strings.IndexByte("?:,[]{}#&*!|>%@`= \n", c) >= 0:
		return false
	}
	end := r.plainEnd(in)
	n.value = strings.TrimRight(r.text[r.pos:end], " ")
	if r.json {
		n.value = strings.TrimRight(n.value, " \t\r")
	}
	r.pos = end
	return n.value != "" && n.value != "<<"
}

// plainEnd is where the plain scalar ends that begins here: at the end of the line, at a comment, at ": ", and inside a
// flow collection at what separates.
func (r *fastReader) plainEnd(in bool) int {
	for pos := r.pos; ; pos++ {
		switch c := r.at(pos); {
		case c == '\n':
			return pos
		case c == '#' && r.text[pos-1] == ' ':
			return pos
		case c == ':' && (r.at(pos+1) == ' ' || r.at(pos+1) == '\n'):
			return pos
		case in && strings.IndexByte(",[]{}", c) >= 0:
			if r.text[pos-1] == ':' {
				return r.pos // a:] is read in more than one way
			}
			return pos
		}
	}
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '.'
}

// single reads the scalar in single quotes that begins here.
func (r *fastReader) single(n *node) bool {
	begin := r.pos + 1
	doubled := false
	for end := begin; ; end++ {
		switch r.at(end) {
		case '\n':
			return false
		case '\'':
			if r.at(end+1) == '\'' {
				doubled = true
				end++
				continue
			}
			n.value = r.text[begin:end]
			if doubled {
				n.value = strings.ReplaceAll(n.value, "''", "'")
			}
			r.pos = end + 1
			return true
		}
	}
}
