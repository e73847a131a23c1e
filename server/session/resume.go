package session

import (
	"encoding/json"
	"time"

	"chatwright.dev/tray/server/protocol"
)

// A source is the session that another one carries on.
type source struct {
	id      string
	path    string
	summary summary
}

// openSource finds the session to carry on, which may be live as long as no turn of it runs.
func (m *Manager) openSource(id string) (*source, error) {
	if s := m.Get(id); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.turn != nil {
			return nil, &Error{protocol.CodeTurnActive, "a turn of that session is running"}
		}
		return &source{id: id, path: s.rec.path, summary: summary{
			size: s.rec.size, about: s.about, createdAt: s.createdAt, name: s.name,
		}}, nil
	}
	sum, err := m.find(id)
	if err != nil {
		return nil, err
	}
	return &source{id: id, path: m.path(id), summary: sum}, nil
}

// complete fills in what a request leaves to the old session.
func (s *source) complete(req protocol.CreateSessionRequest) protocol.CreateSessionRequest {
	about := s.summary.about
	for of, from := range map[*string]string{
		&req.Workspace: about.Workspace, &req.SandboxMode: about.SandboxMode,
	} {
		if *of == "" {
			*of = from
		}
	}
	// A model belongs to the upstream that it was chosen for.
	if req.Upstream == "" {
		req.Upstream = about.Upstream
		if req.Model == "" {
			req.Model = about.Model
		}
	}
	return req
}

// drafts returns the events that open the log of the new session: where it comes from, then the old conversation with
// its own times, an answer being one event.
func (s *source) drafts(to *Session) ([]draft, error) {
	opening := protocol.SessionResumed{
		SourceID: s.id, StartedAt: s.summary.createdAt,
		Workspace: to.about.Workspace, Model: to.about.Model, Upstream: to.about.Upstream, SandboxMode: to.about.SandboxMode,
	}
	c := copier{to: to, images: imagesOf(s.path), events: []draft{{}}}
	if err := eachEvent(s.path, s.id, s.summary.size, c.copy); err != nil {
		return nil, err
	}
	c.endTurn(protocol.TurnCompleted{Reason: protocol.TurnInterrupted})
	opening.Turns = c.turns
	c.events[0] = draft{protocol.EventSessionResumed, to.createdAt, opening}
	if s.summary.name != "" {
		to.name = s.summary.name
		c.events = append(c.events, draft{protocol.EventSessionRenamed, to.createdAt, protocol.SessionRenamed{Name: to.name}})
	}
	return c.events, nil
}

// A copier writes a conversation anew, with the numbers of another log.
type copier struct {
	to     *Session
	images imageStore
	events []draft

	turns  int
	turnID string // the one that is being copied; "": none
	at     time.Time
	answer []byte
}

func (c *copier) copy(e protocol.Event) error {
	switch e.Type {
	case protocol.EventTurnStarted:
		var p protocol.TurnStarted
		if json.Unmarshal(e.Payload, &p) != nil {
			return nil
		}
		c.endTurn(protocol.TurnCompleted{Reason: protocol.TurnInterrupted})
		images, lost := c.images.load(p.Images)
		refs, err := imagesOf(c.to.rec.path).save(images)
		if err != nil {
			return err
		}
		p.Images, p.Text = refs, p.Text+lost
		c.turns++
		c.turnID = turnIDOf(uint64(len(c.events)) + 1)
		p.TurnID, p.SubmissionID = c.turnID, ""
		if c.to.derived == "" {
			c.to.derived = deriveTitle(p.Text)
		}
		c.add(e, p)
	case protocol.EventTurnSteered:
		var p protocol.TurnSteered
		if json.Unmarshal(e.Payload, &p) == nil {
			c.endAnswer()
			p.TurnID = c.turnID
			c.add(e, p)
		}
	case protocol.EventMessageDelta:
		var p protocol.MessageDelta
		if json.Unmarshal(e.Payload, &p) == nil {
			c.answer, c.at = append(c.answer, p.Text...), e.At
		}
	case protocol.EventTurnCompleted:
		var p protocol.TurnCompleted
		if json.Unmarshal(e.Payload, &p) == nil {
			c.at = e.At
			c.endTurn(p)
		}
	}
	return nil
}

func (c *copier) add(e protocol.Event, payload any) {
	c.at = e.At
	c.events = append(c.events, draft{e.Type, e.At, payload})
}

func (c *copier) endAnswer() {
	c.events = appendText(c.events, protocol.EventMessageDelta, c.at, c.turnID, string(c.answer))
	c.answer = nil
}

func (c *copier) endTurn(p protocol.TurnCompleted) {
	if c.turnID == "" {
		return
	}
	c.endAnswer()
	p.TurnID = c.turnID
	c.events = append(c.events, draft{protocol.EventTurnCompleted, c.at, p})
	c.turnID = ""
}
