package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"chatwright.dev/tray/server/protocol"
)

// How long to wait before the next attempt to connect: the first after a loss, and the most.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 3 * time.Second
)

// StatusEvents calls f with the state now and with each newer one, one call at a time. It ends with f's error, or with
// that of ctx. When the first attempt to connect fails, it returns why; once it was connected, a loss is not the end:
// it connects again, waiting longer each time, since a daemon that restarts comes back. Each loss is told to lost, if
// that is not nil, once.
func (c *Client) StatusEvents(ctx context.Context, f func(protocol.Status) error, lost func(error)) error {
	return stay(ctx, lost, func() (got bool, err error) {
		err = c.stream(ctx, "/v1/status/events", nil, func(_ string, data []byte) error {
			var state protocol.Status
			if err := json.Unmarshal(data, &state); err != nil {
				return fmt.Errorf("decoding a status event: %w", err)
			}
			got = true
			if err := f(state); err != nil {
				return callerError{err}
			}
			return nil
		})
		return got, err
	})
}

// stay calls follow again and again, until ctx ends, the caller's own func wants no more, or the daemon refuses. got says
// whether a stream was worth the name: until the first was, failing is the end.
func stay(ctx context.Context, lost func(error), follow func() (got bool, err error)) error {
	wait := firstRetry
	for connected := false; ; {
		got, err := follow()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if refused, ok := errors.AsType[callerError](err); ok {
			return refused.error
		}
		if answer, ok := errors.AsType[*Error](err); ok && answer.Status < http.StatusInternalServerError {
			return err // it would say the same again
		}
		connected = connected || got
		if !connected {
			return err
		}
		if got {
			wait = firstRetry
			if lost != nil {
				lost(err)
			}
		}
		if !pause(ctx, wait) {
			return ctx.Err()
		}
		wait = min(2*wait, lastRetry)
	}
}

// errStreamEnded is how a stream ends that was not broken: the daemon stops.
var errStreamEnded = errors.New("the daemon ended the event stream")

// callerError ends the following of streams for good, with the error in it, which may be nil.
type callerError struct{ error }

func (e callerError) Error() string { return fmt.Sprint(e.error) }

// stream reads one stream to its end. open is called once it has begun, if it is not nil.
func (c *Client) stream(ctx context.Context, path string, open func(), f func(name string, data []byte) error) error {
	resp, err := c.send(ctx, http.MethodGet, path, "text/event-stream", nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if open != nil {
		open()
	}
	return readEvents(resp.Body, f)
}

// readEvents calls f with the name and the data of each server-sent event. An event whose final blank line did not come
// is not one.
func readEvents(r io.Reader, f func(name string, data []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxAnswer)
	var name string
	var data []byte
	for lines.Scan() {
		line := lines.Bytes()
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
			data = append(data, '\n')
			continue
		}
		if value, ok := bytes.CutPrefix(line, []byte("event:")); ok {
			name = string(bytes.TrimPrefix(value, []byte(" ")))
			continue
		}
		if len(line) > 0 { // a comment, or another field
			continue
		}
		if len(data) > 0 {
			if err := f(name, data); err != nil {
				return err
			}
		}
		name, data = "", data[:0]
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading events: %w", err)
	}
	return errStreamEnded
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
