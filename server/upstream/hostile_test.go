package upstream_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/upstream"
)

// Schemas come from anybody. One that asks for endless work is refused soon, and its refusal is short.
func TestSchemasThatAskForTooMuch(t *testing.T) {
	list := func(n int, item string) string {
		items := make([]string, n)
		for i := range items {
			items[i] = strings.ReplaceAll(item, "#", fmt.Sprint(i))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	name := strings.Repeat("n", 80)
	for what, schema := range map[string]string{
		"repeats of what matches nothing": `{"type":"string","pattern":"((((^)*)*)*)*b","minLength":900}`,
		"many parts with members":         `{"allOf":` + list(20_000, `{"properties":{"p#":{}}}`) + `}`,
		"long lists to compare":           `{"allOf":[{"enum":` + list(30_000, `"a#"`) + `},{"enum":` + list(30_000, `"b#"`) + `}]}`,
		"a long list, again and again":    `{"type":"array","minItems":1000,"uniqueItems":true,"items":{"enum":` + list(200_000, `#`) + `}}`,
		"many patterns":                   `{"allOf":` + list(5_000, `{"type":"string","pattern":"^a#?"}`) + `}`,
		"a deep one that cannot be met": strings.Repeat(`{"required":["`+name+`"],"properties":{"`+name+`":`, 4000) + "false" +
			strings.Repeat("}}", 4000),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			answer, body := ask(t, atOnce(), withSchema(schema))
			if answer.StatusCode != 400 {
				t.Errorf("got status %d, want 400", answer.StatusCode)
			}
			if len(body) > 64<<10 {
				t.Errorf("the refusal is %d bytes long", len(body))
			}
			if took := time.Since(began); took > 20*time.Second { // about a second on a machine with nothing else to do
				t.Errorf("took %s", took)
			}
		})
	}
}

// What cannot be read of an answer is not repeated: what is no model server may send the request back.
func TestExplainRepeatsNothingOfAnAnswer(t *testing.T) {
	target, err := upstream.Parse("http://127.0.0.1:1/v1")
	if err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{
		`malformed HTTP status code "/v1/chat/completions?key=SECRET"`:                 `malformed HTTP status code "…"`,
		`malformed MIME header: missing colon: "Bearer SECRET"`:                        `malformed MIME header: missing colon: "…"`,
		`cannot contain multiple Content-Length headers; got ["SECRET" "SEC\"RET"]`:    `cannot contain multiple Content-Length headers; got ["…" "…"]`,
		`malformed HTTP response "SECRET` + strings.Repeat("x", 200) + ` and no end`:   `malformed HTTP response "…"`,
		`malformed HTTP response "SECRET \"` + strings.Repeat("S", 300) + `"; the end`: `malformed HTTP response "…"; the end`,
	} {
		if got, want := target.Explain(errors.New(given)), "no answer from 127.0.0.1:1: "+want; got != want {
			t.Errorf("%s:\n got %s\nwant %s", given, got, want)
		}
	}
}

func TestLeadsTo(t *testing.T) {
	for _, c := range []struct {
		target, local string
		want          bool
	}{
		{"http://127.0.0.1:4319/v1", "127.0.0.1:4319", true},
		{"http://localhost:4319/v1", "127.0.0.1:4319", true},
		{"http://chatwright.localhost:4319/v1", "127.0.0.1:4319", true},
		{"http://localhost:4319/v1", "[::1]:4319", true},
		{"http://0.0.0.0:4319/v1", "127.0.0.1:4319", true},
		{"http://[::ffff:127.0.0.1]:4319/v1", "127.0.0.1:4319", true},
		{"http://192.0.2.1:4319/v1", "192.0.2.1:4319", true},
		{"http://localhost/v1", "127.0.0.1:80", true},
		{"http://[::1]:4319/v1", "127.0.0.1:4319", false}, // another server may have the port in the other family
		{"http://127.0.0.2:4319/v1", "127.0.0.1:4319", false},
		{"http://localhost:11434/v1", "127.0.0.1:4319", false},
		{"http://localhost:4319/v1", "192.0.2.1:4319", false},
		{"http://models.test:4319/v1", "127.0.0.1:4319", false},
		{"demo", "127.0.0.1:80", false},
	} {
		target, err := upstream.Parse(c.target)
		if err != nil {
			t.Fatal(err)
		}
		local, err := net.ResolveTCPAddr("tcp", c.local)
		if err != nil {
			t.Fatal(err)
		}
		if got := target.LeadsTo(local); got != c.want {
			t.Errorf("%s to %s: got %v, want %v", c.target, c.local, got, c.want)
		}
	}
	target, _ := upstream.Parse("http://localhost:4319/v1")
	if target.LeadsTo(&net.UnixAddr{Name: "/x", Net: "unix"}) {
		t.Error("a target leads to a private socket")
	}
}
