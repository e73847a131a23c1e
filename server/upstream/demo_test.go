package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"chatwright.dev/tray/server/upstream"
)

// ask sends a chat completion to the demo model as the proxy does, and reads the whole answer.
func ask(t testing.TB, target *upstream.Target, body string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target.URL("/chat/completions").String(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := target.Transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

func atOnce() *upstream.Target { return upstream.NewDemo(upstream.DemoConfig{Delay: -1}) }

// completion is what the tests look at in an answer or a chunk.
type completion struct {
	Model   string
	Choices []struct {
		Message, Delta struct {
			Role      string
			Content   *string
			ToolCalls []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		FinishReason *string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
	}
}

func content(t testing.TB, body string) (string, completion) {
	t.Helper()
	var c completion
	if err := json.Unmarshal([]byte(body), &c); err != nil || len(c.Choices) != 1 {
		t.Fatalf("no completion: %v in %s", err, body)
	}
	if c.Choices[0].Message.Content == nil {
		return "", c
	}
	return *c.Choices[0].Message.Content, c
}

const hello = `{"model":"chatwright-demo","messages":[{"role":"user","content":"Hello there"}]}`

func TestDemoSaysWhatItIsAndAnswersAlike(t *testing.T) {
	target := atOnce()
	_, first := ask(t, target, hello)
	_, second := ask(t, target, hello)
	if first != second {
		t.Errorf("the same request got different bytes:\n%s\n%s", first, second)
	}
	text, c := content(t, first)
	if !strings.Contains(text, "chatwright-demo, the demo model") || !strings.Contains(text, "“Hello there”") {
		t.Errorf("got %q, want it to say what it is and what was asked", text)
	}
	if c.Model != "chatwright-demo" || *c.Choices[0].FinishReason != "stop" || c.Usage.Prompt != 2 ||
		c.Usage.Completion == 0 || c.Usage.Total != c.Usage.Prompt+c.Usage.Completion {
		t.Errorf("got %+v, usage %+v", c, c.Usage)
	}
}

func TestDemoStreamsWithUsage(t *testing.T) {
	_, plain := ask(t, atOnce(), hello)
	want, whole := content(t, plain)
	for _, usage := range []bool{false, true} {
		request := strings.Replace(hello, `{`, fmt.Sprintf(`{"stream":true,"stream_options":{"include_usage":%v},`, usage), 1)
		answer, body := ask(t, atOnce(), request)
		if got := answer.Header.Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("Content-Type: got %q", got)
		}
		events := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
		if events[len(events)-1] != "data: [DONE]" {
			t.Errorf("the last event is %q", events[len(events)-1])
		}
		text, counted, ownChunk := "", 0, false
		for _, event := range events[:len(events)-1] {
			var chunk completion
			if err := json.Unmarshal([]byte(strings.TrimPrefix(event, "data: ")), &chunk); err != nil {
				t.Fatalf("%q: %v", event, err)
			}
			if chunk.Usage != nil {
				counted, ownChunk = chunk.Usage.Completion, len(chunk.Choices) == 0
			}
			if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != nil {
				text += *chunk.Choices[0].Delta.Content
			}
		}
		if text != want {
			t.Errorf("usage %v: the pieces make %q, want the text of the whole answer, %q", usage, text, want)
		}
		// Asked for, it comes in a chunk of its own, as OpenAI does it; else with the finish reason.
		if counted != whole.Usage.Completion || ownChunk != usage {
			t.Errorf("usage %v: got %d tokens, in a chunk of its own: %v; want %d", usage, counted, ownChunk, whole.Usage.Completion)
		}
	}
}

func TestDemoHonoursTheLimitOnTokens(t *testing.T) {
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		_, body := ask(t, atOnce(), strings.Replace(hello, `{`, `{"`+name+`":3,`, 1))
		text, c := content(t, body)
		if len(strings.Fields(text)) != 3 || *c.Choices[0].FinishReason != "length" || c.Usage.Completion != 3 {
			t.Errorf("%s: got %q, %s, %d tokens", name, text, *c.Choices[0].FinishReason, c.Usage.Completion)
		}
	}
}

func TestDemoAndTools(t *testing.T) {
	tools := `"tools":[{"type":"function","function":{"name":"first","parameters":{"type":"object","required":["n"],"properties":{"n":{"type":"integer","minimum":3}}}}},` +
		`{"type":"function","function":{"name":"second"}}],`
	for choice, want := range map[string]string{
		`"auto"`: "", `"none"`: "", `null`: "", `"required"`: `first {"n":3}`,
		`{"type":"function","function":{"name":"second"}}`: "second {}",
	} {
		_, body := ask(t, atOnce(), strings.Replace(hello, `{`, `{`+tools+`"tool_choice":`+choice+`,`, 1))
		_, c := content(t, body)
		got := ""
		for _, call := range c.Choices[0].Message.ToolCalls {
			got = call.Function.Name + " " + call.Function.Arguments
		}
		if got != want {
			t.Errorf("tool_choice %s: got a call of %q, want %q", choice, got, want)
		}
	}
}

func TestDemoRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		body   string
		status int
		code   string
	}{
		"another model":             {`{"model":"gpt-5","messages":[{}]}`, 404, "model_not_found"},
		"no model":                  {`{"messages":[{}]}`, 404, "model_not_found"},
		"no JSON":                   {`{"model":`, 400, "invalid_request"},
		"no messages":               {`{"model":"chatwright-demo"}`, 400, "invalid_request"},
		"an unknown format":         {`{"model":"chatwright-demo","messages":[{}],"response_format":{"type":"xml"}}`, 400, "invalid_request"},
		"a schema that is missing":  {`{"model":"chatwright-demo","messages":[{}],"response_format":{"type":"json_schema"}}`, 400, "invalid_request"},
		"a schema nothing can meet": {withSchema(`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#"}}}`), 400, "invalid_request"},
		"a tool that is not there":  {`{"model":"chatwright-demo","messages":[{}],"tool_choice":{"function":{"name":"x"}}}`, 400, "invalid_request"},
		"a call without tools":      {`{"model":"chatwright-demo","messages":[{}],"tool_choice":"required"}`, 400, "invalid_request"},
		"a stream without a folder": {`{"model":"chatwright-demo/file:x","messages":[{}]}`, 404, "model_not_found"},
	} {
		t.Run(name, func(t *testing.T) {
			answer, body := ask(t, atOnce(), c.body)
			var got struct {
				Error struct{ Message, Type, Code string }
			}
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != c.status || got.Error.Code != c.code || got.Error.Message == "" || got.Error.Type != "invalid_request_error" {
				t.Errorf("got %d %+v, want %d with the code %s", answer.StatusCode, got.Error, c.status, c.code)
			}
		})
	}
}

func TestDemoListsItself(t *testing.T) {
	target := atOnce()
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, target.URL("/models").String(), nil)
	answer, err := target.Transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var got struct {
		Object string
		Data   []struct{ ID string }
	}
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil || got.Object != "list" || len(got.Data) != 1 || got.Data[0].ID != "chatwright-demo" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestDemoPlaysStreamsOfItsFolderAndNoOther(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "streams"), 0o700); err != nil {
		t.Fatal(err)
	}
	const stream = ": odd\r\n\ndata: {\n\ndata: no end"
	write("outside.sse", "secret")
	write("streams/odd.sse", stream)
	write("streams/other.txt", "secret")
	if err := os.Symlink(filepath.Join(folder, "outside.sse"), filepath.Join(folder, "streams", "link.sse")); err != nil {
		t.Fatal(err)
	}
	target := upstream.NewDemo(upstream.DemoConfig{StreamFolder: filepath.Join(folder, "streams"), Delay: -1})
	for name, want := range map[string]int{
		"odd": 200, "../outside": 404, "link": 404, "other.txt": 404, "other": 404, "/odd": 404, "": 404, "odd\x00": 404,
	} {
		model, _ := json.Marshal("chatwright-demo/file:" + name)
		answer, body := ask(t, target, `{"model":`+string(model)+`,"stream":true}`)
		if answer.StatusCode != want || strings.Contains(body, "secret") {
			t.Errorf("%q: got %d %q, want %d", name, answer.StatusCode, body, want)
		}
		if want == 200 && body != stream {
			t.Errorf("%q: got %q, want the file's bytes", name, body)
		}
	}
}

func TestDemoPausesBetweenChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := upstream.NewDemo(upstream.DemoConfig{})
		start := time.Now()
		_, body := ask(t, target, strings.Replace(hello, `{`, `{"stream":true,`, 1))
		chunks := strings.Count(body, "data: ")
		if got, want := time.Since(start), time.Duration(chunks)*12*time.Millisecond; got != want {
			t.Errorf("%d chunks took %v, want %v", chunks, got, want)
		}
		start = time.Now()
		ask(t, target, hello)
		if got := time.Since(start); got != 12*time.Millisecond {
			t.Errorf("a whole answer took %v, want 12 ms", got)
		}
	})
}

func TestTheInProcessTransport(t *testing.T) {
	t.Run("a caller who leaves ends the handler", func(t *testing.T) {
		for _, during := range []string{"before the header", "in the body"} {
			synctest.Test(t, func(t *testing.T) { // which also says that no goroutine is left
				target := upstream.NewDemo(upstream.DemoConfig{Delay: time.Hour})
				ctx, cancel := context.WithCancel(t.Context())
				body := hello
				if during == "in the body" {
					body = strings.Replace(hello, `{`, `{"stream":true,`, 1)
				}
				r, _ := http.NewRequestWithContext(ctx, http.MethodPost, target.URL("/chat/completions").String(), strings.NewReader(body))
				time.AfterFunc(time.Minute, cancel)
				answer, err := target.Transport.RoundTrip(r)
				if during == "before the header" {
					if err == nil {
						t.Error("an answer without an answer")
					}
					return
				}
				if _, err := io.ReadAll(answer.Body); err == nil {
					t.Error("a cancelled stream ended cleanly")
				}
				answer.Body.Close()
			})
		}
	})
	t.Run("a body that is closed early ends the handler", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			target := upstream.NewDemo(upstream.DemoConfig{Delay: time.Hour})
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, target.URL("/chat/completions").String(),
				strings.NewReader(strings.Replace(hello, `{`, `{"stream":true,`, 1)))
			answer, err := target.Transport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
		})
	})
}

// patience bounds what must not take long.
const patience = 10 * time.Second
