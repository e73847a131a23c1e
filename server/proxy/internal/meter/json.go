package meter

import "unicode/utf8"

// maxText bounds every text that is kept of foreign bytes.
const maxText = 200

// field names a wanted value of a JSON text; 0 is none.
type field uint8

// kind says what a value is.
type kind uint8

const (
	kindString  kind = iota + 1
	kindLiteral      // a number, true, false or null
	kindObject
	kindList // one that has an element: empty lists say nothing
)

// node is a place in a JSON text that is looked into: an object with wanted members, a list with wanted elements. A
// field other than 0 is reported when a value is met at the place. Trees of nodes are at most maxFrames-1 deep.
type node struct {
	name    string
	field   field
	members []*node
	element *node

	byLength [24][]*node // the members by the length of their names: most names that come are ruled out by it
}

// index makes the tree ready to be looked into.
func (n *node) index() *node {
	for _, m := range n.members {
		n.byLength[len(m.name)] = append(n.byLength[len(m.name)], m)
		m.index()
	}
	if n.element != nil {
		n.element.index()
	}
	return n
}

func (n *node) member(name []byte) *node {
	if len(name) >= len(n.byLength) {
		return nil
	}
	for _, m := range n.byLength[len(name)] {
		if m.name == string(name) {
			return m
		}
	}
	return nil
}

// sink is told the wanted values in the order they come. The text is what a string says or how a literal is written,
// cut at maxText or a few bytes more; it is valid until value returns.
type sink interface {
	value(f field, k kind, text []byte)
}

// maxFrames is how many containers are looked into at once.
const maxFrames = 8

// jsonScanner reads a JSON text as it comes, in pieces of any size, and holds no more than one short string of it:
// what nobody asked for is stepped over. On bytes that are no JSON it stops reading and says nothing, since they are
// not its to judge.
type jsonScanner struct {
	root   *node
	around node // a list of roots: some servers put their one error object in a list
	sink   sink

	state  state
	frames [maxFrames]frame // the open containers that are looked into
	depth  int
	skip   int // open containers that are stepped over

	current *node // where the next value is; nil: nobody asked for it
	inName  bool  // the string is the name of a member
	keep    bool  // the text of the string or literal is wanted

	text    [maxText + utf8.UTFMax]byte // with room to see that a cut goes through a character
	length  int
	digits  int  // of \uXXXX that are still to come
	unit    rune // what they say so far
	highest rune // the first half of a surrogate pair that waits for the second; 0: none
}

type frame struct {
	at   *node
	list bool
}

type state uint8

const (
	stateValue   state = iota // a value is next
	stateFirst                // the first element of a list, or its end
	stateName                 // a name, or the end of the object
	stateColon                // the colon behind a name
	stateAfter                // behind a value inside a container
	stateString               // inside a string
	stateEscape               // behind its backslash
	stateHex                  // inside \uXXXX
	stateLiteral              // inside a number or word
	stateSkip                 // inside a container that is stepped over
	stateDone                 // behind the whole text
	stateBroken               // this is no JSON
)

func newJSONScanner(root *node, to sink) jsonScanner {
	return jsonScanner{root: root, around: node{element: root}, sink: to, current: root}
}

// reset makes the scanner ready for the next text.
func (s *jsonScanner) reset() {
	s.state, s.depth, s.skip, s.current = stateValue, 0, 0, s.root
}

// finish says that the text has ended: nothing else ends a number that stands alone.
func (s *jsonScanner) finish() {
	if s.state == stateLiteral {
		s.endLiteral()
	}
}

// write reads the next piece of the text.
func (s *jsonScanner) write(p []byte) {
	for i := 0; i < len(p); {
		switch s.state {
		case stateString:
			i += s.stringRun(p[i:])
		case stateSkip:
			i += s.skipRun(p[i:])
		case stateEscape:
			s.escape(p[i])
			i++
		case stateHex:
			s.hexDigit(p[i])
			i++
		case stateLiteral:
			i += s.literalRun(p[i:])
		case stateDone, stateBroken:
			return
		default:
			if c := p[i]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
				s.token(c)
			}
			i++
		}
	}
}

// token takes one byte that is neither white space nor inside a string or literal.
func (s *jsonScanner) token(c byte) {
	switch s.state {
	case stateValue:
		s.begin(c)
	case stateFirst:
		at := s.frames[s.depth-1].at
		if c == ']' {
			s.pop()
			return
		}
		if at.field != 0 {
			s.sink.value(at.field, kindList, nil)
		}
		s.current = at.element
		s.begin(c)
	case stateName:
		switch c {
		case '"':
			s.inName, s.keep, s.length, s.state = true, true, 0, stateString
		case '}': // also behind a comma: a slip that costs nothing to forgive
			s.pop()
		default:
			s.state = stateBroken
		}
	case stateColon:
		s.state = stateValue
		if c != ':' {
			s.state = stateBroken
		}
	case stateAfter:
		s.after(c)
	}
}

// begin takes the first byte of the value at s.current.
func (s *jsonScanner) begin(c byte) {
	at := s.current
	if s.depth == 0 && c == '[' {
		at = &s.around
	}
	wanted := at != nil && at.field != 0
	switch {
	case c == '"':
		s.inName, s.keep, s.length, s.state = false, wanted, 0, stateString
	case c == '{':
		if wanted {
			s.sink.value(at.field, kindObject, nil)
		}
		s.open(at, at != nil && at.members != nil, stateName)
	case c == '[':
		s.open(at, wanted || at != nil && at.element != nil, stateFirst)
	case c == '-', '0' <= c && c <= '9', c == 't', c == 'f', c == 'n':
		s.keep, s.length, s.state = wanted, 0, stateLiteral
		s.add(c)
	default:
		s.state = stateBroken
	}
}

func (s *jsonScanner) open(at *node, inside bool, next state) {
	if !inside || s.depth == maxFrames {
		s.skip, s.state = 1, stateSkip
		return
	}
	s.frames[s.depth] = frame{at, next == stateFirst}
	s.depth++
	s.state = next
}

func (s *jsonScanner) pop() {
	s.depth--
	s.endValue()
}

func (s *jsonScanner) endValue() {
	s.state = stateAfter
	if s.depth == 0 {
		s.state = stateDone
	}
}

func (s *jsonScanner) after(c byte) {
	top := s.frames[s.depth-1]
	switch {
	case c == ',' && top.list:
		s.current, s.state = top.at.element, stateValue
	case c == ',':
		s.state = stateName
	case c == ']' && top.list, c == '}' && !top.list:
		s.pop()
	default:
		s.state = stateBroken
	}
}

// skipRun steps over a container: only strings can hide its end. It returns how many bytes it took.
func (s *jsonScanner) skipRun(p []byte) int {
	for i, c := range p {
		switch c {
		case '"':
			s.inName, s.keep, s.state = false, false, stateString
			return i + 1
		case '{', '[':
			s.skip++
		case '}', ']':
			if s.skip--; s.skip == 0 {
				s.endValue()
				return i + 1
			}
		}
	}
	return len(p)
}

func (s *jsonScanner) literalRun(p []byte) int {
	for i, c := range p {
		switch c {
		case ',', ']', '}', ' ', '\n', '\t', '\r':
			s.endLiteral()
			return i
		}
		s.add(c)
	}
	return len(p)
}

func (s *jsonScanner) endLiteral() {
	if s.keep {
		s.sink.value(s.current.field, kindLiteral, s.text[:s.length])
	}
	s.endValue()
}

// stringRun takes the bytes of a string up to its end or the next backslash.
func (s *jsonScanner) stringRun(p []byte) int {
	i := len(p)
	for at, c := range p {
		if c == '"' || c == '\\' {
			i = at
			break
		}
	}
	if s.keep && s.length == 0 && s.highest == 0 && i < min(len(p), len(s.text)) && p[i] == '"' {
		s.endString(p[:i]) // it lies before us whole: no need to copy it
		return i + 1
	}
	if s.keep {
		s.endPair(i > 0)
		s.length += copy(s.text[s.length:], p[:i])
	}
	if i == len(p) {
		return i
	}
	if p[i] == '\\' {
		s.state = stateEscape
	} else {
		s.endPair(true)
		s.endString(s.text[:s.length])
	}
	return i + 1
}

func (s *jsonScanner) endString(text []byte) {
	switch {
	case s.skip > 0:
		s.state = stateSkip
	case s.inName:
		s.current = s.frames[s.depth-1].at.member(text)
		s.state = stateColon
	default:
		if s.keep {
			s.sink.value(s.current.field, kindString, text)
		}
		s.endValue()
	}
}

// add keeps one byte while there is room.
func (s *jsonScanner) add(c byte) {
	if s.keep && s.length < len(s.text) {
		s.text[s.length] = c
		s.length++
	}
}

func (s *jsonScanner) escape(c byte) {
	s.state = stateString
	if c == 'u' {
		s.digits, s.unit, s.state = 4, 0, stateHex
		return
	}
	s.endPair(true)
	switch c {
	case 'n':
		c = '\n'
	case 't':
		c = '\t'
	case 'r':
		c = '\r'
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	}
	s.add(c)
}

func (s *jsonScanner) hexDigit(c byte) {
	switch {
	case '0' <= c && c <= '9':
		c -= '0'
	case 'a' <= c && c <= 'f':
		c -= 'a' - 10
	case 'A' <= c && c <= 'F':
		c -= 'A' - 10
	default:
		s.state = stateBroken
		return
	}
	s.unit = s.unit<<4 | rune(c)
	if s.digits--; s.digits > 0 {
		return
	}
	s.state = stateString
	switch {
	case s.highest != 0 && 0xDC00 <= s.unit && s.unit < 0xE000:
		s.addRune(0x10000 + (s.highest-0xD800)<<10 + (s.unit - 0xDC00))
		s.highest = 0
	case 0xD800 <= s.unit && s.unit < 0xDC00:
		s.endPair(true)
		s.highest = s.unit
	default:
		s.endPair(true)
		s.addRune(s.unit) // half a pair becomes U+FFFD
	}
}

// endPair gives up on the second half of a pair when something else came.
func (s *jsonScanner) endPair(came bool) {
	if came && s.highest != 0 {
		s.highest = 0
		s.addRune(utf8.RuneError)
	}
}

func (s *jsonScanner) addRune(r rune) {
	if s.keep {
		var b [utf8.UTFMax]byte
		s.length += copy(s.text[s.length:], b[:utf8.EncodeRune(b[:], r)])
	}
}
