// Package plain writes a session as text from top to bottom, for pipes, files and screen readers: no colour, no cursor
// that moves, and nothing of what a model answers that a terminal would obey.
package plain

import (
	"encoding/json"
	"io"
	"strings"

	"chatwright.dev/tray/app/attach/safetext"
	"chatwright.dev/tray/server/protocol"
)

// Printer writes events as they come. The first error of W ends it.
type Printer struct {
	W        io.Writer
	Thoughts bool // what the model thinks, too

	speaker string // of the line that is not ended yet; "": none
	midLine bool
	err     error
}

// Apply writes what an event says.
func (p *Printer) Apply(e protocol.Event) error {
	switch e.Type {
	case protocol.EventTurnStarted:
		decode(e, func(t protocol.TurnStarted) { p.say("You", t.Text) })
	case protocol.EventTurnSteered:
		decode(e, func(t protocol.TurnSteered) { p.say("You", t.Text) })
	case protocol.EventMessageDelta:
		decode(e, func(d protocol.MessageDelta) { p.goOn("Model", d.Text) })
	case protocol.EventMessageReasoning:
		if p.Thoughts {
			decode(e, func(d protocol.MessageDelta) { p.goOn("Thinking", d.Text) })
		}
	case protocol.EventSessionError:
		decode(e, func(s protocol.SessionError) {
			p.say("Error", s.Message)
			if s.Hint != "" {
				p.say("Hint", s.Hint)
			}
		})
	case protocol.EventSessionResumed:
		decode(e, func(s protocol.SessionResumed) { p.note("carries on " + s.SourceID) })
	case protocol.EventSessionRenamed:
		decode(e, func(s protocol.SessionRenamed) { p.note("named " + s.Name) })
	case protocol.EventTurnCompleted:
		decode(e, func(t protocol.TurnCompleted) { p.completed(t.Reason) })
	}
	return p.err
}

// Note writes a line of our own, in brackets.
func (p *Printer) Note(text string) error {
	p.note(text)
	return p.err
}

func decode[P any](e protocol.Event, f func(P)) {
	var payload P
	if json.Unmarshal(e.Payload, &payload) == nil {
		f(payload)
	}
}

func (p *Printer) completed(r protocol.TurnReason) {
	if r != protocol.TurnDone && r != protocol.TurnError {
		p.note(strings.ReplaceAll(string(r), "_", " "))
		return
	}
	p.endLine()
}

// say writes a whole remark.
func (p *Printer) say(who, text string) {
	p.endLine()
	p.goOn(who, text)
	p.endLine()
}

// goOn writes a piece of what somebody says.
func (p *Printer) goOn(who, text string) {
	if p.speaker != who {
		p.endLine()
		p.write(who + ": ")
		p.speaker = who
	}
	p.write(safetext.Text(text))
}

func (p *Printer) note(text string) {
	p.endLine()
	p.write("[" + safetext.Line(text) + "]\n")
}

func (p *Printer) endLine() {
	if p.midLine {
		p.write("\n")
	}
	p.speaker = ""
}

func (p *Printer) write(text string) {
	if p.err != nil || text == "" {
		return
	}
	_, p.err = io.WriteString(p.W, text)
	p.midLine = text[len(text)-1] != '\n'
}
