package usage

import (
	"bytes"
	"encoding/json"
	"io"
)

// maxHeld is how much of an event is held back until it is known what it is. An event of usage is far shorter; what is
// longer is none.
const maxHeld = 64 << 10

// Reader reads an event stream and leaves out the events that carry nothing but the usage: those whose data has a usage
// and an empty list of choices. All else passes as it came. An event is held until it is seen that it is none of them,
// which is at its first choice or at its end; so one that has come whole is never held. Comments between events are not
// held at all.
type Reader struct {
	from io.ReadCloser
	err  error
	out  []byte // what Read has not handed on
	room []byte // where it lies

	held    []byte // of the event at hand, while it may be one of usage
	event   state
	inLine  bool // the line at hand has begun
	afterCR bool // a LF now belongs to the line that ended
	dropped bool // which was the last of an event that was left out
}

// state is what is known of the bytes at hand.
type state uint8

const (
	between state = iota // no event has begun
	comment              // the line is one, and no event has begun
	holding              // the event may be one of usage
	passing              // it is not
)

// NewReader returns a Reader of the stream from, which its Close closes.
func NewReader(from io.ReadCloser) *Reader { return &Reader{from: from} }

// Read returns as soon as there is something to hand on.
func (r *Reader) Read(p []byte) (int, error) {
	for len(p) > 0 && len(r.out) == 0 && r.err == nil {
		n, err := r.from.Read(p)
		r.room = r.room[:0]
		r.take(p[:n])
		if err != nil {
			r.err = err
			r.end()
		}
		r.out = r.room
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	if len(r.out) > 0 {
		return n, nil
	}
	return n, r.err
}

// Close closes the stream below.
func (r *Reader) Close() error { return r.from.Close() }

// take takes the next bytes of the stream, line by line.
func (r *Reader) take(p []byte) {
	for len(p) > 0 {
		switch {
		case r.afterCR && p[0] == '\n':
			r.afterCR = false
			if !r.dropped {
				r.put(p[:1])
			}
			p = p[1:]
			continue
		case !r.inLine && (p[0] == '\n' || p[0] == '\r'):
			r.blankLine(p[:1])
			p = p[1:]
			continue
		case !r.inLine && r.event == between && p[0] == ':':
			r.event = comment
		case !r.inLine && r.event == between:
			r.event = holding
		}
		r.afterCR, r.dropped = false, false
		n := bytes.IndexAny(p, "\r\n") + 1
		r.inLine = n == 0
		if r.inLine {
			n = len(p)
		}
		r.put(p[:n])
		if !r.inLine {
			r.afterCR = p[n-1] == '\r'
			if r.event == comment {
				r.event = between
			}
		}
		p = p[n:]
	}
}

// blankLine ends an event.
func (r *Reader) blankLine(end []byte) {
	r.dropped = r.event == holding && isUsage(r.held)
	if !r.dropped {
		r.release()
		r.room = append(r.room, end...)
	}
	r.held, r.event = r.held[:0], between
	r.afterCR = end[0] == '\r'
}

// put keeps bytes of an event that may be one of usage, and hands on all others.
func (r *Reader) put(p []byte) {
	if r.event != holding {
		r.room = append(r.room, p...)
		return
	}
	seen := max(0, len(r.held)-longestChoice)
	r.held = append(r.held, p...)
	if len(r.held) > maxHeld || notJSON(r.held) || hasChoice(r.held[seen:]) {
		r.release()
		r.event = passing
	}
}

func (r *Reader) release() {
	r.room = append(r.room, r.held...)
	r.held = r.held[:0]
}

// end takes the end of the stream, whole or not. Some servers leave out the last blank line.
func (r *Reader) end() {
	if r.event == holding && isUsage(r.held) {
		r.held = r.held[:0]
	}
	r.release()
}

// notJSON says whether an event is seen to be something else, such as the end marker.
func notJSON(event []byte) bool {
	data, ok := bytes.CutPrefix(event, []byte("data:"))
	data = bytes.TrimLeft(data, " ")
	return ok && len(data) > 0 && data[0] != '{' && data[0] != '\r' && data[0] != '\n'
}

// How servers write the start of a list of choices that is not empty. A string cannot hold it: the quotes would have
// backslashes. Who writes it otherwise is understood at the end of the event.
const (
	tightChoice   = `"choices":[{`
	wideChoice    = `"choices": [{`
	longestChoice = len(wideChoice) - 1 // of it, in bytes that were looked at before
)

func hasChoice(p []byte) bool {
	return bytes.Contains(p, []byte(tightChoice)) || bytes.Contains(p, []byte(wideChoice))
}

// isUsage says whether an event carries the usage and no choice. Fields other than data do not matter.
func isUsage(event []byte) bool {
	if !bytes.Contains(event, []byte(`usage`)) {
		return false
	}
	var data []byte
	for line := range bytes.FieldsFuncSeq(event, func(c rune) bool { return c == '\n' || c == '\r' }) {
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(append(data, value...), '\n')
		}
	}
	// A map, since decoding into a struct would not look at the case of names.
	var chunk map[string]json.RawMessage
	if json.Unmarshal(data, &chunk) != nil {
		return false
	}
	var choices []json.RawMessage
	return json.Unmarshal(chunk["choices"], &choices) == nil && choices != nil && len(choices) == 0 &&
		bytes.HasPrefix(chunk["usage"], []byte("{"))
}
