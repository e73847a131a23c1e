// Package chat asks a model server for the next message of a conversation, over the chat completions API, and reads the
// answer as it streams. It is the caller's side of that API: where the server is, and what is measured on the way there,
// is the business of the transport that it is given.
package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Client asks one server. It is safe for concurrent use.
type Client struct {
	// Transport takes requests whose paths are /chat/completions and /models, below whatever the server's base URL is.
	Transport http.RoundTripper
}

// Request is one call.
type Request struct {
	Model string
	// Messages are encoded as the array of messages that the API has.
	Messages any
}

// Piece is a piece of an answer: of what the model says, of what it thinks, or of both.
type Piece struct {
	Text      string
	Reasoning string
}

// Result is how an answer ended that did not fail.
type Result struct {
	// FinishReason is "stop", "length", or another word of the server's. "": the stream ended without one, and without
	// its end marker.
	FinishReason string
	Usage        *Usage   // nil: unknown
	Model        string   // the one that answered; "": it did not say
	Tools        []string // names of the tools that the model asked for, though it was offered none
}

// Usage counts tokens.
type Usage struct {
	Prompt, Completion int64
	Cached             *int64 // of the prompt; nil: unknown
}

// StatusError is an answer that is no answer.
type StatusError struct {
	Status  int
	Message string // the server's words, or ours where it has none; one line
}

func (e *StatusError) Error() string { return e.Message }

// StreamError is an error that the server reported in the middle of its answer.
type StreamError struct{ Message string }

func (e *StreamError) Error() string { return e.Message }

// ErrBroken says that the answer broke off before its end.
var ErrBroken = errors.New("the answer broke off before its end")

// ErrNoAnswer says that what came is no answer to the question.
var ErrNoAnswer = errors.New("the server did not answer as a model server does")

// Stream asks for the next message and hands each piece of it to emit as it comes, one call at a time and none after it
// returned.
func (c *Client) Stream(ctx context.Context, req Request, emit func(Piece)) (Result, error) {
	body, err := json.Marshal(struct {
		Model    string `json:"model,omitempty"`
		Messages any    `json:"messages"`
		Stream   bool   `json:"stream"`
	}{req.Model, req.Messages, true})
	if err != nil {
		return Result{}, fmt.Errorf("encoding the conversation: %w", err)
	}
	answer, err := c.do(ctx, http.MethodPost, "/chat/completions", body)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	r := reading{emit: emit}
	if isEventStream(answer.Header) {
		err = r.stream(answer.Body)
	} else {
		err = r.whole(answer.Body) // some servers do not stream, whatever they are asked
	}
	switch {
	case ctx.Err() != nil:
		return r.result(), ctx.Err()
	case err != nil:
		return r.result(), err
	}
	return r.result(), nil
}

// maxModels bounds a list of models.
const maxModels = 4 << 20

// Models asks for the names of the models that the server has, in its own order.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	answer, err := c.do(ctx, http.MethodGet, "/models", nil)
	if err != nil {
		return nil, fmt.Errorf("asking for the models: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxModels))
	if err != nil {
		return nil, fmt.Errorf("asking for the models: %w", broken(ctx, err))
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal(data, &list) != nil {
		return nil, fmt.Errorf("asking for the models: %w", ErrNoAnswer)
	}
	var names []string
	for _, m := range list.Data {
		if m.ID != "" {
			names = append(names, m.ID)
		}
	}
	return names, nil
}

// do sends one request and returns its answer, if that has the status of success.
func (c *Client) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://upstream"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Accept", "text/event-stream, application/json")
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.Transport.RoundTrip(r)
	if err != nil {
		return nil, broken(ctx, err)
	}
	if answer.StatusCode >= 200 && answer.StatusCode < 300 {
		return answer, nil
	}
	defer func() { _ = answer.Body.Close() }()
	return nil, statusError(answer)
}

// broken is the cause for an answer that did not come, or not whole.
func broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", ErrBroken, err)
}

// maxError is how much is read of an answer that is an error.
const maxError = 64 << 10

func statusError(answer *http.Response) error {
	data, _ := io.ReadAll(io.LimitReader(answer.Body, maxError)) // what came is what there is to say
	message := messageOf(data)
	if message == "" {
		message = fmt.Sprintf("the server answered with status %d", answer.StatusCode)
	}
	return &StatusError{answer.StatusCode, message}
}

func isEventStream(h http.Header) bool {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(media), "text/event-stream")
}
