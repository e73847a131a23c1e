// Package meter reads what the proxy wants to know from bytes that pass: of a request its model, of an answer its usage
// and how it ended. It keeps none of the bytes, changes none, and needs a few kilobytes whatever the size of what
// passes.
package meter

import (
	"bytes"
	"time"
)

// Format says how an answer is built.
type Format uint8

// The formats.
const (
	JSON        Format = iota // one JSON text, or what turns out to be none
	EventStream               // server-sent events
	JSONLines                 // one JSON text a line
)

// Meter reads one answer. It is not safe for concurrent use.
type Meter struct {
	format Format
	answer answer
	events sseScanner
	lines  bool // a line of JSONLines has begun
	decode *decoder
}

// Reader makes meters. Make one with NewReader; it is safe for concurrent use.
type Reader struct {
	answers  *node
	requests *node
}

// NewReader returns a Reader.
func NewReader() *Reader { return &Reader{newTree(answerTree()), newTree(requestTree())} }

// Answer returns a Meter for an answer in a format, whose bytes have the content coding; "" and "identity" are none. A
// coding that is not known leaves the answer unread. Close must be called: it ends what decodes.
func (r *Reader) Answer(format Format, coding string) *Meter {
	m := &Meter{format: format}
	m.answer.init(r.answers, time.Now)
	m.events.sink = &m.answer
	m.decode = newDecoder(coding, m)
	return m
}

// Write reads the next bytes of the answer.
func (m *Meter) Write(p []byte) {
	if m.decode != nil {
		m.decode.write(p)
		return
	}
	m.read(p)
}

func (m *Meter) read(p []byte) {
	switch m.format {
	case EventStream:
		m.events.write(p)
	case JSONLines:
		m.readLines(p)
	default:
		m.answer.json.write(p)
	}
}

func (m *Meter) readLines(p []byte) {
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte{'\n'})
		m.lines = m.lines || len(bytes.TrimSpace(line)) > 0
		m.answer.json.write(line)
		if ended {
			m.endLine()
		}
		p = rest
	}
}

func (m *Meter) endLine() {
	if m.lines {
		m.answer.reading.Events++
	}
	m.lines = false
	m.answer.endText()
}

// Close says that no more bytes come, and returns what was read.
func (m *Meter) Close() Reading {
	if m.decode != nil {
		m.decode.close()
	}
	switch m.format {
	case EventStream:
		m.events.finish()
	case JSONLines:
		m.endLine()
	default:
		m.answer.endText()
	}
	return m.answer.result()
}
