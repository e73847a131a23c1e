package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/datastate"
	"chatwright.dev/tray/server/hint"
)

func fixturesFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fixtures.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// companion.md: {"<holder>": {"<query text>": [{row}…]}}.
func TestFixturesAreReadWithTheirDigits(t *testing.T) {
	for name, mark := range map[string]string{"plain": "", "with a byte order mark": "\ufeff"} {
		t.Run(name, func(t *testing.T) {
			store, err := server.LoadFixturesFile(fixturesFile(t, mark+`{
				"main": {"  from: {name: lists}\n": [{"id": 9007199254740993, "price": "12.50", "ratio": 1.50, "tags": ["a", {"b": null}], "done": false}], "none": []},
				"spare": {}
			}`))
			if err != nil {
				t.Fatal(err)
			}
			handles := store.Handles()
			if len(handles) != 2 {
				t.Fatalf("got %d holders, want 2", len(handles))
			}
			rows, err := store.Execute(t.Context(), handles["main"], datastate.Query{DTQL: "from: {name: lists}"})
			if err != nil {
				t.Fatal(err)
			}
			got, _ := json.Marshal(rows)
			if want := `[{"done":false,"id":9007199254740993,"price":"12.50","ratio":1.50,"tags":["a",{"b":null}]}]`; string(got) != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if rows, err := store.Execute(t.Context(), handles["main"], datastate.Query{DTQL: "none"}); err != nil || len(rows) != 0 {
				t.Errorf("a query recorded with no rows: got %v, %v; want no rows", rows, err)
			}
		})
	}
}

// Bad input: errors name the file, the place and the way out.
func TestBadFixturesFiles(t *testing.T) {
	tests := []struct{ name, content, want string }{
		{"empty", "", "line 1, column 1: the JSON ends too early"},
		{"cut short", "{\n  \"main\": {\"q\": [{\"id\": 1}", "line 2, column 26: the JSON ends too early"},
		{"not JSON", "{\n  main: {}}", "line 2, column 3: invalid character 'm'"},
		{"not JSON inside a row", `{"main": {"q": [{"id": 1x}]}}`, "line 1, column 25: invalid character 'x'"},
		{"a list", "[]", "line 1, column 1: the file must be an object"},
		{"a holder that is no object", `{"main": []}`, `line 1, column 10: holder "main" must be an object`},
		{"rows that are no list", `{"main": {"q": {"id": 1}}}`, `holder "main": query "q" must hold a list of rows`},
		{"rows that are null", `{"main": {"q": null}}`, `holder "main": query "q" must hold a list of rows`},
		{"a row that is no object", "{\"main\": {\"q\": [\n{\"id\": 1},\n5]}}", `line 3, column 1: holder "main": query "q": row 2 must be an object`},
		{"a holder twice", `{"main": {}, "main": {}}`, `the file has "main" twice`},
		{"a query twice", `{"main": {"q": [], "q": []}}`, `holder "main" has "q" twice`},
		{"a query twice but for white space", `{"main": {"q": [], " q\n": []}}`, `query "q" is recorded twice`},
		{"a column twice", `{"main": {"q": [{"id": 1, "id": 2}]}}`, `row 1 has "id" twice`},
		{"a name twice inside a value", `{"main": {"q": [{"v": [{"a": 1, "a": 1}]}]}}`, `has "a" twice`},
		{"a holder without a name", `{"": {}}`, "a holder's name is empty"},
		{"a blank query", `{"main": {" ": []}}`, `holder "main": a query text is empty`},
		{"text after it", `{} {}`, "there is text after the closing brace"},
		{"a brace too many", `{}}`, "there is text after the closing brace"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := fixturesFile(t, tt.content)
			_, err := server.LoadFixturesFile(path)
			if err == nil {
				t.Fatal("accepted")
			}
			if got := err.Error(); !strings.HasPrefix(got, "reading fixtures file "+path+": ") || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want the path and %q", got, tt.want)
			}
			if hint.Of(err) == "" {
				t.Error("no way out is told")
			}
			if _, fromNew := server.New(server.Config{Version: "1", FixturesPath: path}); fromNew == nil {
				t.Error("New accepted it")
			}
		})
	}
}

func TestAFixturesFileThatIsNotThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.json")
	_, err := server.LoadFixturesFile(path)
	if !errors.Is(err, fs.ErrNotExist) || strings.Count(err.Error(), path) != 1 || !strings.Contains(hint.Of(err), "--datastate-fixtures") {
		t.Errorf("got %v (hint %q), want ErrNotExist that names the path once, and a hint that names the flag", err, hint.Of(err))
	}
	if _, err := server.LoadFixturesFile(t.TempDir()); err == nil || hint.Of(err) == "" {
		t.Errorf("a folder: got %v, want an error with a way out", err)
	}
}

func TestFixtureStore(t *testing.T) {
	store := server.NewFixtureStore(map[string]map[string][]datastate.Row{
		"main": {"\tq\n": {{"id": 1}}, "from: {name: \"a\"}": nil},
	})
	main := store.Handles()["main"]
	if rows, err := store.Execute(t.Context(), main, datastate.Query{DTQL: "q"}); err != nil || len(rows) != 1 {
		t.Errorf("white space around a recorded query: got %v, %v; want its row", rows, err)
	}
	_, err := store.Execute(t.Context(), main, datastate.Query{DTQL: `from: "b"`})
	if want := `fixture store: no fixture recorded for query "from: \"b\""`; err == nil || err.Error() != want {
		t.Errorf("another query: got %v, want %s", err, want)
	}
	if _, err := store.Execute(t.Context(), "main", datastate.Query{DTQL: "q"}); err == nil {
		t.Error("a handle of something else was accepted")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.Execute(ended, main, datastate.Query{DTQL: "q"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ended: got %v", err)
	}
	delete(store.Handles(), "main")
	if len(store.Handles()) != 1 {
		t.Error("a caller can take holders out of the store")
	}
}

// The fixtures are the runner's first executor: the text of companion.md, whole.
func TestFixturesUnderARunner(t *testing.T) {
	store := server.NewFixtureStore(map[string]map[string][]datastate.Row{"main": {}})
	runner := datastate.NewRunner(store, store.Handles(), datastate.Limits{})
	e, err := runner.Run(t.Context(), datastate.Checkpoint, datastate.Assertion{Query: datastate.Query{DTQL: " q "}})
	if want := `datastate: query execution failed: fixture store: no fixture recorded for query "q"`; err == nil || err.Error() != want || e.Preview != nil {
		t.Errorf("got %v with preview %v, want %s without one", err, e.Preview, want)
	}
}

func FuzzFixturesFile(f *testing.F) {
	for _, seed := range []string{`{"main": {"q": [{"id": 1.0, "v": [null, {"a": "x"}]}]}}`, `{"a":{" q":[]}}`, `[]`, `{"a":{"q":[{"x":1,"x":2}]}}`, "\ufeff{}", `{"a":`} {
		f.Add(seed)
	}
	path := filepath.Join(f.TempDir(), "fixtures.json")
	f.Fuzz(func(t *testing.T, content string) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		store, err := server.LoadFixturesFile(path)
		if err != nil {
			if hint.Of(err) == "" {
				t.Errorf("no way out is told: %v", err)
			}
			return
		}
		var plain map[string]map[string][]map[string]any
		if err := json.Unmarshal([]byte(strings.TrimPrefix(content, "\ufeff")), &plain); err != nil || len(plain) != len(store.Handles()) {
			t.Errorf("accepted what encoding/json reads as %v (%v)", plain, err)
		}
	})
}
