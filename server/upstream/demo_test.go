package upstream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

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

func withSchema(schema string) string {
	return `{"model":"chatwright-demo","messages":[{"role":"user","content":"x"}],` +
		`"response_format":{"type":"json_schema","json_schema":{"name":"x","strict":true,"schema":` + schema + `}}}`
}

// validate says whether value is valid for schema, by the judgement of an independent implementation.
func validate(schema, value string) error {
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(schema), &s); err != nil {
		return fmt.Errorf("reading the schema: %w", err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return fmt.Errorf("resolving the schema: %w", err)
	}
	var v any
	if err := json.Unmarshal([]byte(value), &v); err != nil {
		return err
	}
	return resolved.Validate(v)
}

func TestAnswersToASchemaAreValidAndSmall(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object"}`: `{}`,
		`{"type":"object","required":["b","a"],"properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{}}}`: `{"a":"demo","b":0}`,
		`{"type":"object","minProperties":2,"properties":{"x":{"type":"null"},"y":false}}`:                          `{"demo1":"demo","x":null}`,
		`{"required":["x"],"additionalProperties":{"type":"boolean"}}`:                                              `{"x":true}`,
		`{"required":["n1"],"patternProperties":{"^n":{"type":"number"}},"additionalProperties":false}`:             `{"n1":0}`,
		`{"type":"array","items":{"type":"integer"}}`:                                                               `[]`,
		`{"type":"array","minItems":2,"items":{"type":"string","minLength":6}}`:                                     `["demo..","demo.."]`,
		`{"type":"array","minItems":3,"uniqueItems":true,"items":{"type":"integer","minimum":5}}`:                   `[5,6,7]`,
		`{"type":"array","minItems":3,"uniqueItems":true,"items":{"type":"string","maxLength":6}}`:                  `["demo","demo 2","demo 3"]`,
		`{"type":"array","minItems":2,"uniqueItems":true,"items":{"type":"string","pattern":"^a+$"}}`:               `["a","aa"]`,
		`{"type":"array","minItems":2,"uniqueItems":true,"items":{"type":"boolean"}}`:                               `[true,false]`,
		`{"type":"array","minItems":3,"prefixItems":[{"const":1},{"type":"null"}],"items":{"const":"z"}}`:           `[1,null,"z"]`,
		`{"type":"array","contains":{"const":"k"}}`:                                                                 `["k"]`,
		`{"enum":["click","type"]}`:                                      `"click"`,
		`{"const":{"a":[1]}}`:                                            `{"a":[1]}`,
		`{"type":["null","string"]}`:                                     `"demo"`,
		`{"type":"string","maxLength":2}`:                                `"mo"`,
		`{"type":"string","pattern":"^[A-Z]{3}-\\d{2,}$","minLength":8}`: `"AAA-0000"`,
		`{"type":"string","pattern":"^(ab|cd)?x*y+\\.$"}`:                `"y."`,
		`{"type":"integer","exclusiveMinimum":4,"multipleOf":3}`:         `6`,
		`{"type":"integer","maximum":-2}`:                                `-2`,
		`{"type":"number","exclusiveMinimum":0,"maximum":1}`:             `0.0078125`,
		`{"type":"number","minimum":0.25,"multipleOf":0.5}`:              `0.5`,
		`{"type":"number","minimum":2,"maximum":2}`:                      `2`,
		`{"anyOf":[{"type":"null"},{"type":"string"}]}`:                  `"demo"`,
		`{"oneOf":[false,{"type":"integer"}]}`:                           `0`,
		`{"allOf":[{"required":["a"]},{"properties":{"a":{"type":"integer"}}},{"properties":{"a":{"minimum":2}}}]}`:                                                      `{"a":2}`,
		`{"allOf":[{"type":["integer","string"]},{"type":"number"}]}`:                                                                                                    `0`,
		`{"allOf":[{"anyOf":[{"type":"string"},{"type":"integer"}]},{"anyOf":[{"type":"integer"},{"type":"null"}]}]}`:                                                    `0`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/b"}},"b":{"type":"null"}}}`:                                              `[null]`,
		`{"type":"object","required":["next"],"properties":{"next":{"anyOf":[{"$ref":"#"},{"type":"null"}]}}}`:                                                           `{"next":null}`,
		`{"$ref":"#/definitions/n","definitions":{"n":{"type":"object","required":["kids"],"properties":{"kids":{"type":"array","items":{"$ref":"#/definitions/n"}}}}}}`: `{"kids":[]}`,
		`{"$defs":{"a b/c":{"const":1}},"required":["x"],"properties":{"x":{"$ref":"#/$defs/a%20b~1c"}}}`:                                                                `{"x":1}`,
		`true`: `"demo"`,
		`{}`:   `"demo"`,
	} {
		_, body := ask(t, atOnce(), withSchema(schema))
		got, _ := content(t, body)
		if got != want {
			t.Errorf("%s: got %s, want %s", schema, got, want)
		}
		if err := validate(schema, got); err != nil {
			t.Errorf("%s: %s is not valid: %v", schema, got, err)
		}
	}
}

func TestFormatsOfStrings(t *testing.T) {
	for format, want := range map[string]string{
		"date-time": "2026-01-01T00:00:00Z", "date": "2026-01-01", "time": "00:00:00Z", "duration": "PT1S",
		"email": "demo1@example.com", "hostname": "demo1.example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
		"uri": "https://example.com/1", "uuid": "00000000-0000-4000-8000-000000000001", "json-pointer": "/demo1", "own": "demo",
	} {
		_, body := ask(t, atOnce(), withSchema(`{"type":"string","format":"`+format+`"}`))
		if got, _ := content(t, body); got != `"`+want+`"` {
			t.Errorf("%s: got %s, want %q", format, got, want)
		}
	}
	_, body := ask(t, atOnce(), withSchema(`{"type":"string","nullable":true,"format":"uuid","maxLength":3}`))
	if got, _ := content(t, body); got != "null" {
		t.Errorf("a format that does not fit, or null: got %s", got)
	}
}

func TestJSONObjectFormat(t *testing.T) {
	_, body := ask(t, atOnce(), strings.Replace(hello, `{`, `{"response_format":{"type":"json_object"},`, 1))
	text, _ := content(t, body)
	var got map[string]string
	if err := json.Unmarshal([]byte(text), &got); err != nil || !strings.Contains(got["answer"], "demo model") {
		t.Errorf("got %s, %v", text, err)
	}
}

// TestRandomSchemas makes schemas of all keywords that the demo knows. Whatever it answers must be valid; where it
// refuses nothing is claimed.
func TestRandomSchemas(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	target := atOnce()
	answered := 0
	for range 1500 {
		text, err := json.Marshal(randomSchema(r, 4))
		if err != nil {
			t.Fatal(err)
		}
		answer, body := ask(t, target, withSchema(string(text)))
		if answer.StatusCode != http.StatusOK {
			continue
		}
		answered++
		got, _ := content(t, body)
		if err := validate(string(text), got); err != nil {
			t.Fatalf("%s\n%s is not valid: %v", text, got, err)
		}
	}
	if answered < 1000 {
		t.Errorf("only %d of 1500 schemas were answered", answered)
	}
}

func randomSchema(r *rand.Rand, depth int) any {
	sub := func() any { return randomSchema(r, depth-1) }
	s := map[string]any{}
	maybe := func(keyword string, value any) {
		if r.IntN(2) == 0 {
			s[keyword] = value
		}
	}
	kind := r.IntN(9)
	if depth == 0 {
		kind = 3 + r.IntN(6)
	}
	switch kind {
	case 0:
		s["type"] = "object"
		s["properties"] = map[string]any{"a": sub(), "b": sub(), "c": sub()}
		s["required"] = [][]string{{}, {"a"}, {"a", "b"}, {"b", "c"}}[r.IntN(4)]
		maybe("minProperties", r.IntN(4))
		maybe("additionalProperties", sub())
	case 1:
		s["type"] = "array"
		s["minItems"] = r.IntN(3)
		maybe("items", sub())
		maybe("uniqueItems", true)
		maybe("prefixItems", []any{sub()})
	case 2:
		s[[]string{"anyOf", "allOf"}[r.IntN(2)]] = []any{sub(), sub()}
	case 3, 4:
		s["type"] = "string"
		maybe("minLength", r.IntN(9))
		maybe("maxLength", 9+r.IntN(9))
		maybe("pattern", []string{"^[a-f]+$", "x?[0-9]{2}", "^(on|off)", "."}[r.IntN(4)])
	case 5, 6:
		s["type"] = []string{"integer", "number"}[r.IntN(2)]
		maybe([]string{"minimum", "exclusiveMinimum"}[r.IntN(2)], r.IntN(40)-20)
		maybe([]string{"maximum", "exclusiveMaximum"}[r.IntN(2)], 30+r.IntN(9))
		maybe("multipleOf", []float64{1, 2, 0.5, 3}[r.IntN(4)])
	case 7:
		s["enum"] = []any{"x", 1, nil}[r.IntN(3):]
	default:
		s["type"] = [][]string{{"boolean"}, {"null"}, {"string", "null"}, {"integer", "boolean"}}[r.IntN(4)]
	}
	return s
}

// FuzzSchema: no schema brings the demo down or keeps it busy.
func FuzzSchema(f *testing.F) {
	for _, seed := range []string{
		`{"type":"string","pattern":"(((a{9}){9}){9}){9}"}`, `{"$ref":"#/x/-1"}`, `{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`,
		`{"type":"array","minItems":1e9}`, `{"required":[5]}`, `{"type":"number","minimum":1e308,"maximum":-1e308}`,
		`{"allOf":[{"allOf":[{}]},5]}`, `{"enum":[]}`, `{"type":"string","pattern":"[^\\x00-\\x{10FFFF}]"}`,
		`{"type":"integer","multipleOf":0,"minimum":1e300}`, `{"type":"string","maxLength":-1,"minLength":-5}`,
	} {
		f.Add([]byte(seed))
	}
	handler := upstream.Demo(upstream.DemoConfig{Delay: -1})
	f.Fuzz(func(t *testing.T, schema []byte) {
		if !json.Valid(schema) {
			return
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", bytes.NewReader([]byte(withSchema(string(schema)))))
		start := time.Now()
		handler.ServeHTTP(w, r)
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest {
			t.Errorf("status %d", w.Code)
		}
		if w.Code == http.StatusOK {
			if text, _ := content(t, w.Body.String()); !json.Valid([]byte(text)) {
				t.Errorf("the answer is no JSON: %s", text)
			}
		}
		if took := time.Since(start); took > patience {
			t.Errorf("took %v", took)
		}
	})
}

// patience bounds what must not take long.
const patience = 10 * time.Second
