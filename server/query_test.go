package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/datastate"
	"chatwright.dev/tray/server/servertest"
)

const lists = `{"lists": {
	"from: lists": [{"title": "milk", "n": 5}, {"title": "bread", "n": 9007199254740993}],
	"from: none": []
}}`

func withFixtures(t *testing.T, fixtures string) *servertest.Running {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fixtures.json")
	if err := os.WriteFile(path, []byte(fixtures), 0o600); err != nil {
		t.Fatal(err)
	}
	return servertest.Start(t, server.Config{FixturesPath: path})
}

// companion.md, POST /datastate/query: the verdicts and their exact texts.
func TestQueryVerdicts(t *testing.T) {
	r := withFixtures(t, lists)
	const rows = `[{"n":5,"title":"milk"},{"n":9007199254740993,"title":"bread"}]`
	for name, c := range map[string]struct{ body, want string }{
		"no expectations pass with the rows": {
			`{"query": "from: lists"}`, `{"verdict":"pass","rows":` + rows + `,"detail":""}`},
		"the query text is trimmed": {
			`{"holder": "lists", "query": "  from: lists\n", "unknown": 1}`, `{"verdict":"pass","rows":` + rows + `,"detail":""}`},
		"no rows are a list": {
			`{"query": "from: none", "expectations": [{"type": "empty"}]}`, `{"verdict":"pass","rows":[],"detail":""}`},
		"all that is expected holds": {
			`{"query": "from: lists", "params": {"a": 1}, "expectations": [{"type": "nonEmpty"}, {"type": "exactRowCount", "count": 2},
			  {"type": "minRowCount", "count": 1}, {"type": "maxRowCount", "count": 2}, {"type": "rowContains", "row": {"title": "milk"}},
			  {"type": "exactRows", "rows": [{"title": "bread", "n": 9007199254740993}, {"n": 5.0, "title": "milk"}]},
			  {"type": "all", "of": [{"type": "nonEmpty"}]}, {"type": "all"}]}`, `{"verdict":"pass","rows":` + rows + `,"detail":""}`},
		"exactly": {
			`{"query": "from: lists", "expectations": [{"type": "exactRowCount", "count": 3}]}`,
			`{"verdict":"fail","rows":` + rows + `,"detail":"datastate: assertion failed: datastate-query: want exactly 3 row(s), got 2"}`},
		"at least": {
			`{"query": "from: lists", "expectations": [{"type": "minRowCount", "count": 3}]}`,
			`{"verdict":"fail","rows":` + rows + `,"detail":"datastate: assertion failed: datastate-query: want at least 3 row(s), got 2"}`},
		"at most": {
			`{"query": "from: lists", "expectations": [{"type": "maxRowCount", "count": 1}]}`,
			`{"verdict":"fail","rows":` + rows + `,"detail":"datastate: assertion failed: datastate-query: want at most 1 row(s), got 2"}`},
		"the first that fails is the detail": {
			`{"query": "from: none", "expectations": [{"type": "empty"}, {"type": "all", "of": [{"type": "rowContains", "row": {"title": "eggs"}}]}, {"type": "nonEmpty"}]}`,
			`{"verdict":"fail","rows":[],"detail":"datastate: assertion failed: datastate-query: no row contains expected shape map[title:eggs]"}`},
		"a rowset": {
			`{"query": "from: none", "expectations": [{"type": "exactRows", "rows": [{"a": 1}]}]}`,
			`{"verdict":"fail","rows":[],"detail":"datastate: assertion failed: datastate-query: rowset mismatch: want [map[a:1]], got []"}`},
		"an unknown holder": {
			`{"holder": "zzz", "query": "from: lists"}`, `{"verdict":"fail","rows":null,"detail":"datastate: unknown holder: zzz"}`},
		"a text that was not recorded": {
			`{"query": "from: LISTS"}`,
			`{"verdict":"fail","rows":null,"detail":"datastate: query execution failed: fixture store: no fixture recorded for query \"from: LISTS\""}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := ask(t, r, "POST", "/datastate/query", c.body)
			got.wants(t, 200, c.want+"\n")
			got.wantsHeader(t, "Content-Type", jsonType)
		})
	}
	two := withFixtures(t, `{"a": {}, "b": {}}`)
	ask(t, two, "POST", "/datastate/query", `{"query": "q"}`).wants(t, 200,
		`{"verdict":"fail","rows":null,"detail":"datastate: holder name is required when more than one holder is registered"}`+"\n")
}

// companion.md: never a pass for a database that was not reached; what is wrong with the request is said before that.
func TestQueryWithoutStore(t *testing.T) {
	r := servertest.Start(t, server.Config{})
	ask(t, r, "POST", "/datastate/query", `{"query": "q", "expectations": [{"type": "empty"}]}`).wants(t, 200,
		`{"verdict":"unsupported","rows":null,"detail":"no data-state store is configured on this server: start it with --datastate NAME=DSN or --datastate-fixtures FILE"}`+"\n")
	const types = ` (want one of: nonEmpty, empty, exactRowCount, minRowCount, maxRowCount, rowContains, exactRows, all)`
	for name, c := range map[string]struct{ body, want string }{
		"no query":          {`{}`, `query is required`},
		"a blank query":     {`{"query": " \n\t"}`, `query is required`},
		"null":              {`null`, `query is required`},
		"an unknown type":   {`{"query": "q", "expectations": [{"type": "empty"}, {"type": "bogus"}]}`, `expectations[1]: unknown expectation type "bogus"` + types},
		"a nested one":      {`{"query": "q", "expectations": [{"type": "all", "of": [{"type": "bogus"}]}]}`, `expectations[0]: expectations[0]: unknown expectation type "bogus"` + types},
		"no type":           {`{"query": "q", "expectations": [{}]}`, `expectations[0]: unknown expectation type ""` + types},
		"query comes first": {`{"expectations": [{}]}`, `query is required`},
		"text after it":     {`{"query": "q"} {}`, `decoding request body: unexpected text after the JSON value`},
		"nothing":           {``, `decoding request body: the body is empty`},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := json.Marshal(c.want)
			if err != nil {
				t.Fatal(err)
			}
			ask(t, r, "POST", "/datastate/query", c.body).wants(t, 400, `{"error":`+string(want)+"}\n")
		})
	}
	for name, body := range map[string]string{"not JSON": `{query}`, "half of it": `{"query": "q`, "a list": `[]`, "a wrong type": `{"query": 5}`, "a half count": `{"query":"q","expectations":[{"type":"empty","count":1.5}]}`} {
		got := ask(t, r, "POST", "/datastate/query", body)
		if got.Status != 400 || !strings.HasPrefix(got.Body, `{"error":"decoding request body: `) {
			t.Errorf("%s: got %d %s", name, got.Status, got.Body)
		}
	}
}

// companion.md: at most 20 rows of 20 fields, alphabetical; expectations see all rows.
func TestQueryPreviewIsBounded(t *testing.T) {
	row := map[string]int{}
	for i := range 30 {
		row[fmt.Sprintf("f%02d", i)] = i
	}
	rows := make([]any, 30)
	for i := range rows {
		rows[i] = row
	}
	fixtures, err := json.Marshal(map[string]any{"h": map[string]any{"q": rows}})
	if err != nil {
		t.Fatal(err)
	}
	r := withFixtures(t, string(fixtures))
	got := ask(t, r, "POST", "/datastate/query", `{"query": "q", "expectations": [{"type": "exactRowCount", "count": 30}, {"type": "rowContains", "row": {"f29": 29}}]}`)
	var verdict struct {
		Verdict string
		Rows    []map[string]any
	}
	if err := json.Unmarshal([]byte(got.Body), &verdict); err != nil {
		t.Fatal(err)
	}
	if verdict.Verdict != "pass" || len(verdict.Rows) != 20 || len(verdict.Rows[0]) != 20 || verdict.Rows[0]["f19"] != 19.0 {
		t.Errorf("got %s with %d rows", verdict.Verdict, len(verdict.Rows))
	}
}

// security.md 5: 1 MiB, and the cap is named.
func TestQueryBodyIsBounded(t *testing.T) {
	r := withFixtures(t, lists)
	fill := func(n int) string { return `{"query":"` + strings.Repeat("x", n-len(`{"query":""}`)) + `"}` }
	if got := ask(t, r, "POST", "/datastate/query", fill(1<<20)); got.Status != 200 {
		t.Errorf("1 MiB: got %d", got.Status)
	}
	got := ask(t, r, "POST", "/datastate/query", fill(1<<20+1), "Origin", "https://chatwright.dev")
	got.wants(t, 413, `{"error":"request body is over the cap of 1 MiB"}`+"\n")
	got.wantsHeader(t, "Access-Control-Allow-Origin", "https://chatwright.dev")
	// The same when the length is not known before.
	chunked, _ := raw(t, r, "POST /datastate/query HTTP/1.1\r\nHost: ADDR\r\nTransfer-Encoding: chunked\r\n\r\n"+
		fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", 1<<20+1, fill(1<<20+1)))
	chunked.wants(t, 413, `{"error":"request body is over the cap of 1 MiB"}`+"\n")
}

type oddStore []datastate.Row

func (s oddStore) Execute(context.Context, any, datastate.Query) ([]datastate.Row, error) {
	return s, nil
}

// An executor of the embedder's own may hold what JSON cannot say. The answer is whole all the same.
func TestQueryOddValues(t *testing.T) {
	for name, value := range map[string]any{
		"not a number": math.NaN(), "infinity": math.Inf(1), "a channel": make(chan int), "a function": func() {},
		"a map of odd keys": map[[2]int]string{{1, 2}: "x"}, "nested": map[string]any{"a": []any{math.NaN()}}, "broken UTF-8": "a\xffb",
	} {
		t.Run(name, func(t *testing.T) {
			store := oddStore{{"a": 1, "odd": value}}
			r := servertest.Start(t, server.Config{DataState: datastate.NewRunner(store, datastate.Handles{"h": nil}, datastate.Limits{})})
			for _, expectation := range []string{`{"type":"nonEmpty"}`, `{"type":"empty"}`, `{"type":"rowContains","row":{"odd":1}}`, `{"type":"exactRows","rows":[{"odd":1}]}`} {
				got := ask(t, r, "POST", "/datastate/query", `{"query":"q","expectations":[`+expectation+`]}`)
				if !json.Valid([]byte(got.Body)) || got.Header.Get("Content-Type") != jsonType {
					t.Errorf("%s: got %d %q, want JSON", expectation, got.Status, got.Body)
				}
				if got.Status != 200 && got.Status != 500 {
					t.Errorf("%s: got %d", expectation, got.Status)
				}
			}
		})
	}
}

// FuzzQuery: no body makes anything but a whole JSON answer.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{`{"query":"from: lists"}`, `{"query":"q","expectations":[{"type":"all","of":[{"type":"empty"}]}]}`, `{"query":1}`, `{}x`, "", `{"query":"q","params":{"a":1e400}}`} {
		f.Add(seed)
	}
	path := filepath.Join(f.TempDir(), "fixtures.json")
	if err := os.WriteFile(path, []byte(lists), 0o600); err != nil {
		f.Fatal(err)
	}
	s, err := server.New(server.Config{Version: "1", FixturesPath: path})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		got := inProcess(s, "POST", "/datastate/query", body)
		if got.Status != 200 && got.Status != 400 && got.Status != 413 || !json.Valid([]byte(got.Body)) {
			t.Errorf("got %d %q", got.Status, got.Body)
		}
	})
}
