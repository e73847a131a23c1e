package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// chunk is an event of a stream, or a whole answer. Members are read one by one: a server that has one of them in a
// shape of its own loses that one, and not the answer.
type chunk struct {
	Model   json.RawMessage   `json:"model"`
	Choices []json.RawMessage `json:"choices"`
	Usage   json.RawMessage   `json:"usage"`
	Timings json.RawMessage   `json:"timings"` // llama.cpp
	Error   json.RawMessage   `json:"error"`
}

type choice struct {
	Index   int             `json:"index"`
	Delta   json.RawMessage `json:"delta"`
	Message json.RawMessage `json:"message"`
	Finish  json.RawMessage `json:"finish_reason"`
}

type message struct {
	Content   json.RawMessage `json:"content"`
	Refusal   json.RawMessage `json:"refusal"`
	Reasoning json.RawMessage `json:"reasoning"`
	// The same under the name that DeepSeek gave it; servers that have both send one text twice.
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	ToolCalls        json.RawMessage `json:"tool_calls"`
}

// reading is one answer while it is read.
type reading struct {
	emit   func(Piece)
	events int
	done   bool
	known  Result
}

// stream reads an event stream.
func (r *reading) stream(body io.Reader) error {
	for source := newEvents(body); ; {
		data, err := source.next()
		switch {
		case errors.Is(err, io.EOF):
			if r.events == 0 {
				return &StreamError{"the answer was an empty stream"}
			}
			return nil
		case errors.Is(err, ErrNoAnswer):
			return err
		case err != nil && r.done:
			return nil // all was said
		case err != nil:
			return fmt.Errorf("%w: %w", ErrBroken, err)
		}
		r.events++
		if data = bytes.TrimSpace(data); string(data) == "[DONE]" {
			r.done = true
			return nil
		}
		if err := r.take(data); err != nil {
			return err
		}
	}
}

// whole reads an answer that is not streamed.
func (r *reading) whole(body io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(body, maxEvent+1))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBroken, err)
	}
	if len(data) > maxEvent {
		return errLongEvent
	}
	r.done = true
	if err := r.take(data); err != nil {
		return err
	}
	if r.events == 0 {
		return ErrNoAnswer
	}
	return nil
}

// take reads a chunk.
func (r *reading) take(data []byte) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		if message := messageOf(data); message != "" {
			return &StreamError{message}
		}
		return fmt.Errorf("%w: what it sent is not JSON of the expected shape", ErrNoAnswer)
	}
	if isThere(c.Error) && string(c.Error) != `""` && string(c.Error) != "false" {
		message := messageOf(data)
		if message == "" {
			message = "the server reported an error without saying which"
		}
		return &StreamError{message}
	}
	if model := text(c.Model); model != "" {
		r.known.Model = model
	}
	r.count(c)
	for _, raw := range c.Choices {
		var one choice
		if json.Unmarshal(raw, &one) != nil || one.Index != 0 {
			continue
		}
		r.events++
		r.say(one.Delta)
		r.say(one.Message)
		if finish := finishOf(text(one.Finish)); finish != "" {
			r.known.FinishReason = finish
		}
	}
	return nil
}

func (r *reading) say(raw json.RawMessage) {
	var m message
	if !isThere(raw) || json.Unmarshal(raw, &m) != nil {
		return
	}
	piece := Piece{Text: text(m.Content) + text(m.Refusal), Reasoning: text(m.ReasoningContent)}
	if piece.Reasoning == "" {
		piece.Reasoning = text(m.Reasoning)
	}
	r.noteTools(m.ToolCalls)
	if piece != (Piece{}) {
		r.emit(piece)
	}
}

// maxTools is how many names are kept of tools that nobody offered.
const maxTools = 8

func (r *reading) noteTools(raw json.RawMessage) {
	var calls []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if !isThere(raw) || json.Unmarshal(raw, &calls) != nil {
		return
	}
	for _, call := range calls { // the name comes once, and then its arguments in pieces
		if name := oneLine(call.Function.Name); name != "" && len(r.known.Tools) < maxTools && !slices.Contains(r.known.Tools, name) {
			r.known.Tools = append(r.known.Tools, name)
		}
	}
}

// count reads what the answer cost. Servers that count on the way send it more than once, the last being the sum.
func (r *reading) count(c chunk) {
	var usage struct {
		Prompt     *float64 `json:"prompt_tokens"`
		Completion *float64 `json:"completion_tokens"`
		Details    *struct {
			Cached *float64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	if isThere(c.Usage) && json.Unmarshal(c.Usage, &usage) == nil && usage.Prompt != nil && usage.Completion != nil {
		r.known.Usage = &Usage{Prompt: tokens(*usage.Prompt), Completion: tokens(*usage.Completion)}
		if usage.Details != nil && usage.Details.Cached != nil {
			cached := tokens(*usage.Details.Cached)
			r.known.Usage.Cached = &cached
		}
		return
	}
	var timings struct {
		Prompt    *float64 `json:"prompt_n"`
		Predicted *float64 `json:"predicted_n"`
		Cached    float64  `json:"cache_n"`
	}
	if r.known.Usage == nil && isThere(c.Timings) && json.Unmarshal(c.Timings, &timings) == nil && timings.Prompt != nil && timings.Predicted != nil {
		r.known.Usage = &Usage{Prompt: tokens(*timings.Prompt + timings.Cached), Completion: tokens(*timings.Predicted)}
	}
}

// tokens makes a count of what a foreign server says is one.
func tokens(n float64) int64 { return int64(min(max(n, 0), math.MaxInt32)) }

// result is what is known at the end. A server that says that it is done and not why has finished.
func (r *reading) result() Result {
	if r.known.FinishReason == "" && r.done && r.events > 0 {
		r.known.FinishReason = "stop"
	}
	return r.known
}

// finishOf gives one name to what servers call the usual ends by several.
func finishOf(reason string) string {
	switch reason = strings.ToLower(reason); reason {
	case "eos", "eos_token", "end_turn", "stop_sequence", "stop_token":
		return "stop"
	case "max_tokens", "max_length":
		return "length"
	}
	return reason
}

func isThere(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// text is a string, or the texts of an array of parts. What is neither has none.
func text(raw json.RawMessage) string {
	if !isThere(raw) {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text json.RawMessage `json:"text"`
	}
	if raw[0] != '[' || json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, part := range parts {
		if json.Unmarshal(part.Text, &s) == nil {
			b.WriteString(s)
		}
	}
	return b.String()
}

// messageOf finds the words in what a server says that is an error, in the shapes that there are. "": it has none.
func messageOf(data []byte) string {
	var body struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(data, &body) != nil {
		return ""
	}
	var inner struct {
		Message json.RawMessage `json:"message"`
	}
	if isThere(body.Error) && body.Error[0] == '{' && json.Unmarshal(body.Error, &inner) == nil {
		return oneLine(text(inner.Message))
	}
	for _, raw := range []json.RawMessage{body.Error, body.Message, body.Detail} {
		if said := oneLine(text(raw)); said != "" {
			return said
		}
	}
	return ""
}

// maxMessage is how many characters of a foreign error are repeated.
const maxMessage = 500

// oneLine makes foreign text fit to stand in an error.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) > maxMessage {
		s = string([]rune(s)[:maxMessage-1]) + "…"
	}
	return s
}
