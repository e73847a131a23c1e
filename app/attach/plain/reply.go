package plain

import (
	"errors"
	"io"

	"chatwright.dev/tray/app/attach/safetext"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

// ErrInterrupted is how a turn ended that somebody interrupted.
var ErrInterrupted = errors.New("the turn was interrupted")

// Reply writes what the model answers in one turn, and nothing else.
type Reply struct {
	W      io.Writer
	TurnID string

	midLine bool
	failed  error
}

// Apply writes what an event adds to the reply. done says that the turn is over; err is then how it ended, and nil where
// it ended well. What is of other turns is left out.
func (r *Reply) Apply(e protocol.Event) (done bool, err error) {
	switch e.Type {
	case protocol.EventMessageDelta:
		decode(e, func(d protocol.MessageDelta) {
			if d.TurnID == r.TurnID {
				err = r.write(safetext.Text(d.Text))
			}
		})
	case protocol.EventSessionError:
		decode(e, func(s protocol.SessionError) {
			if s.TurnID == r.TurnID {
				r.failed = hint.With(errors.New(s.Message), s.Hint)
			}
		})
	case protocol.EventTurnCompleted:
		decode(e, func(t protocol.TurnCompleted) {
			if t.TurnID == r.TurnID {
				done, err = true, r.end(t.Reason)
			}
		})
	}
	return done, err
}

// end ends the last line and says how the turn ended.
func (r *Reply) end(reason protocol.TurnReason) error {
	if err := r.EndLine(); err != nil {
		return err
	}
	switch reason {
	case protocol.TurnDone:
		return nil
	case protocol.TurnInterrupted:
		return ErrInterrupted
	case protocol.TurnMaxTokens:
		return errors.New("the answer was cut at the model's limit of tokens")
	case protocol.TurnIncomplete:
		return errors.New("the answer ended before the model said that it was done")
	}
	if r.failed != nil {
		return r.failed
	}
	return errors.New("the turn ended: " + string(reason))
}

// EndLine ends the line that was begun, if there is one.
func (r *Reply) EndLine() error {
	if !r.midLine {
		return nil
	}
	return r.write("\n")
}

func (r *Reply) write(text string) error {
	if text == "" {
		return nil
	}
	r.midLine = text[len(text)-1] != '\n'
	_, err := io.WriteString(r.W, text)
	return err
}
