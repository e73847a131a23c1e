package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"chatwright.dev/tray/server/protocol"
)

// Follower is told what happens in a session, one call at a time.
type Follower struct {
	// Event is called with each event, in order and without a gap, whatever was lost on the way. Its error ends Follow.
	Event func(protocol.Event) error
	// Lost is told why the stream broke, once for each time; Follow connects again by itself. Nil: nobody is told.
	Lost func(error)
	// Back is told that the stream is there again. Nil: nobody is told.
	Back func()
	// Trouble is told that nothing can be recorded at present, so that what happens cannot be shown. Nil: nobody is told.
	Trouble func(protocol.Error)
}

// errGap says that an event came whose number does not follow the last. It is asked for again.
var errGap = errors.New("the daemon left out events")

// Follow tells f of a session's events, from the one numbered from on (0: from the first), and of those to come. It ends
// with nil when the session has ended and everything was told, with the error of f.Event, or with that of ctx. When the
// first attempt to connect fails, it returns why; after that a loss is not the end: it connects again, waiting longer
// each time, and reads on from where it was.
func (c *Client) Follow(ctx context.Context, id string, from uint64, f Follower) error {
	next, again := max(from, 1), false
	return stay(ctx, f.Lost, func() (got bool, err error) {
		path := sessionPath(id, "/events?from="+strconv.FormatUint(next, 10))
		open := func() {
			if again && f.Back != nil {
				f.Back()
			}
			got, again = true, true
		}
		err = c.stream(ctx, path, open, func(name string, data []byte) error {
			switch name {
			case protocol.FrameClosed:
				return callerError{nil}
			case protocol.FrameTrouble:
				return tellTrouble(data, f.Trouble)
			case "":
				return tellEvent(data, &next, f.Event)
			}
			return nil // of a newer daemon
		})
		return got, err
	})
}

func tellTrouble(data []byte, tell func(protocol.Error)) error {
	var trouble protocol.Error
	if err := json.Unmarshal(data, &trouble); err != nil {
		return fmt.Errorf("decoding a trouble: %w", err)
	}
	if tell != nil {
		tell(trouble)
	}
	return nil
}

// tellEvent tells of the event that is next, and moves on.
func tellEvent(data []byte, next *uint64, tell func(protocol.Event) error) error {
	var event protocol.Event
	if err := json.Unmarshal(data, &event); err != nil {
		return fmt.Errorf("decoding an event: %w", err)
	}
	if event.Seq < *next {
		return nil // seen before
	}
	if event.Seq > *next {
		return errGap
	}
	if err := tell(event); err != nil {
		return callerError{err}
	}
	*next++
	return nil
}
