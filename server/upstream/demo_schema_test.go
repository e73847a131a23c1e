package upstream_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"chatwright.dev/tray/server/upstream"
)

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
