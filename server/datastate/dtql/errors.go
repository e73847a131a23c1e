package dtql

import (
	"fmt"
	"strconv"
	"strings"
)

// Error says what is wrong with a document, and where.
type Error struct {
	Path    string // "where.and[0]"; "": the document as a whole
	Line    int    // 1 is the first; 0: not known, as in a tree that was never text
	Column  int    // in characters, 1 is the first; 0: not known
	Message string
}

func (e *Error) Error() string {
	text := e.Message
	// "from.name is required" names its place itself.
	if e.Path != "" && !strings.HasPrefix(text, e.Path+" ") {
		text = e.Path + ": " + text
	}
	return text + position(e.Line, e.Column)
}

// UnsupportedError says that a document is understood but not executed here. It is no verdict about data: whoever judges
// answers "unsupported", neither pass nor fail.
type UnsupportedError struct {
	Construct string // "derived table"
	Path      string
	Line      int // as in Error
	Column    int
}

func (e *UnsupportedError) Error() string {
	return "unsupported: " + e.Construct + " at " + e.Path + position(e.Line, e.Column)
}

func position(line, column int) string {
	switch {
	case line <= 0:
		return ""
	case column <= 0:
		return " (line " + strconv.Itoa(line) + ")"
	}
	return " (line " + strconv.Itoa(line) + ", column " + strconv.Itoa(column) + ")"
}

// A Path is a place in a document. The nil Path is the document itself; Key and Index go further down and leave the
// Path they start from as it is. Who walks a tree carries one along and pays for its text only when there is an error.
type Path struct {
	up    *Path
	key   string
	index int  // -1: key counts
	off   bool // of a walk that keeps no places
}

// Key is the member called name of what is here.
func (p *Path) Key(name string) *Path {
	if p != nil && p.off {
		return p
	}
	return &Path{up: p, key: name, index: -1}
}

// Index is the element i of the list that is here, from 0.
func (p *Path) Index(i int) *Path {
	if p != nil && p.off {
		return p
	}
	return &Path{up: p, index: i}
}

// placed walks without keeping track of places, which nearly always nobody asks for, and once more with them where there
// is an error to tell.
func placed(walk func(*Path) error) error {
	if walk(&Path{off: true}) == nil {
		return nil
	}
	return walk(nil)
}

// String writes the place as errors name it: where.and[0].left.
func (p *Path) String() string {
	var b strings.Builder
	p.write(&b)
	return b.String()
}

func (p *Path) write(b *strings.Builder) {
	if p == nil || p.off {
		return
	}
	p.up.write(b)
	if p.index >= 0 {
		b.WriteString("[" + strconv.Itoa(p.index) + "]")
		return
	}
	if b.Len() > 0 {
		b.WriteByte('.')
	}
	if isPlainKey(p.key) {
		b.WriteString(p.key)
	} else {
		b.WriteString(strconv.Quote(shorten(p.key))) // a foreign key: no line of a message is broken by it
	}
}

// err makes an Error of which the place is a prefix: "where.and[0]: group must have …".
func (p *Path) err(format string, args ...any) *Error {
	return &Error{Path: p.String(), Message: fmt.Sprintf(format, args...)}
}

// is makes an Error of which the place is the subject: "from.name is required".
func (p *Path) is(format string, args ...any) *Error {
	path := p.String()
	if path == "" {
		path = "document"
	}
	return &Error{Path: p.String(), Message: path + " " + fmt.Sprintf(format, args...)}
}

func (p *Path) unsupported(construct string) *UnsupportedError {
	return &UnsupportedError{Construct: construct, Path: p.String()}
}
