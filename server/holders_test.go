package server_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/datastate"
	"chatwright.dev/tray/server/datastate/sqlstore"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
)

// liveData stands in for databases: each has one table, whose one row is the name of the holder.
type liveData map[string]protocol.Holder

func (d liveData) Handles() datastate.Handles {
	handles := datastate.Handles{}
	for name := range d {
		handles[name] = name
	}
	return handles
}

func (d liveData) Select(_ context.Context, handle any, _ datastate.Query, most int) (datastate.Result, error) {
	if most > datastate.DefaultCompared {
		panic("more rows are asked for than are looked at")
	}
	return datastate.Result{Rows: []datastate.Row{{"of": handle}}, Total: 1000}, nil
}

func (d liveData) Execute(ctx context.Context, handle any, q datastate.Query) ([]datastate.Row, error) {
	result, err := d.Select(ctx, handle, q, 1)
	return result.Rows, err
}

func (d liveData) Probe(context.Context) []protocol.Holder {
	var list []protocol.Holder
	for _, h := range d {
		list = append(list, h)
	}
	return list
}

func recordedIn(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fixtures.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// datastate.md, Holders: fixtures keep working beside databases; GET /datastate/holders lists both.
func TestFixturesAndDatabasesSideBySide(t *testing.T) {
	r := servertest.Start(t, server.Config{
		FixturesPath: recordedIn(t, `{"recorded": {"from: lists": [{"title": "milk"}]}}`),
		Databases: liveData{
			"shop": {Name: "shop", Kind: protocol.HolderPostgres, Reach: protocol.ReachDown, Detail: "connection refused"},
			"app":  {Name: "app", Kind: protocol.HolderSQLite, Reach: protocol.ReachOK},
		},
	})
	ask(t, r, "POST", "/datastate/query", `{"holder": "recorded", "query": "from: lists"}`).wants(t, 200,
		`{"verdict":"pass","rows":[{"title":"milk"}],"detail":""}`+"\n")
	ask(t, r, "POST", "/datastate/query", `{"holder": "shop", "query": "from: {name: t}", "expectations": [{"type": "exactRowCount", "count": 1000}]}`).wants(t, 200,
		`{"verdict":"pass","rows":[{"of":"shop"}],"detail":""}`+"\n")
	ask(t, r, "POST", "/datastate/query", `{"holder": "shop", "query": "from: {name: t}", "expectations": [{"type": "maxRowCount", "count": 20}]}`).wants(t, 200,
		`{"verdict":"fail","rows":[{"of":"shop"}],"detail":"datastate: assertion failed: datastate-query: want at most 20 row(s), got 1000"}`+"\n")
	ask(t, r, "GET", "/datastate/holders", "").wants(t, 200,
		`{"holders":[{"name":"app","kind":"sqlite","reach":"ok"},{"name":"recorded","kind":"fixtures","reach":"ok"},`+
			`{"name":"shop","kind":"postgres","reach":"down","detail":"connection refused"}]}`+"\n")
	ask(t, servertest.Start(t, server.Config{}), "GET", "/datastate/holders", "").wants(t, 200, `{"holders":[]}`+"\n")
}

func TestNameOfTwoHoldersIsAnErrorAtStart(t *testing.T) {
	_, err := server.New(server.Config{Version: "test", FixturesPath: recordedIn(t, `{"shop": {}}`), Databases: liveData{"shop": {}}})
	if err == nil || !strings.Contains(err.Error(), `the data-state holder "shop" is both a database and in the fixtures file`) || hint.Of(err) == "" {
		t.Errorf("got %v, want an error with a hint", err)
	}
}

// companion.md: what is understood and not executed is unsupported, what was not reached fails; neither ever passes.
func TestVerdictOfWhatDidNotRun(t *testing.T) {
	store, err := sqlstore.New(sqlstore.Config{Holders: map[string]string{"gone": "sqlite:" + filepath.Join(t.TempDir(), "gone.db")}})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	r := servertest.Start(t, server.Config{Databases: store})
	for name, c := range map[string]struct{ query, verdict, detail string }{
		"a derived table": {"{from: {query: {from: {name: t}}, alias: d}}", `"verdict":"unsupported","rows":null`, "unsupported: "},
		"no database":     {"{from: {name: t}}", `"verdict":"fail","rows":null`, `datastate: query execution failed: holder \"gone\": cannot be reached: `},
		"no document":     {"SELECT 1", `"verdict":"fail","rows":null`, "datastate: query execution failed: "},
	} {
		got := ask(t, r, "POST", "/datastate/query", `{"query": "`+c.query+`", "expectations": [{"type": "minRowCount"}]}`)
		if !strings.Contains(got.Body, c.verdict) || !strings.Contains(got.Body, c.detail) {
			t.Errorf("%s: got %s", name, got.Body)
		}
	}
}
