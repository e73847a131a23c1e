package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"chatwright.dev/tray/server/chat"
)

// server answers each request with the same bytes, and keeps the last one.
type server struct {
	status int // 0: 200
	media  string
	body   io.Reader
	err    error

	path, sent string
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.path = r.Method + " " + r.URL.Path
	if r.Body != nil {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		s.sent = string(data)
	}
	if s.err != nil {
		return nil, s.err
	}
	status := s.status
	if status == 0 {
		status = http.StatusOK
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {s.media}}, Body: io.NopCloser(s.body)}, nil
}

const eventStream = "text/event-stream; charset=utf-8"

// ask returns what was said and thought, joined, and how it ended.
func ask(t *testing.T, s *server) (said, thought string, result chat.Result, err error) {
	t.Helper()
	client := chat.Client{Transport: s}
	result, err = client.Stream(t.Context(), chat.Request{Model: "m", Messages: []map[string]string{{"role": "user", "content": "hi"}}}, func(p chat.Piece) {
		if p == (chat.Piece{}) {
			t.Error("an empty piece")
		}
		said, thought = said+p.Text, thought+p.Reasoning
	})
	return said, thought, result, err
}

func TestQuestionIsAStreamingChatCompletion(t *testing.T) {
	s := &server{media: eventStream, body: strings.NewReader("data: [DONE]\n\n")}
	_, _, _, _ = ask(t, s)
	if want := `{"model":"m","messages":[{"content":"hi","role":"user"}],"stream":true}`; s.path != "POST /chat/completions" || s.sent != want {
		t.Errorf("got %s %s, want %s", s.path, s.sent, want)
	}
}

// what came in is what a server of that kind sends.
func TestAnswersAreUnderstoodInTheShapesThatThereAre(t *testing.T) {
	cached := int64(5)
	for name, c := range map[string]struct {
		media, body   string
		said, thought string
		want          chat.Result
	}{
		"a plain stream": {eventStream, `data: {"model":"llama3.2","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}

data: {"choices":[{"index":0,"delta":{"content":"He"}}]}

: a comment

event: message
data: {"choices":[{"index":0,"delta":{"content":"llo"},"finish_reason":"stop"}]}

data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":5}}}

data: [DONE]

`, "Hello", "", chat.Result{FinishReason: "stop", Model: "llama3.2", Usage: &chat.Usage{Prompt: 12, Completion: 2, Cached: &cached}}},
		"reasoning by either name, and by both": {eventStream, `data: {"choices":[{"delta":{"reasoning_content":"a"}}]}

data: {"choices":[{"delta":{"reasoning":"b"}}]}

data: {"choices":[{"delta":{"reasoning":"c","reasoning_content":"c","content":"x"}}]}

data: {"choices":[{"delta":{"reasoning":{"effort":1},"content":null},"finish_reason":"length"}]}

`, "x", "abc", chat.Result{FinishReason: "length"}},
		"tools that nobody offered": {eventStream, `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"run","arguments":""}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]},"finish_reason":"tool_calls"}]}

data: [DONE]

`, "", "", chat.Result{FinishReason: "tool_calls", Tools: []string{"run"}}},
		"no space, CRLF, several lines, no end": {eventStream, "data:{\"choices\":[{\"delta\":\r\ndata:{\"content\":\"x\"}}]}\r\n\r\ndata:{\"choices\":[{\"delta\":{\"content\":\"y\"}}]}",
			"xy", "", chat.Result{}},
		"an end marker and no reason":      {eventStream, "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n", "x", "", chat.Result{FinishReason: "stop"}},
		"parts, and what has none":         {eventStream, `data: {"choices":[{"delta":{"content":[{"type":"text","text":"a"},{"type":"image"},{"text":["deep"]},{"text":"b"}]}},"what",7]}` + "\n\n", "ab", "", chat.Result{}},
		"another choice is not ours":       {eventStream, `data: {"choices":[{"index":1,"delta":{"content":"no"}},{"delta":{"content":"yes"},"finish_reason":"eos"}]}` + "\n\n", "yes", "", chat.Result{FinishReason: "stop"}},
		"timings of llama.cpp":             {eventStream, `data: {"choices":[{"delta":{},"finish_reason":"stop"}],"timings":{"prompt_n":3,"cache_n":4,"predicted_n":9}}` + "\n\n", "", "", chat.Result{FinishReason: "stop", Usage: &chat.Usage{Prompt: 7, Completion: 9}}},
		"usage that is none":               {eventStream, `data: {"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":"many"},"model":7,"error":null}` + "\n\n", "x", "", chat.Result{}},
		"a server that does not stream":    {"application/json", `{"model":"m","choices":[{"message":{"content":"whole","reasoning_content":"why"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1.0,"completion_tokens":2}}`, "whole", "why", chat.Result{FinishReason: "stop", Model: "m", Usage: &chat.Usage{Prompt: 1, Completion: 2}}},
		"a refusal is what the model says": {eventStream, `data: {"choices":[{"delta":{"refusal":"no"},"finish_reason":"stop"}]}` + "\n\n", "no", "", chat.Result{FinishReason: "stop"}},
	} {
		for way, read := range map[string]func(io.Reader) io.Reader{
			"whole":    func(r io.Reader) io.Reader { return r },
			"in bytes": iotest.OneByteReader,
		} {
			said, thought, result, err := ask(t, &server{media: c.media, body: read(strings.NewReader(c.body))})
			if err != nil || said != c.said || thought != c.thought || !reflect.DeepEqual(result, c.want) {
				t.Errorf("%s, %s: got %q, %q, %+v, %v, want %q, %q, %+v", name, way, said, thought, result, err, c.said, c.thought, c.want)
			}
		}
	}
}

func TestFailuresSayWhatWentWrong(t *testing.T) {
	reset := errors.New("connection reset")
	begun := "data: {\"choices\":[{\"delta\":{\"content\":\"so far\"}}]}\n\n"
	for name, c := range map[string]struct {
		server *server
		said   string
		is     error // or one of its type
		text   string
	}{
		"a status":                      {&server{status: 404, body: strings.NewReader(`{"error":{"message":"model \"m\" not found","code":5}}`)}, "", &chat.StatusError{}, `model "m" not found`},
		"a status with a short error":   {&server{status: 500, body: strings.NewReader(`{"error":"out of\nmemory"}`)}, "", &chat.StatusError{}, "out of memory"},
		"a status with a detail":        {&server{status: 422, body: strings.NewReader(`{"detail":"no\u001b[2J such thing"}`)}, "", &chat.StatusError{}, "no [2J such thing"},
		"a status and a page":           {&server{status: 502, body: strings.NewReader("<html>")}, "", &chat.StatusError{}, "the server answered with status 502"},
		"an error in the stream":        {&server{media: eventStream, body: strings.NewReader(begun + `data: {"error":{"message":"it burns"}}` + "\n\n")}, "so far", &chat.StreamError{}, "it burns"},
		"an error without words":        {&server{media: eventStream, body: strings.NewReader(`data: {"error":{}}` + "\n\n")}, "", &chat.StreamError{}, "the server reported an error without saying which"},
		"an error with 200":             {&server{media: "application/json", body: strings.NewReader(`{"error":"no such model"}`)}, "", &chat.StreamError{}, "no such model"},
		"an empty stream":               {&server{media: eventStream, body: strings.NewReader(": nothing\n\n")}, "", &chat.StreamError{}, "the answer was an empty stream"},
		"a stream that breaks off":      {&server{media: eventStream, body: io.MultiReader(strings.NewReader(begun+`data: {"choices":[{"delta":{"content":"lost`), iotest.ErrReader(reset))}, "so far", chat.ErrBroken, "broke off"},
		"JSON that breaks off":          {&server{media: "application/json", body: io.MultiReader(strings.NewReader(`{"choices":[`), iotest.ErrReader(reset))}, "", reset, "broke off"},
		"no connection":                 {&server{err: reset}, "", reset, "broke off"},
		"a page where a stream belongs": {&server{media: "text/html", body: strings.NewReader("<html>")}, "", chat.ErrNoAnswer, "did not answer as a model server does"},
		"another JSON":                  {&server{media: "application/json", body: strings.NewReader(`{"ok":true}`)}, "", chat.ErrNoAnswer, "did not answer"},
		"no JSON in the stream":         {&server{media: eventStream, body: strings.NewReader("data: hello\n\n")}, "", chat.ErrNoAnswer, "not JSON"},
	} {
		said, _, _, err := ask(t, c.server)
		if err == nil || said != c.said || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %q, %v, want %q and an error with %q", name, said, err, c.said, c.text)
			continue
		}
		if !errors.Is(err, c.is) && reflect.TypeOf(err) != reflect.TypeOf(c.is) {
			t.Errorf("%s: got %T, want %T", name, err, c.is)
		}
		if strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%s: the error is no line for a terminal: %q", name, err)
		}
	}
}

func TestBreakBehindTheEndMarkerIsNone(t *testing.T) {
	said, _, result, err := ask(t, &server{media: eventStream, body: io.MultiReader(
		strings.NewReader("data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n"), iotest.ErrReader(errors.New("reset")))})
	if err != nil || said != "x" || result.FinishReason != "stop" {
		t.Errorf("got %q, %+v, %v", said, result, err)
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	client := chat.Client{Transport: &server{media: eventStream, body: io.MultiReader(
		strings.NewReader("data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n"), iotest.ErrReader(errors.New("reset")))}}
	_, err := client.Stream(ctx, chat.Request{Messages: []string{}}, func(chat.Piece) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
}

func TestModelsAreListedInTheServersOrder(t *testing.T) {
	s := &server{body: strings.NewReader(`{"object":"list","data":[{"id":"b"},{"id":""},{"id":"a","owned_by":"x"}]}`)}
	got, err := (&chat.Client{Transport: s}).Models(t.Context())
	if err != nil || s.path != "GET /models" || !reflect.DeepEqual(got, []string{"b", "a"}) {
		t.Errorf("got %v, %v of %s", got, err, s.path)
	}
	for _, body := range []string{"<html>", `{"data":7}`} {
		if got, err := (&chat.Client{Transport: &server{body: strings.NewReader(body)}}).Models(t.Context()); !errors.Is(err, chat.ErrNoAnswer) {
			t.Errorf("%s: got %v, %v", body, got, err)
		}
	}
}

// Whatever a server sends: the answer ends, and what is said of it can stand in a line.
func FuzzAnswer(f *testing.F) {
	f.Add("data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n", true)
	f.Add("data:\n\ndata\n:\n\r\ndata: [1]\n\n", true)
	f.Add(`{"choices":[{"message":{"content":[{"text":"x"}],"tool_calls":[{}]}}],"error":[]}`, false)
	f.Add(`{"usage":{"prompt_tokens":1e300,"completion_tokens":-1}}`, false)
	f.Fuzz(func(t *testing.T, body string, streamed bool) {
		s := &server{media: "application/json", body: strings.NewReader(body)}
		if streamed {
			s.media = eventStream
		}
		client := chat.Client{Transport: s}
		result, err := client.Stream(t.Context(), chat.Request{Messages: json.RawMessage("[]")}, func(chat.Piece) {})
		if err != nil && strings.ContainsAny(err.Error(), "\n\r\x1b\x00") {
			t.Errorf("the error is no line: %q", err)
		}
		if u := result.Usage; u != nil && (u.Prompt < 0 || u.Completion < 0) {
			t.Errorf("usage: %+v", u)
		}
	})
}
