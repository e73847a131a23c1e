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
	wait := firstRetry
	for connected := false; ; {
		got, err := c.followStatus(ctx, f)
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

// callerError is an error of the caller's own func.
type callerError struct{ error }

// followStatus reads one stream to its end. got says whether a state came.
func (c *Client) followStatus(ctx context.Context, f func(protocol.Status) error) (got bool, err error) {
	resp, err := c.send(ctx, http.MethodGet, "/v1/status/events", nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }()
	err = readEvents(resp.Body, func(data []byte) error {
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
}

// readEvents calls f with the data of each server-sent event. An event whose final blank line did not come is not one.
func readEvents(r io.Reader, f func(data []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxAnswer)
	var data []byte
	for lines.Scan() {
		line := lines.Bytes()
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
			data = append(data, '\n')
			continue
		}
		if len(line) > 0 || len(data) == 0 { // a comment, another field, or the end of nothing
			continue
		}
		if err := f(data); err != nil {
			return err
		}
		data = data[:0]
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
