package meter

import "bytes"

// eventSink is told what an event stream carries, as it comes.
type eventSink interface {
	data(p []byte)      // a piece of the data of the event; the lines of one event are told with "\n" between them
	name(p []byte)      // a piece of the value of an "event" field
	endEvent(seen bool) // the event is over; seen says whether it had data
}

// sseScanner takes an event stream apart, in pieces of any size, as the HTML standard says: lines end in LF, CR LF or
// CR; a space behind the colon does not count; comments, other fields and a byte order mark are stepped over. It holds
// no line: data goes on as it comes, whatever its length.
type sseScanner struct {
	sink  eventSink
	place place
	field lineField

	head    [len("event")]byte // the name of the field, as far as it can matter
	headLen int                // may grow over len(head): then the name is none of ours
	afterCR bool               // a LF now belongs to the line that ended
	hasData bool               // the event has had a data field
	bom     int                // bytes of the byte order mark met so far; -1 when it can no longer come
}

// place is where in a line the scanner is.
type place uint8

const (
	placeName  place = iota // at the start of a line, or in the field's name
	placeSpace              // behind the colon: one space is left out
	placeValue
)

type lineField uint8

const (
	fieldOther lineField = iota
	fieldData
	fieldEvent
)

const byteOrderMark = "\xEF\xBB\xBF"

// write reads the next piece of the stream.
func (s *sseScanner) write(p []byte) {
	if s.bom >= 0 {
		p = s.skipMark(p)
	}
	var lf, cr seeker
	for i := 0; i < len(p); {
		if s.afterCR {
			s.afterCR = false
			if p[i] == '\n' {
				i++
				continue
			}
		}
		end := min(lf.next(p, i, '\n'), cr.next(p, i, '\r'))
		s.inLine(p[i:end])
		if end < len(p) {
			s.afterCR = p[end] == '\r'
			s.endLine()
		}
		i = end + 1
	}
}

// seeker finds the next place of a byte and remembers it, so that a piece is searched once and not once a line.
type seeker struct {
	at    int
	valid bool
}

func (k *seeker) next(p []byte, from int, c byte) int {
	if !k.valid || k.at < from {
		k.at, k.valid = len(p), true
		if n := bytes.IndexByte(p[from:], c); n >= 0 {
			k.at = from + n
		}
	}
	return k.at
}

func (s *sseScanner) skipMark(p []byte) []byte {
	for i, c := range p {
		if s.bom == len(byteOrderMark) || c != byteOrderMark[s.bom] {
			// What looked like a mark and is none is the start of a field that is none of ours.
			if s.bom < len(byteOrderMark) {
				s.headLen += s.bom
			}
			s.bom = -1
			return p[i:]
		}
		s.bom++
	}
	return nil
}

// inLine takes bytes of one line, without its end.
func (s *sseScanner) inLine(p []byte) {
	if s.place == placeName {
		colon := bytes.IndexByte(p, ':')
		name := p
		if colon >= 0 {
			name = p[:colon]
		}
		if s.headLen < len(s.head) {
			copy(s.head[s.headLen:], name)
		}
		s.headLen += len(name)
		if colon < 0 {
			return
		}
		s.startValue()
		p = p[colon+1:]
	}
	if s.place == placeSpace && len(p) > 0 {
		s.place = placeValue
		if p[0] == ' ' {
			p = p[1:]
		}
	}
	if len(p) == 0 {
		return
	}
	switch s.field {
	case fieldData:
		s.sink.data(p)
	case fieldEvent:
		s.sink.name(p)
	}
}

// startValue looks at the name of the field, which has ended.
func (s *sseScanner) startValue() {
	s.place, s.field = placeSpace, fieldOther
	if s.headLen > len(s.head) {
		return
	}
	switch string(s.head[:s.headLen]) {
	case "data":
		s.field = fieldData
		if s.hasData {
			s.sink.data([]byte{'\n'})
		}
		s.hasData = true
	case "event":
		s.field = fieldEvent
	}
}

func (s *sseScanner) endLine() {
	blank := s.place == placeName && s.headLen == 0
	if s.place == placeName && !blank {
		s.startValue() // a field without a colon has an empty value
	}
	s.place, s.headLen = placeName, 0
	if blank {
		s.endEvent()
	}
}

func (s *sseScanner) endEvent() {
	s.sink.endEvent(s.hasData)
	s.hasData = false
}

// finish says that the stream has ended. By the standard an event without its blank line does not count; servers do
// end like that, so here it does.
func (s *sseScanner) finish() {
	if s.bom > 0 && s.bom < len(byteOrderMark) {
		s.headLen += s.bom
	}
	if s.place != placeName || s.headLen > 0 {
		s.endLine()
	}
	if s.hasData {
		s.endEvent()
	}
}
