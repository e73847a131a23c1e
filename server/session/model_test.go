package session_test

import (
	"encoding/json"
	"testing"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/session"
)

func TestMessagesAreThoseOfTheOpenAIAPI(t *testing.T) {
	picture := []protocol.Image{{MediaType: "image/png", Data: []byte("png")}}
	for _, c := range []struct {
		message session.Message
		want    string
	}{
		{session.Message{Role: session.RoleUser, Text: "hi"}, `{"role":"user","content":"hi"}`},
		{session.Message{Role: session.RoleAssistant}, `{"role":"assistant","content":""}`},
		{session.Message{Role: session.RoleUser, Text: "see", Images: picture},
			`{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]}`},
		{session.Message{Role: session.RoleUser, Images: picture},
			`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]}`},
	} {
		got, err := json.Marshal(c.message)
		if err != nil || string(got) != c.want {
			t.Errorf("got %s, %v, want %s", got, err, c.want)
		}
	}
}
