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
	root *node
	sink sink

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
	return jsonScanner{root: root, sink: to, current: root}
}

// reset makes the scanner ready for the next text.
func (s *jsonScanner) reset() {
	s.state, s.depth, s.skip, s.current, s.highest = stateValue, 0, 0, s.root, 0
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
		case stateName:
			if n := s.memberRun(p[i:]); n > 0 {
				i += n
				continue
			}
			i += s.oneByte(p[i])
		default:
			i += s.oneByte(p[i])
		}
	}
}

// oneByte takes a byte outside strings and literals. It returns how many it took.
func (s *jsonScanner) oneByte(c byte) int {
	if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
		s.token(c)
	}
	return 1
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
		at = s.root.around // some servers put their one error object in a list
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
	case startsLiteral(c):
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
		if endsLiteral(c) {
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
