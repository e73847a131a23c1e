package meter_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"chatwright.dev/tray/server/proxy/internal/meter"
)

// timeless leaves out what depends on the clock but whether there was a token.
func timeless(r meter.Reading) (meter.Reading, bool) {
	token := !r.FirstToken.IsZero()
	r.FirstToken = time.Time{}
	return r, token
}

// FuzzPieces: whatever the bytes are and however they are cut, they are read as if they came whole.
func FuzzPieces(f *testing.F) {
	for _, seed := range []string{
		"data: {\"choices\":[{\"delta\":{\"content\":\"a\\ud83d\\ude00\"}}]}\n\ndata: [DONE]\n\n",
		"event: error\r\ndata: {\"error\":{\"message\":\"x\"}}\r\n\r\n",
		"\uFEFFdata:[DONE]\r\rdata",
		"{\"model\":\"m\",\"usage\":{\"prompt_tokens\":1e2}}\n{\"done\":true}",
		"data: [DO\ndata: NE]\n\n: c\n\nid\n", "\xEF\xBBdata: x\n\n", "[[{\"model\":\"x\"}]]", "12", "\"a",
	} {
		f.Add([]byte(seed), []byte{1, 3, 2}, byte(1))
		f.Add([]byte(seed), []byte{0}, byte(0))
	}
	f.Fuzz(func(t *testing.T, text, cuts []byte, format byte) {
		kind := meter.Format(format % 3)
		reader := meter.NewReader()
		whole := reader.Answer(kind, "")
		whole.Write(text)
		pieces := reader.Answer(kind, "")
		for i, rest := 0, text; len(rest) > 0; i++ {
			n := 1
			if len(cuts) > 0 {
				n += int(cuts[i%len(cuts)])
			}
			n = min(n, len(rest))
			pieces.Write(rest[:n])
			rest = rest[n:]
		}
		want, wantToken := timeless(whole.Close())
		got, gotToken := timeless(pieces.Close())
		if got != want || gotToken != wantToken {
			t.Errorf("cut: got %+v (token %v), want %+v (token %v)", got, gotToken, want, wantToken)
		}
		for _, text := range []string{got.Model, got.FinishReason, got.Error} {
			if len(text) > 200 || !utf8.ValidString(text) {
				t.Errorf("got a text of %d bytes, valid %v", len(text), utf8.ValidString(text))
			}
		}
	})
}

// FuzzAgainstEncodingJSON: what encoding/json can decode is read as it decodes it.
func FuzzAgainstEncodingJSON(f *testing.F) {
	for _, seed := range []string{
		`{"model":"m","stream":true,"response_format":{"type":"json_object"}}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"\"}]"}]}],"model":"a\u0041\ud83d\ude00"}`,
		`{"response_format":{"type":null,"x":[{}]},"stream":false,"model":""}`, `[]`, `{}`, ` { "model" : "\\" } `,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		// Maps, since struct decoding ignores the case of names, which is not what servers do.
		var members map[string]json.RawMessage
		if json.Unmarshal(text, &members) != nil || members == nil {
			return
		}
		q := meter.NewReader().Request()
		q.Write(text)
		var model string
		if json.Unmarshal(members["model"], &model) == nil && strings.Count(string(text), "model") == 1 {
			if want := meter.Clean([]byte(model)); q.Model != want {
				t.Errorf("model: got %q, want %q", q.Model, want)
			}
		}
		if want := string(members["stream"]) == "true"; q.Stream != want && !strings.Contains(string(text), `\`) {
			t.Errorf("stream: got %v, want %v", q.Stream, want)
		}
		var format map[string]json.RawMessage
		var typ string
		if json.Unmarshal(members["response_format"], &format) == nil && json.Unmarshal(format["type"], &typ) == nil &&
			strings.Count(string(text), "response_format") == 1 && strings.Count(string(text), "type") == 1 {
			if want := meter.Clean([]byte(typ)); q.ResponseFormat != want {
				t.Errorf("response_format: got %q, want %q", q.ResponseFormat, want)
			}
		}
	})
}
