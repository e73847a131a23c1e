// Package attach is the terminal client of a session: a transcript that grows, and a place to write in. Any number of
// clients can be attached to one session, each of them shows what the others say, and none of them owns it: leaving
// changes nothing.
//
// Terminal (terminal.go, the only user of Bubble Tea) keeps a screen.State up to date from keys and events and shows the
// frames that it renders to. Lines (lines.go) does the same job line by line, for pipes and screen readers. A feed
// follows the session for both of them.
//
// A companion that is started anew knows the session from its record only. Then the client says so, keeps what is being
// written, and carries the conversation on in a new session with the next message, or at /resume.
package attach

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"

	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/protocol"
)

// Daemon is what a client asks of the companion.
type Daemon interface {
	Follow(ctx context.Context, id string, from uint64, f client.Follower) error
	Session(ctx context.Context, id string) (protocol.Session, error)
	CreateSession(ctx context.Context, req protocol.CreateSessionRequest) (protocol.Session, error)
	StartTurn(ctx context.Context, id string, req protocol.TurnRequest) (turnID string, err error)
	Steer(ctx context.Context, id, text string) error
	Interrupt(ctx context.Context, id string) error
	RenameSession(ctx context.Context, id, name string) error
}

// A message is what a user says. Its id lets the daemon know it again, so that it is safe to send it once more when an
// answer was lost.
type message struct{ id, text string }

func newMessage(text string) message { return message{rand.Text(), text} }

// deliver sends a message to a session, which is carried on in a new one first where it is only recorded. It returns the
// session that took it.
func deliver(ctx context.Context, d Daemon, s protocol.Session, m message) (protocol.Session, error) {
	if !s.Live {
		resumed, err := d.CreateSession(ctx, protocol.CreateSessionRequest{Resume: s.ID})
		if err != nil {
			return s, err
		}
		s = resumed
	}
	_, err := d.StartTurn(ctx, s.ID, protocol.TurnRequest{Text: m.text, SubmissionID: m.id})
	return s, err
}

// isGone reports whether err says that there is no such session any more.
func isGone(err error) bool {
	answer, ok := errors.AsType[*client.Error](err)
	return ok && answer.Code == protocol.CodeSessionNotFound
}

// submissionOf is the id of the message that began a turn; "" where e is no such begin, or the message had none.
func submissionOf(e protocol.Event) string {
	var started protocol.TurnStarted
	if e.Type != protocol.EventTurnStarted || json.Unmarshal(e.Payload, &started) != nil {
		return ""
	}
	return started.SubmissionID
}
