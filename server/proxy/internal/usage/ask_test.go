package usage_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"chatwright.dev/tray/server/proxy/internal/usage"
)

// gateway.md 18: the option is added, and every other byte is as it was.
func TestAsk(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"no options":              {`{"model":"m","stream":true}`, `{"model":"m","stream":true,"stream_options":{"include_usage":true}}`},
		"with space around":       {" { \"stream\" : true ,\n\"x\": [ 1 ] }\n", " { \"stream\" : true,\"stream_options\":{\"include_usage\":true} ,\n\"x\": [ 1 ] }\n"},
		"empty options":           {`{"stream":true,"stream_options":{ }}`, `{"stream":true,"stream_options":{"include_usage":true }}`},
		"other options":           {`{"stream_options":{"a":{"include_usage":true}},"stream":true}`, `{"stream_options":{"include_usage":true,"a":{"include_usage":true}},"stream":true}`},
		"null for options":        {`{"stream":true,"stream_options": null }`, `{"stream":true,"stream_options": {"include_usage":true} }`},
		"false":                   {`{"stream":true,"stream_options":{"include_usage": false, "a":1}}`, `{"stream":true,"stream_options":{"include_usage": true, "a":1}}`},
		"null":                    {`{"stream":true,"stream_options":{"include_usage":null}}`, `{"stream":true,"stream_options":{"include_usage":true}}`},
		"names with escapes":      {`{"str\u0065am":true,"stream_options":{"include\u005fusage":false}}`, `{"str\u0065am":true,"stream_options":{"include\u005fusage":true}}`},
		"bytes that are no UTF-8": {"{\"stream\":true,\"x\":\"\xff\"}", "{\"stream\":true,\"stream_options\":{\"include_usage\":true},\"x\":\"\xff\"}"},
		"names in other places":   {`{"x":{"stream_options":1,"s":"\"}"},"stream":true}`, `{"x":{"stream_options":1,"s":"\"}"},"stream":true,"stream_options":{"include_usage":true}}`},

		"asked already":                  {`{"stream":true,"stream_options":{"include_usage":true}}`, ""},
		"no stream":                      {`{"model":"m"}`, ""},
		"stream is false":                {`{"stream":false}`, ""},
		"stream is a word":               {`{"stream":"true"}`, ""},
		"stream is further down":         {`{"x":{"stream":true}}`, ""},
		"options of another kind":        {`{"stream":true,"stream_options":[1]}`, ""},
		"what only the server can judge": {`{"stream":true,"stream_options":{"include_usage":"yes"}}`, ""},
		"stream twice":                   {`{"stream":true,"stream":true}`, ""},
		"options twice":                  {`{"stream":true,"stream_options":{},"stream_options":{}}`, ""},
		"option twice":                   {`{"stream":true,"stream_options":{"include_usage":true,"include_usage":false}}`, ""},
		"options in other letters":       {`{"stream":true,"Stream_Options":{}}`, ""},
		"a list":                         {`[{"stream":true}]`, ""},
		"no JSON":                        {`{"stream":true`, ""},
		"JSON and more":                  {`{"stream":true}{}`, ""},
		"a number":                       {`1`, ""},
		"nothing":                        {``, ""},
	} {
		t.Run(name, func(t *testing.T) {
			before := c.body
			got, ok := usage.Ask([]byte(c.body))
			if string(got) != c.want || ok != (c.want != "") {
				t.Errorf("got %q, %v; want %q", got, ok, c.want)
			}
			if before != c.body {
				t.Error("the body was changed")
			}
		})
	}
}

// FuzzAsk: the result is valid JSON that says what the body said and the option, and is the body but for one place.
func FuzzAsk(f *testing.F) {
	for _, seed := range []string{
		`{"model":"m","stream":true}`, " { \"stream\" : true ,\"x\": [ 1,{}, \"\\\"]\" ] , \"y\":-1.5e3 }\n",
		`{"stream":true,"stream_options":{ }}`, `{"stream_options":{"a":[]},"stream":true}`, `{"stream":true,"stream_options":null}`,
		`{"stream":true,"stream_options":{"include_usage":false}}`, `{"stream":true,"stream":false}`, `{"":{"":""},"stream":true}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		kept := bytes.Clone(body)
		got, ok := usage.Ask(body)
		if !bytes.Equal(kept, body) {
			t.Fatal("the body was changed")
		}
		if !ok {
			return
		}
		want := decode(t, body)
		options, _ := want["stream_options"].(map[string]any)
		if options == nil {
			options = map[string]any{}
		}
		options["include_usage"] = true
		want["stream_options"] = options
		if said := decode(t, got); !reflect.DeepEqual(said, want) {
			t.Errorf("got %q from %q, want that and the option", got, body)
		}
		if _, again := usage.Ask(got); again {
			t.Errorf("asked twice: %q", got)
		}
		start := 0
		for start < min(len(got), len(body)) && got[start] == body[start] {
			start++
		}
		end := 0
		for end < min(len(got), len(body))-start && got[len(got)-1-end] == body[len(body)-1-end] {
			end++
		}
		if added := len(got) - start - end; added > len(`,"stream_options":{"include_usage":true}`) {
			t.Errorf("%d bytes differ: %q from %q", added, got, body)
		}
	})
}

func decode(t *testing.T, text []byte) (members map[string]any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&members); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return members
}
