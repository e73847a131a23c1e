// Package transcript turns the events of a session into what a person reads: who said what, and what became of it. It is
// plain values and no terminal, so that it can be tested as such.
package transcript

import (
	"encoding/json"
	"time"

	"chatwright.dev/tray/app/attach/safetext"
	"chatwright.dev/tray/server/protocol"
)

// maxBytes bounds the text that a transcript keeps. What is older can be read from the record.
const maxBytes = 8 << 20

// Transcript is what happened in a session, as far as its events were applied. The zero value is an empty one. Not safe
// for concurrent use.
type Transcript struct {
	SessionID string
	Workspace string
	Title     string // the name that was given, or the first words
	Model     string
	Source    string // the session that this one carries on; "" where it is none
	LastSeq   uint64

	Turn   string // the one that runs; ""
	Tokens Tokens
	Rate   Rate

	named   bool
	entries []*Entry
	dropped int // how many entries were let go
	bytes   int
	laid    map[*Entry]struct{} // those that hold lines
}

// Tokens counts what the turns so far took. Known says whether any of them told.
type Tokens struct {
	Known   bool
	In, Out int64
}

// Rate is how fast the last turn that told its tokens was written.
type Rate struct {
	PerSecond float64 // 0: unknown
	first     time.Time
}

// Running reports whether a turn runs.
func (t *Transcript) Running() bool { return t.Turn != "" }

// Apply adds an event. An event of a kind that is not known here is left out: the daemon may be newer.
func (t *Transcript) Apply(e protocol.Event) {
	t.LastSeq = e.Seq
	switch e.Type {
	case protocol.EventSessionCreated:
		decode(e, t.created)
	case protocol.EventSessionResumed:
		decode(e, t.resumed)
	case protocol.EventSessionRenamed:
		decode(e, func(p protocol.SessionRenamed) { t.rename(p.Name) })
	case protocol.EventSessionCompacted:
		decode(e, func(protocol.SessionCompacted) {
			t.Note("Earlier turns were replaced by a summary in what the model hears.")
		})
	case protocol.EventSessionError:
		decode(e, func(p protocol.SessionError) { t.fail(p) })
	case protocol.EventTurnStarted:
		decode(e, func(p protocol.TurnStarted) { t.started(p) })
	case protocol.EventTurnSteered:
		decode(e, func(p protocol.TurnSteered) { t.add(Said, p.Text) })
	case protocol.EventTurnCompleted:
		decode(e, func(p protocol.TurnCompleted) { t.completed(p, e.At) })
	case protocol.EventMessageDelta:
		decode(e, func(p protocol.MessageDelta) { t.delta(Answered, p.Text, e.At) })
	case protocol.EventMessageReasoning:
		decode(e, func(p protocol.MessageDelta) { t.delta(Thought, p.Text, e.At) })
	case protocol.EventToolRequested:
		decode(e, func(p protocol.ToolRequested) { t.Note("The model asks for the tool " + p.Name + ".") })
	case protocol.EventProgress:
		decode(e, func(p protocol.Progress) { t.Note(p.Text) })
	}
}

// decode calls f with the payload of e, unless that is not what it should be: one broken event hides no other.
func decode[P any](e protocol.Event, f func(P)) {
	var payload P
	if json.Unmarshal(e.Payload, &payload) == nil {
		f(payload)
	}
}

func (t *Transcript) created(p protocol.SessionCreated) {
	t.Workspace, t.Model = p.Workspace, p.Model
}

func (t *Transcript) resumed(p protocol.SessionResumed) {
	t.Workspace, t.Model, t.Source = p.Workspace, p.Model, p.SourceID
	t.Note("Carries on the conversation " + p.SourceID + " of " + p.StartedAt.Local().Format("2 January 2006, 15:04") + ".")
}

func (t *Transcript) rename(name string) {
	t.named = name != ""
	if t.Title = safetext.Line(name); t.named {
		return
	}
	for _, e := range t.entries {
		if e.Kind == Said {
			t.Title = titleOf(e.Text())
			return
		}
	}
}

func (t *Transcript) started(p protocol.TurnStarted) {
	t.Turn, t.Rate.first = p.TurnID, time.Time{}
	text := p.Text
	for range p.Images {
		text += "\n[image]"
	}
	e := t.add(Said, text)
	if !t.named && t.Title == "" {
		t.Title = titleOf(e.Text())
	}
}

func (t *Transcript) delta(kind Kind, text string, at time.Time) {
	if t.Rate.first.IsZero() {
		t.Rate.first = at
	}
	text = safetext.Text(text)
	last := t.last()
	if last == nil || last.Kind != kind || !last.open {
		t.add(kind, text).open = true
		return
	}
	last.append(text)
	t.grew(len(text))
}

func (t *Transcript) completed(p protocol.TurnCompleted, at time.Time) {
	if last := t.last(); last != nil {
		last.open = false
	}
	t.Turn = ""
	if p.Model != "" {
		t.Model = safetext.Line(p.Model)
	}
	if p.Usage != nil {
		t.Tokens.Known = true
		t.Tokens.In += p.Usage.InputTokens
		t.Tokens.Out += p.Usage.OutputTokens
		if took := at.Sub(t.Rate.first).Seconds(); !t.Rate.first.IsZero() && took > 0.05 && p.Usage.OutputTokens > 0 {
			t.Rate.PerSecond = float64(p.Usage.OutputTokens) / took
		}
	}
	if words := reasonText(p.Reason); words != "" {
		t.Note(words)
	}
}

// reasonText says how a turn ended that did not simply end.
func reasonText(r protocol.TurnReason) string {
	switch r {
	case protocol.TurnDone, protocol.TurnError: // what went wrong was said
		return ""
	case protocol.TurnInterrupted:
		return "Interrupted."
	case protocol.TurnMaxTokens:
		return "The answer was cut at the model's limit of tokens."
	case protocol.TurnIncomplete:
		return "The answer ended before the model said that it was done."
	case protocol.TurnMaxIterations, protocol.TurnRepeatLoop:
		return "The turn was ended: it did not come to an end by itself."
	}
	return "The turn ended: " + string(r) + "."
}

func (t *Transcript) fail(p protocol.SessionError) {
	text := p.Message
	if p.Hint != "" {
		text += "\n" + p.Hint
	}
	t.add(Failed, text)
}

// SaidBy is what a user said in an event, if it is of that kind.
func SaidBy(e protocol.Event) (text string, ok bool) {
	switch e.Type {
	case protocol.EventTurnStarted:
		decode(e, func(p protocol.TurnStarted) { text, ok = p.Text, true })
	case protocol.EventTurnSteered:
		decode(e, func(p protocol.TurnSteered) { text, ok = p.Text, true })
	}
	return text, ok
}

// Note adds a line of our own.
func (t *Transcript) Note(text string) { t.add(Noted, text) }

// Fail adds an error, with a way out where there is one.
func (t *Transcript) Fail(text, way string) { t.fail(protocol.SessionError{Message: text, Hint: way}) }

func (t *Transcript) add(kind Kind, text string) *Entry {
	if last := t.last(); last != nil {
		last.open = false
	}
	e := &Entry{Kind: kind}
	e.append(safetext.Text(text))
	t.entries = append(t.entries, e)
	t.grew(len(text))
	return e
}

// grew lets the oldest entries go when all of them have become too much.
func (t *Transcript) grew(by int) {
	t.bytes += by
	for t.bytes > maxBytes && len(t.entries) > 1 {
		t.bytes -= t.entries[0].size
		delete(t.laid, t.entries[0])
		t.entries[0] = nil
		t.entries = t.entries[1:]
		t.dropped++
	}
}

func (t *Transcript) last() *Entry {
	if len(t.entries) == 0 {
		return nil
	}
	return t.entries[len(t.entries)-1]
}
