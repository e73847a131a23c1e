package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"chatwright.dev/tray/server/protocol"
)

// A conversation is what a model hears, as the record tells it. Since it is always read from there, the two cannot
// disagree; and a session that waits for its user keeps nothing of it in memory.
type conversation struct {
	messages []Message
	answer   strings.Builder // what the model said since the last message
}

// said adds what the user said. Two messages of the user in a row, where an answer failed, become one: many models
// refuse a conversation that does not alternate.
func (c *conversation) said(text string, images []protocol.Image) {
	c.closeAnswer()
	if n := len(c.messages); n > 0 && c.messages[n-1].Role == RoleUser {
		last := &c.messages[n-1]
		if last.Text != "" && text != "" {
			text = "\n\n" + text
		}
		last.Text += text
		last.Images = append(last.Images, images...)
		return
	}
	c.messages = append(c.messages, Message{Role: RoleUser, Text: text, Images: images})
}

func (c *conversation) closeAnswer() {
	if c.answer.Len() > 0 {
		c.messages = append(c.messages, Message{Role: RoleAssistant, Text: c.answer.String()})
		c.answer.Reset()
	}
}

// readConversation reads what was said so far from the first size bytes of a record.
func readConversation(path, id string, size int64) (*conversation, error) {
	c := &conversation{}
	store := imagesOf(path)
	err := eachEvent(path, id, size, func(e protocol.Event) error {
		switch e.Type {
		case protocol.EventTurnStarted:
			var p protocol.TurnStarted
			if json.Unmarshal(e.Payload, &p) != nil {
				return nil
			}
			images, lost := store.load(p.Images)
			c.said(p.Text+lost, images)
		case protocol.EventTurnSteered:
			var p protocol.TurnSteered
			if json.Unmarshal(e.Payload, &p) == nil {
				c.said(p.Text, nil)
			}
		case protocol.EventMessageDelta:
			var p protocol.MessageDelta
			if json.Unmarshal(e.Payload, &p) == nil {
				c.answer.WriteString(p.Text)
			}
		}
		return nil
	})
	c.closeAnswer()
	return c, err
}

// eachEvent calls f with each event in the first size bytes of a record that belongs to the conversation. Reasoning,
// which is much of a record and never goes back to the model, is left out before it is decoded.
func eachEvent(path, id string, size int64, f func(protocol.Event) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading the conversation: %w", withoutPath(err))
	}
	defer func() { _ = file.Close() }()
	r := newReader(io.NewSectionReader(file, 0, size), id, place{seq: 1})
	for {
		entry, err := r.read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the conversation: %w", withoutPath(err))
		}
		if _, kind, _ := head(entry.JSON, id); kind == protocol.EventMessageReasoning {
			continue
		}
		var e protocol.Event
		if json.Unmarshal(entry.JSON, &e) != nil {
			continue // valid, but not an event of ours: a newer program's, or damage that looks well
		}
		if err := f(e); err != nil {
			return err
		}
	}
}
