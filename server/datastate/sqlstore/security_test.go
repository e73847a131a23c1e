package sqlstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"chatwright.dev/tray/server/datastate"
	"chatwright.dev/tray/server/datastate/dtql"
	"chatwright.dev/tray/server/datastate/sqlstore"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/servertest/dbtest"
)

// injections are texts that end what they stand in, on one engine or another.
var injections = []string{
	`'`, `"`, "`", `\`, `';`, `'; DROP TABLE victims; --`, `"; DROP TABLE victims; --`, "`; DROP TABLE victims; -- ", `' OR '1'='1`, `\'; DELETE FROM victims; -- `,
	`1; DROP TABLE victims`, `$1`, `?`, `?1`, `%s`, `:name`, `/*`, `*/`, `--`, `#`, "\n; DROP TABLE victims", `$$; DROP TABLE victims; $$`, `\x27`, `' UNION SELECT * FROM victims --`,
	`victims" WHERE 1=1; --`, `{{.}}`, "\u02bc", "\uff07", `id) OR (1=1`, `* FROM victims; --`, `(SELECT 1)`, `NULL`,
}

// security.md 20: values are always bound.
func TestValueIsNeverSQL(t *testing.T) {
	for _, e := range engines(t, `CREATE TABLE victims (id {int} PRIMARY KEY, v {key})`, `INSERT INTO victims VALUES (0, 'kept')`) {
		t.Run(e.name, func(t *testing.T) {
			for i, text := range injections {
				insert := "INSERT INTO victims VALUES (?, ?)"
				if e.name == "postgres" {
					insert = "INSERT INTO victims VALUES ($1, $2)"
				}
				if _, err := e.db.ExecContext(t.Context(), insert, i+1, text); err != nil {
					t.Fatal(err)
				}
				want := fmt.Sprintf(`[{"id":%d}]`, i+1)
				field := dtql.Field{Name: "v"}
				id := dtql.Column{Expr: dtql.Field{Name: "id"}}
				for place, doc := range map[string]*dtql.Document{
					"a value":  {Where: dtql.Comparison{Op: dtql.Equal, Left: field, Right: dtql.Value{V: text}}, Columns: []dtql.Column{id}},
					"the left": {Where: dtql.Comparison{Op: dtql.Equal, Left: dtql.Value{V: text}, Right: field}, Columns: []dtql.Column{id}},
					"a list":   {Where: dtql.Comparison{Op: dtql.In, Left: field, Right: dtql.Values{"x", text}}, Columns: []dtql.Column{id}},
					"having": {GroupBy: []dtql.Expr{field, dtql.Field{Name: "id"}}, Columns: []dtql.Column{id},
						Having: dtql.Comparison{Op: dtql.Equal, Left: dtql.Aggregate{Function: dtql.Max, Args: []dtql.Expr{field}}, Right: dtql.Value{V: text}}},
				} {
					doc.From.Name = "victims"
					result, err := e.store.SelectDocument(t.Context(), e.handle(), doc, 20)
					if err != nil || rowsJSON(result.Rows) != want {
						t.Errorf("%q as %s: got %s and %v, want %s", text, place, rowsJSON(result.Rows), err, want)
					}
				}
				doc := &dtql.Document{From: dtql.From{Name: "victims"}, Limit: 1, Columns: []dtql.Column{{Expr: dtql.Value{V: text}, As: text}}}
				result, err := e.store.SelectDocument(t.Context(), e.handle(), doc, 20)
				if want := []datastate.Row{{text: text}}; err != nil || rowsJSON(result.Rows) != rowsJSON(want) {
					t.Errorf("%q as a column and its name: got %v and %v, want %v", text, result.Rows, err, want)
				}
			}
			if got := e.ask(t, `{from: {name: victims}, columns: [{aggregate: {function: count, args: [{star: true}]}, as: n}]}`, nil); got != fmt.Sprintf(`[{"n":%d}]`, len(injections)+1) {
				t.Errorf("the table has changed: %s", got)
			}
		})
	}
}

// security.md 20: identifiers are looked up in the introspected schema and quoted.
func TestIdentifierIsLookedUpOrRefused(t *testing.T) {
	for _, e := range engines(t, `CREATE TABLE victims (id {int} PRIMARY KEY, v {key})`, `INSERT INTO victims VALUES (1, 'kept')`) {
		t.Run(e.name, func(t *testing.T) {
			for _, text := range injections {
				v, as := dtql.Field{Name: "v"}, []dtql.Column{{Expr: dtql.Field{Name: "v"}}}
				for place, doc := range map[string]*dtql.Document{
					"a table":      {From: dtql.From{Name: text}},
					"a schema":     {From: dtql.From{Name: "victims", Schema: text}},
					"a column":     {From: dtql.From{Name: "victims"}, Columns: []dtql.Column{{Expr: dtql.Field{Name: text}}}},
					"a source":     {From: dtql.From{Name: "victims"}, Columns: []dtql.Column{{Expr: dtql.Field{Name: "v", Source: text}, As: "x"}}},
					"an order":     {From: dtql.From{Name: "victims"}, OrderBy: []dtql.Order{{Expr: dtql.Field{Name: text}}}},
					"a group":      {From: dtql.From{Name: "victims"}, GroupBy: []dtql.Expr{dtql.Field{Name: text}}, Columns: as},
					"an exclusion": {From: dtql.From{Name: "victims"}, Columns: []dtql.Column{{Wildcard: &dtql.Wildcard{Exclude: []string{text}}}}},
					"an aggregate": {From: dtql.From{Name: "victims"}, Columns: []dtql.Column{{Expr: dtql.Aggregate{Function: dtql.Function(text), Args: []dtql.Expr{v}}, As: "x"}}},
					"an operator":  {From: dtql.From{Name: "victims"}, Where: dtql.Comparison{Op: dtql.Op(text), Left: v, Right: v}},
					"arithmetic":   {From: dtql.From{Name: "victims"}, Columns: []dtql.Column{{Expr: dtql.Binary{Op: dtql.BinaryOp(text), Left: v, Right: v}, As: "x"}}},
					"a join type": {From: dtql.From{Name: "victims", Joins: []dtql.Join{{Type: dtql.JoinType(text), From: dtql.From{Name: "victims", Alias: "w"},
						On: []dtql.On{{Left: dtql.Field{Name: "id", Source: "w"}, Right: dtql.Field{Name: "id", Source: "victims"}}}}}}},
				} {
					_, err := e.store.SelectDocument(t.Context(), e.handle(), doc, 20)
					_, document := errors.AsType[*dtql.Error](err)
					if !document {
						t.Errorf("%q as %s: got %v, want an error of the document", text, place, err)
					}
				}
				alias := &dtql.Document{From: dtql.From{Name: "victims", Alias: text}, Columns: []dtql.Column{{Expr: dtql.Field{Name: "v", Source: text}}}}
				if result, err := e.store.SelectDocument(t.Context(), e.handle(), alias, 20); err != nil || rowsJSON(result.Rows) != `[{"v":"kept"}]` {
					t.Errorf("%q as an alias: got %v and %v, want the row", text, result.Rows, err)
				}
			}
		})
	}
}

// Names that a schema really has may hold anything.
func TestNameOfTheSchemaIsQuoted(t *testing.T) {
	for _, name := range []string{`a"b`, "a`b", "a'b", "a b", "select", "a;--", "ä", "A"} {
		for _, e := range engines(t) {
			quoted := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
			if e.name == "mysql" {
				quoted = "`" + strings.ReplaceAll(name, "`", "``") + "`"
			}
			e.exec(t, "CREATE TABLE "+quoted+" ("+quoted+" {int} PRIMARY KEY)", "INSERT INTO "+quoted+" VALUES (7)")
			doc := &dtql.Document{From: dtql.From{Name: name}, OrderBy: []dtql.Order{{Expr: dtql.Field{Name: name}}}}
			result, err := e.store.SelectDocument(t.Context(), e.handle(), doc, 20)
			if err != nil || len(result.Rows) != 1 || datastate.CanonicalJSON(result.Rows[0][name]) != "7" {
				t.Errorf("%s: %q: got %v and %v", e.name, name, result.Rows, err)
			}
		}
	}
}

// The catalogues hold what is nobody's business: definitions, users, password hashes.
func TestCatalogueIsNoTable(t *testing.T) {
	for _, e := range engines(t, `CREATE TABLE one (id {int} PRIMARY KEY)`) {
		for schema, tables := range map[string][]string{
			"": {"sqlite_schema", "sqlite_master", "pg_authid", "pg_class", "user"}, "pg_catalog": {"pg_authid", "pg_shadow"},
			"information_schema": {"tables", "TABLES"}, "mysql": {"user", "global_priv"}, "MYSQL": {"user"}, "temp": {"sqlite_master"},
		} {
			for _, name := range tables {
				doc := &dtql.Document{From: dtql.From{Schema: schema, Name: name}}
				if _, err := e.store.SelectDocument(t.Context(), e.handle(), doc, 20); err == nil || !strings.Contains(err.Error(), "unknown table") {
					t.Errorf("%s: %s.%s: got %v, want an unknown table", e.name, schema, name, err)
				}
			}
		}
	}
}

// security.md 20: read-only twice over. Whatever a statement is, on the connections of the store it changes nothing.
func TestWriteFailsThroughEveryDoor(t *testing.T) {
	for _, e := range engines(t, `CREATE TABLE victims (id {int} PRIMARY KEY, v {key})`, `INSERT INTO victims VALUES (1, 'kept')`) {
		t.Run(e.name, func(t *testing.T) {
			writes := []string{
				`INSERT INTO victims VALUES (2, 'x')`, `UPDATE victims SET v = 'x'`, `DELETE FROM victims`, `DROP TABLE victims`, `ALTER TABLE victims ADD COLUMN w {int}`,
				`CREATE TABLE more (id {int})`, `CREATE INDEX i ON victims (v)`,
			}
			switch e.name {
			case "sqlite":
				writes = append(writes, `PRAGMA user_version = 7`, `REPLACE INTO victims VALUES (1, 'x')`, `WITH c AS (SELECT 1) DELETE FROM victims`, `VACUUM`)
			case "postgres":
				writes = append(writes, `WITH c AS (DELETE FROM victims RETURNING *) SELECT * FROM c`, `TRUNCATE victims`, `SELECT setval('s', 9)`, `SELECT nextval('s')`,
					`COPY victims FROM STDIN`, `SELECT * FROM victims FOR UPDATE`)
				e.exec(t, `CREATE SEQUENCE s`)
			case "mysql":
				writes = append(writes, `REPLACE INTO victims VALUES (1, 'x')`, `TRUNCATE TABLE victims`, `RENAME TABLE victims TO other`, `CREATE VIEW w AS SELECT 1`)
			}
			for _, inTransaction := range []bool{true, false} {
				for _, write := range writes {
					if err := sqlstore.Write(t.Context(), e.handle(), types[e.name].Replace(write), inTransaction); err == nil {
						t.Errorf("%s (in a transaction of ours: %t) went through", write, inTransaction)
					}
				}
			}
			if got := e.ask(t, `{from: {name: victims}}`, nil); got != `[{"id":1,"v":"kept"}]` {
				t.Errorf("the table has changed: %s", got)
			}
		})
	}
}

// No error, no status and no list says a secret, whatever is wrong.
func TestErrorHasNoSecret(t *testing.T) {
	const marked = "m4rk3d/Secret%"
	raw := url.QueryEscape(marked)
	dsns := map[string]string{
		"postgres refused":  "postgres://ada:" + raw + "@127.0.0.1:1/shop",
		"postgres in query": "postgres://ada@127.0.0.1:1/shop?password=" + raw,
		"postgres no host":  "postgres://ada:" + raw + "@nowhere.invalid/shop?connect_timeout=1",
		"mysql refused":     "mysql://ada:" + raw + "@127.0.0.1:1/shop",
		"mysql no socket":   "mysql://ada:" + raw + "@/shop?socket=/nowhere/" + "s",
	}
	for name, server := range map[string]*dbtest.Server{"postgres denied": servers.Postgres(), "mysql denied": servers.MariaDB()} {
		u, err := url.Parse(server.Database(t))
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword("mallory", marked)
		dsns[name] = u.String()
	}
	holders := map[string]string{}
	for name, dsn := range dsns {
		holders[strings.ReplaceAll(name, " ", "-")] = dsn
	}
	var observed sync.Map
	store, err := sqlstore.New(sqlstore.Config{Holders: holders, Observe: func(holder string, err error) { observed.Store(holder, err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for name, handle := range store.Handles() {
		_, err := store.Select(t.Context(), handle, datastate.Query{DTQL: "{from: {name: t}}"}, 20)
		if !errors.Is(err, sqlstore.ErrUnreachable) || !strings.Contains(err.Error(), fmt.Sprintf("holder %q: cannot be reached: ", name)) {
			t.Errorf("%s: got %v, want it unreachable, with its name", name, err)
		}
		told, _ := observed.Load(name)
		for _, text := range []string{fmt.Sprintf("%v %+v %#v %v", err, err, err, told), hint.Of(err)} {
			if strings.Contains(text, marked) || strings.Contains(text, raw) || strings.Contains(text, "m4rk3d") {
				t.Errorf("%s: the error says the secret: %s", name, text)
			}
		}
	}
	list, err := json.Marshal(store.Probe(t.Context()))
	if err != nil || strings.Contains(string(list), "m4rk3d") || strings.Contains(string(list), "://") {
		t.Errorf("the list of holders says too much: %s", list)
	}
	if n := strings.Count(string(list), `"reach":"down"`); n != len(holders) {
		t.Errorf("%d of %d are down: %s", n, len(holders), list)
	}
}

func TestFileThatIsNoDatabaseIsNamed(t *testing.T) {
	folder := t.TempDir()
	garbage := filepath.Join(folder, "notes.txt")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("no database ", 200)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(folder, "missing.db"): "no such file", garbage: "not a database", folder: "it is a folder",
	} {
		store := newStore(t, "sqlite:"+path)
		_, err := store.Select(context.Background(), store.Handles()["db"], datastate.Query{DTQL: "{from: {name: t}}"}, 20)
		if !errors.Is(err, sqlstore.ErrUnreachable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
	if files, _ := os.ReadDir(folder); !slices.ContainsFunc(files, func(f os.DirEntry) bool { return f.Name() == "notes.txt" }) || len(files) != 1 {
		t.Errorf("files were made: %v", files)
	}
}
