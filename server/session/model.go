package session

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"chatwright.dev/tray/server/protocol"
)

// Model answers the calls of turns. Whoever implements it knows the upstreams and how to speak to them.
type Model interface {
	// Stream asks for the next message of a conversation and hands each piece of it to emit as it comes, one call at a
	// time and none after it returned. It returns soon once ctx has ended. A hint.With around its error reaches the
	// user.
	Stream(ctx context.Context, req ModelRequest, emit func(Delta)) (ModelResult, error)
}

// ModelRequest is one call.
type ModelRequest struct {
	SessionID string
	Upstream  string // name of a profile; "": the one in use
	Model     string // "": the upstream's own choice
	Messages  []Message
}

// Role says who speaks.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Message is one message of a conversation. As JSON it is a message of the OpenAI API: its content is a string, or an
// array of parts where there are images.
type Message struct {
	Role   Role
	Text   string
	Images []protocol.Image
}

// MarshalJSON implements json.Marshaler.
func (m Message) MarshalJSON() ([]byte, error) {
	type imageURL struct {
		URL string `json:"url"`
	}
	type part struct {
		Type     string    `json:"type"`
		Text     string    `json:"text,omitempty"`
		ImageURL *imageURL `json:"image_url,omitempty"`
	}
	wire := struct {
		Role    Role `json:"role"`
		Content any  `json:"content"`
	}{m.Role, m.Text}
	if len(m.Images) > 0 {
		var parts []part
		if m.Text != "" {
			parts = append(parts, part{Type: "text", Text: m.Text})
		}
		for _, image := range m.Images {
			url := "data:" + image.MediaType + ";base64," + base64.StdEncoding.EncodeToString(image.Data)
			parts = append(parts, part{Type: "image_url", ImageURL: &imageURL{url}})
		}
		wire.Content = parts
	}
	return json.Marshal(wire)
}

// Delta is a piece of an answer: of what the model says, of what it thinks, or of both.
type Delta struct {
	Text      string
	Reasoning string
}

// ModelResult is how a call ended that did not fail.
type ModelResult struct {
	// FinishReason is that of the OpenAI API: "stop", "length", … "": the stream ended without one.
	FinishReason string
	// Usage is what the call cost. Nil: unknown.
	Usage *protocol.Usage
	// Model is the one that answered. "": it did not say.
	Model string
	// ContextWindow is how many tokens the model takes. 0: unknown.
	ContextWindow int64
}
