package server_test

import (
	"context"
	"errors"
	"testing"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/datastate"
	"chatwright.dev/tray/server/datastate/dtql"
	"chatwright.dev/tray/server/servertest"
)

const people = `{"people": {"from: people": [
	{"name": "Ann", "phone": "123", "seen": "2026-11-30", "tags": {"phone": "456"}}, {"name": "Bob", "phone": null, "seen": "2026-11-29"}
]}}`

// datastate.md, evidence: what is asked for beside the verdict, and what changes with it. Without these members the answer
// is as it always was.
func TestQueryEvidence(t *testing.T) {
	r := withFixtures(t, people)
	const ann, bob = `{"name":"Ann","phone":"123","seen":"2026-11-30","tags":{"phone":"456"}}`, `{"name":"Bob","phone":null,"seen":"2026-11-29"}`
	const annHidden, bobHidden = `{"name":"Ann","phone":"«redacted»","seen":"2026-11-30","tags":{"phone":"«redacted»"}}`, `{"name":"Bob","phone":"«redacted»","seen":"2026-11-29"}`
	const head = `{"name":"datastate-query","attachmentPoint":"checkpoint","holder":"people","query":"from: people",`
	for name, c := range map[string]struct{ body, want string }{
		"not asked for": {
			`{"query": "from: people", "evidence": false}`, `{"verdict":"pass","rows":[` + ann + `,` + bob + `],"detail":""}`},
		"of a pass": {
			`{"query": " from: people ", "evidence": true, "params": {"n": 9007199254740993}}`,
			`{"verdict":"pass","rows":[` + ann + `,` + bob + `],"detail":"","evidence":` + head +
				`"params":{"n":9007199254740993},"outcome":"passed","totalRows":2,"returnedRows":2,"truncated":false,"preview":[` + ann + `,` + bob + `]}}`},
		"of a failure": {
			`{"query": "from: people", "evidence": true, "expectations": [{"type": "empty"}]}`,
			`{"verdict":"fail","rows":[` + ann + `,` + bob + `],"detail":"datastate: assertion failed: datastate-query: want exactly 0 row(s), got 2","evidence":` + head +
				`"outcome":"failed","failureMessage":"datastate: assertion failed: datastate-query: want exactly 0 row(s), got 2","totalRows":2,"returnedRows":2,"truncated":false,"preview":[` + ann + `,` + bob + `]}}`},
		"of a query that did not run": {
			`{"holder": "x", "query": "from: people", "evidence": true}`,
			`{"verdict":"fail","rows":null,"detail":"datastate: unknown holder: x","hint":"name one of: people","evidence":{"name":"datastate-query","attachmentPoint":"checkpoint","holder":"x","query":"from: people","outcome":"failed","failureMessage":"datastate: unknown holder: x","totalRows":0,"returnedRows":0,"truncated":false,"preview":null}}`},
		"sorted by a field": {
			`{"query": "from: people", "sortKeys": ["seen"]}`, `{"verdict":"pass","rows":[` + bob + `,` + ann + `],"detail":""}`},
		"redacted at any depth, params too": {
			`{"query": "from: people", "redact": ["phone"], "evidence": true, "params": {"phone": "123"}, "expectations": [{"type": "rowContains", "row": {"phone": "999"}}]}`,
			`{"verdict":"fail","rows":[` + annHidden + `,` + bobHidden + `],"detail":"datastate: assertion failed: datastate-query: no row contains expected shape map[phone:«redacted»]","evidence":` + head +
				`"params":{"phone":"«redacted»"},"outcome":"failed","failureMessage":"datastate: assertion failed: datastate-query: no row contains expected shape map[phone:«redacted»]","totalRows":2,"returnedRows":2,"truncated":false,"preview":[` + annHidden + `,` + bobHidden + `],"redactedFields":["phone"]}}`},
		"a redacted value is still compared": {
			`{"query": "from: people", "redact": ["phone"], "expectations": [{"type": "rowContains", "row": {"phone": "123"}}]}`,
			`{"verdict":"pass","rows":[` + annHidden + `,` + bobHidden + `],"detail":""}`},
		"excluded from the comparison, not from the evidence": {
			`{"query": "from: people", "excludedFields": ["seen", "tags"], "evidence": true, "expectations": [{"type": "exactRows", "rows": [{"name": "Bob", "phone": null}, {"name": "Ann", "phone": "123"}]}]}`,
			`{"verdict":"pass","rows":[` + ann + `,` + bob + `],"detail":"","evidence":` + head +
				`"outcome":"passed","totalRows":2,"returnedRows":2,"truncated":false,"preview":[` + ann + `,` + bob + `],"excludedFields":["seen","tags"]}}`},
	} {
		t.Run(name, func(t *testing.T) { ask(t, r, "POST", "/datastate/query", c.body).wants(t, 200, c.want+"\n") })
	}
	got := ask(t, r, "POST", "/datastate/query", `{"query": "from: people", "redact": "phone"}`)
	if got.Status != 400 {
		t.Errorf("redact as text: got %d %s", got.Status, got.Body)
	}
}

// counting is a database that says what evidence keeps of it.
type counting struct{ datastate.Executor }

func (counting) Select(_ context.Context, _ any, query datastate.Query, _ int) (datastate.Result, error) {
	doc, err := dtql.Unmarshal([]byte(query.DTQL))
	if err != nil {
		return datastate.Result{}, err
	}
	canonical, err := dtql.Marshal(doc)
	return datastate.Result{Rows: []datastate.Row{{"n": 1}}, Total: 7, Collation: "BINARY", Canonical: string(canonical)}, err
}

// datastate.md: evidence keeps the canonical text with its params, and the collation where it is known; what is understood
// and not executed is no verdict about the data.
func TestQueryEvidenceOfADatabase(t *testing.T) {
	r := servertest.Start(t, server.Config{DataState: datastate.NewRunner(counting{}, datastate.Handles{"shop": nil}, datastate.Limits{})})
	ask(t, r, "POST", "/datastate/query", `{"query": "{limit: 5, from: {as: i, name: items}}", "params": {"a": [1]}, "evidence": true, "expectations": [{"type": "exactRowCount", "count": 7}]}`).wants(t, 200,
		`{"verdict":"pass","rows":[{"n":1}],"detail":"","evidence":{"name":"datastate-query","attachmentPoint":"checkpoint","holder":"shop","query":"from:\n  name: items\n  alias: i\nlimit: 5\n","params":{"a":[1]},"outcome":"passed","totalRows":7,"returnedRows":1,"truncated":true,"preview":[{"n":1}],"collation":"BINARY"}}`+"\n")
	ask(t, r, "POST", "/datastate/query", `{"query": "from: {query: {from: {name: a}}}"}`).wants(t, 200,
		`{"verdict":"unsupported","rows":null,"detail":"datastate: query execution failed: unsupported: derived table at from.query (line 1, column 8)"}`+"\n")
}

// ordered is a database whose query asks for an order, or does not.
type ordered bool

func (ordered) Execute(context.Context, any, datastate.Query) ([]datastate.Row, error) {
	return nil, nil
}

func (o ordered) Select(context.Context, any, datastate.Query, int) (datastate.Result, error) {
	return datastate.Result{Rows: []datastate.Row{{"n": 2}, {"n": 3}, {"n": 1}}, Total: 3, Ordered: bool(o)}, nil
}

// Who asks for an order may see it; without it, and where there is none, the order is the same on every run.
func TestQueryKeepsAnOrder(t *testing.T) {
	for _, c := range []struct {
		ordered bool
		asked   string
		want    string
	}{
		{true, `"keepOrder": true`, `[{"n":2},{"n":3},{"n":1}]`},
		{true, `"keepOrder": false`, `[{"n":1},{"n":2},{"n":3}]`},
		{false, `"keepOrder": true`, `[{"n":1},{"n":2},{"n":3}]`},
		{true, `"keepOrder": true, "sortKeys": ["n"]`, `[{"n":1},{"n":2},{"n":3}]`},
		{true, `"keepOrder": true, "expectations": [{"type": "exactRows", "rows": [{"n": 3}, {"n": 1}, {"n": 2}]}]`, `[{"n":2},{"n":3},{"n":1}]`},
	} {
		r := servertest.Start(t, server.Config{DataState: datastate.NewRunner(ordered(c.ordered), datastate.Handles{"shop": nil}, datastate.Limits{})})
		ask(t, r, "POST", "/datastate/query", `{"query": "q", `+c.asked+`}`).wants(t, 200, `{"verdict":"pass","rows":`+c.want+`,"detail":""}`+"\n")
	}
}

// Who embeds the server asks it without HTTP, and gets the same answers.
func TestQueryWithoutHTTP(t *testing.T) {
	s, err := server.New(server.Config{Version: "1", DataState: datastate.NewRunner(counting{}, datastate.Handles{"shop": nil}, datastate.Limits{})})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.Query(t.Context(), server.QueryRequest{Query: "from: {name: a}", Evidence: true})
	if err != nil || answer.Verdict != server.VerdictPass || answer.Evidence.TotalRows != 7 {
		t.Errorf("got %+v, %v", answer, err)
	}
	if _, err := s.Query(t.Context(), server.QueryRequest{Query: " "}); err == nil || err.Error() != "query is required" {
		t.Errorf("no query: got %v", err)
	}
	if _, err := s.Query(t.Context(), server.QueryRequest{Query: "q", Expectations: []datastate.Claim{{Type: "x"}}}); err == nil || errors.Is(err, datastate.ErrAssertionFailed) {
		t.Errorf("no such claim: got %v", err)
	}
}
