package plain

import (
	"fmt"
	"io"
	"strings"
	"time"

	"chatwright.dev/tray/app/attach/safetext"
	"chatwright.dev/tray/server/protocol"
)

// Markdown writes a session as a document: who said what below a heading each, what the model thought as a quote.
type Markdown struct {
	W       io.Writer
	Session protocol.Session

	text    strings.Builder // of the section that is not written yet
	section string
	begun   bool
	err     error
}

// Apply writes what an event says.
func (m *Markdown) Apply(e protocol.Event) error {
	switch e.Type {
	case protocol.EventTurnStarted:
		decode(e, func(t protocol.TurnStarted) { m.say("You", t.Text) })
	case protocol.EventTurnSteered:
		decode(e, func(t protocol.TurnSteered) { m.say("You", t.Text) })
	case protocol.EventMessageDelta:
		decode(e, func(d protocol.MessageDelta) { m.goOn("Model", d.Text) })
	case protocol.EventMessageReasoning:
		decode(e, func(d protocol.MessageDelta) { m.goOn("Thoughts of the model", d.Text) })
	case protocol.EventSessionError:
		decode(e, func(s protocol.SessionError) { m.say("Error", s.Message) })
	case protocol.EventTurnCompleted:
		decode(e, func(t protocol.TurnCompleted) {
			if m.flush(); t.Reason != protocol.TurnDone && t.Reason != protocol.TurnError {
				m.write("*" + strings.ReplaceAll(string(t.Reason), "_", " ") + "*\n\n")
			}
		})
	}
	return m.err
}

// End writes what is left.
func (m *Markdown) End() error {
	m.flush()
	m.begin()
	return m.err
}

func (m *Markdown) say(who, text string) {
	m.flush()
	m.goOn(who, text)
	m.flush()
}

func (m *Markdown) goOn(who, text string) {
	if who != m.section {
		m.flush()
		m.section = who
	}
	m.text.WriteString(text)
}

// flush writes the section that was begun.
func (m *Markdown) flush() {
	text := strings.Trim(safetext.Text(m.text.String()), "\n")
	m.text.Reset()
	if section := m.section; section != "" {
		m.begin()
		if m.section = ""; section == "Thoughts of the model" {
			text = "> " + strings.ReplaceAll(text, "\n", "\n> ")
		}
		m.write("## " + section + "\n\n" + text + "\n\n")
	}
}

// begin writes the head of the document.
func (m *Markdown) begin() {
	if m.begun {
		return
	}
	m.begun = true
	title := safetext.Line(m.Session.Title)
	if title == "" {
		title = "Session " + m.Session.ID
	}
	m.write(fmt.Sprintf("# %s\n\n", title))
	for _, row := range [][2]string{
		{"Session", m.Session.ID}, {"Begun", m.Session.CreatedAt.UTC().Format(time.RFC3339)},
		{"Workspace", m.Session.Workspace}, {"Model", m.Session.Model},
	} {
		if row[1] != "" {
			m.write("- " + row[0] + ": " + safetext.Line(row[1]) + "\n")
		}
	}
	m.write("\n")
}

func (m *Markdown) write(text string) {
	if m.err == nil {
		_, m.err = io.WriteString(m.W, text)
	}
}
