package session

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"chatwright.dev/tray/server/protocol"
)

// Entry is one event as it stands in the record: protocol.Event as JSON on one line, without the newline.
type Entry struct {
	Seq  uint64
	JSON []byte
	// next is where the record goes on behind it.
	next place
}

// A place says that the event with this number, or the damage that stands for it, begins at this offset.
type place struct {
	seq    uint64
	offset int64
}

// Cursor is where a follower is: Seq is the last event that it has seen. The zero value has seen nothing.
type Cursor struct {
	Seq uint64
	// known spares reading the record from its beginning. The zero value knows nothing.
	known place
}

// Page is what a follower reads at once.
type Page struct {
	Entries []Entry
	// Next is where to read on.
	Next Cursor
	// Changed is closed when there is more. Nil: there is more at once, or nothing will follow.
	Changed <-chan struct{}
	// Ended: nothing will follow what has been read.
	Ended bool
	// Trouble is why nothing can be recorded at present. Nil: there is no trouble.
	Trouble error
}

// A draft is an event before it has a number.
type draft struct {
	kind    protocol.EventType
	at      time.Time
	payload any
}

// maxPiece is the most that one event says: far less than what a reader of the record, or a client, takes for a line.
const maxPiece = 256 << 10

// appendText adds events that say a text: none for no text, more than one for a very long one.
func appendText(drafts []draft, kind protocol.EventType, at time.Time, turnID, text string) []draft {
	for len(text) > 0 {
		end := min(len(text), maxPiece)
		for end < len(text) && !utf8.RuneStart(text[end]) && end > maxPiece-utf8.UTFMax {
			end--
		}
		drafts = append(drafts, draft{kind, at, protocol.MessageDelta{TurnID: turnID, Text: text[:end]}})
		text = text[end:]
	}
	return drafts
}

// encode returns the line of an event, with its newline. Reader relies on how it begins.
func encode(seq uint64, id string, d draft) ([]byte, error) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false) // it is read as JSON, never pasted into a page
	err := enc.Encode(struct {
		Seq       uint64             `json:"seq"`
		SessionID string             `json:"session_id"`
		Type      protocol.EventType `json:"type"`
		At        time.Time          `json:"at"`
		Payload   any                `json:"payload"`
	}{seq, id, d.kind, d.at.UTC(), d.payload})
	return line.Bytes(), err
}

// head reads the number and the type of a line that encode made, without decoding it. ok is false for any other line
// and for one of another session.
func head(line []byte, id string) (seq uint64, kind protocol.EventType, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"seq":`))
	if !ok {
		return 0, "", false
	}
	digits, rest, ok := bytes.Cut(rest, []byte(`,"session_id":"`))
	if !ok {
		return 0, "", false
	}
	seq, err := strconv.ParseUint(string(digits), 10, 63)
	if err != nil || seq == 0 {
		return 0, "", false
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(id)); !ok {
		return 0, "", false
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(`","type":"`)); !ok {
		return 0, "", false
	}
	word, rest, ok := bytes.Cut(rest, []byte(`","at":"`))
	return seq, protocol.EventType(word), ok && bytes.HasSuffix(rest, []byte("}"))
}
