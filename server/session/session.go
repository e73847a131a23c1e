package session

import (
	"context"

	"chatwright.dev/tray/server/protocol"
)

// Session is one live conversation. It is safe for concurrent use.
type Session struct{}

// ID is the session's id.
func (s *Session) ID() string { panic("not yet") }

// Info is the session as clients see it.
func (s *Session) Info() protocol.Session { panic("not yet") }

// StartTurn begins a turn and returns its id.
func (s *Session) StartTurn(req protocol.TurnRequest) (turnID string, err error) { panic("not yet") }

// Steer cuts off what the model is saying and says text to it, in the same turn.
func (s *Session) Steer(text string) error { panic("not yet") }

// Interrupt ends the turn that runs, if one does.
func (s *Session) Interrupt() { panic("not yet") }

// Rename gives the session a name; "" takes it away.
func (s *Session) Rename(name string) error { panic("not yet") }

// After returns events that follow seq, oldest first.
func (s *Session) After(seq uint64, limit int) (Page, error) { panic("not yet") }

// Page is what a follower reads at once.
type Page struct {
	Entries []Entry
	// Changed is closed at the next event. Nil when there are more to be read at once, or when the session has ended.
	Changed <-chan struct{}
	// Ended: nothing will follow what has been read.
	Ended bool
	// Trouble is why nothing can be recorded at present. Nil: there is none.
	Trouble error
}

// Entry is one event as it stands in the record: protocol.Event as JSON on one line, without the newline.
type Entry struct {
	Seq  uint64
	JSON []byte
}

// Error is an error with the code that it is answered with.
type Error struct {
	Code    protocol.ErrorCode
	Message string
}

func (e *Error) Error() string { return e.Message }

var _ = context.Background
