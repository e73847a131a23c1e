package sqlstore_test

import (
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"chatwright.dev/tray/server/datastate/sqlstore"
)

// SQLite keeps whatever it is given in whatever column. Neither rows nor conditions may take it for what it is not.
func TestSQLiteValueIsNotTakenForAnother(t *testing.T) {
	e := newEngine(t, "sqlite", "sqlite:"+filepath.Join(t.TempDir(), "free.db"), []string{
		`CREATE TABLE free (id INTEGER PRIMARY KEY, flag BOOLEAN, n INT, title TEXT, price DECIMAL(10,2), doc JSON, key UUID, label STRING, loose, made DATETIME)`,
		`INSERT INTO free VALUES
			(1, 'false', x'303037', x'616263', 12.345, '{"a":1}]', '5', 5, '5', x'323032362d30312d3032'),
			(2, 'true', 1, 'abc', 12.3, '{"a":1} {"b":2}', 'x', '6', 5, '2026-01-02'),
			(3, 7, 1, 'abc ', 0.1 + 0.2, '{"a":1}', '', '', '', NULL),
			(4, 1, 0, '', 5, '', NULL, NULL, NULL, NULL)`,
		`CREATE VIEW seen AS SELECT id, CAST('007' AS TEXT) AS code FROM free WHERE id = 1`,
	})
	ids := func(condition string) string {
		return `{from: {name: free}, where: ` + condition + `, columns: [{field: id}]}`
	}
	for _, c := range []struct{ name, document, want string }{
		{"booleans in words, and a number that is none", `{from: {name: free}, columns: [{field: id}, {field: flag}]}`,
			`[{"flag":false,"id":1},{"flag":true,"id":2},{"flag":7,"id":3},{"flag":true,"id":4}]`},
		{"true is what rows show as true", ids(`{op: ==, left: {field: flag}, right: {value: true}}`), `[{"id":2},{"id":4}]`},
		{"false is what rows show as false", ids(`{op: ==, left: {field: flag}, right: {value: false}}`), `[{"id":1}]`},
		{"true in a list", ids(`{op: In, left: {field: flag}, right: {values: [true, false]}}`), `[{"id":1},{"id":2},{"id":4}]`},
		{"bytes are neither a number nor text", `{from: {name: free}, limit: 2, columns: [{field: n}, {field: title}]}`,
			`[{"n":"base64:MDA3","title":"base64:YWJj"},{"n":1,"title":"abc"}]`},
		{"text is not found in bytes, nor without its space", ids(`{op: ==, left: {field: title}, right: {value: abc}}`), `[{"id":2}]`},
		{"bytes are no time", ids(`{op: ==, left: {field: made}, right: {value: '2026-01-02'}}`), `[{"id":2}]`},
		{"more digits than the type has are shown", `{from: {name: free}, columns: [{field: price}]}`,
			`[{"price":"12.345"},{"price":"12.30"},{"price":"0.30"},{"price":"5.00"}]`},
		{"text that only begins as JSON is text", `{from: {name: free}, columns: [{field: doc}]}`,
			`[{"doc":"{\"a\":1}]"},{"doc":"{\"a\":1} {\"b\":2}"},{"doc":{"a":1}},{"doc":""}]`},
		{"text is no number, nor a number text", ids(`{op: ==, left: {field: loose}, right: {value: '5'}}`), `[{"id":1}]`},
		{"a number is no text", ids(`{op: ==, left: {field: loose}, right: {value: 5}}`), `[{"id":2}]`},
		{"a column for text that keeps numbers", ids(`{op: ==, left: {field: label}, right: {value: '5 '}}`), `[]`},
		{"a UUID that SQLite took for a number", ids(`{op: ==, left: {field: key}, right: {value: '5 '}}`), `[]`},
		{"no text is not null", ids(`{op: ==, left: {field: loose}, right: {value: ''}}`), `[{"id":3}]`},
		{"null is not no text", ids(`{isNull: {field: loose}}`), `[{"id":4}]`},
		{"a fraction that a double loses", ids(`{op: ==, left: {field: n}, right: {value: 9007199254740993.5}}`),
			`error: where.right: the number 9007199254740993.5 has more digits than databases compare (65, 30 of them after the point)`},
		{"digits in a view are text", `{from: {name: seen}, columns: [{field: code}]}`, `[{"code":"007"}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := e.ask(t, c.document, nil); got != c.want {
				t.Errorf("%s:\n got %s\nwant %s", c.document, got, c.want)
			}
		})
	}
}

// MySQL has no booleans: TINYINT(1) is what stands for them, and is used for small numbers too.
func TestNumberInABooleanColumnOfMySQLIsNeitherTrueNorFalse(t *testing.T) {
	e := newEngine(t, "mysql", servers.MariaDB().Database(t), []string{
		`CREATE TABLE t (id int PRIMARY KEY, state tinyint(1))`, `INSERT INTO t VALUES (1, 2), (2, 1), (3, 0), (4, -1)`})
	for document, want := range map[string]string{
		`{from: {name: t}}`: `[{"id":1,"state":2},{"id":2,"state":true},{"id":3,"state":false},{"id":4,"state":-1}]`,
		`{from: {name: t}, where: {op: ==, left: {field: state}, right: {value: true}}, columns: [{field: id}]}`:                               `[{"id":2}]`,
		`{from: {name: t}, where: {op: In, left: {field: state}, right: {values: [false, true]}}, columns: [{field: id}]}`:                     `[{"id":2},{"id":3}]`,
		`{from: {name: t}, groupBy: [{field: state}], columns: [{field: state}, {aggregate: {function: count, args: [{star: true}]}, as: n}]}`: `[{"n":1,"state":-1},{"n":1,"state":false},{"n":1,"state":true},{"n":1,"state":2}]`,
	} {
		if got := e.ask(t, document, nil); got != want {
			t.Errorf("%s:\n got %s\nwant %s", document, got, want)
		}
	}
}

// MySQL would find 0 in every text, if a column was taken for what it was before a migration.
func TestColumnThatBecameAnotherTypeIsSeenAtOnce(t *testing.T) {
	for _, e := range engines(t, `CREATE TABLE t (v {int})`, `INSERT INTO t VALUES (0)`) {
		t.Run(e.name, func(t *testing.T) {
			const zero = `{from: {name: t}, where: {op: ==, left: {field: v}, right: {value: 0}}}`
			if got, want := e.ask(t, zero, nil), `[{"v":0}]`; got != want {
				t.Fatalf("got %s, want %s", got, want)
			}
			e.exec(t, `DROP TABLE t`, `CREATE TABLE t (v {key})`, `INSERT INTO t VALUES ('abc')`)
			const want = `error: where.right: the number 0 cannot be compared with text: write it in quotes`
			if got := e.ask(t, zero, nil); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// Text compares as the database does, whatever encoding it would speak by itself.
func TestTextOfPostgreSQL(t *testing.T) {
	dsn := servers.Postgres().Database(t)
	e := newEngine(t, "postgres", dsn, []string{`CREATE EXTENSION citext`,
		`CREATE TABLE t (plain text, folded citext)`, `INSERT INTO t VALUES ('café', 'Café')`,
		`DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET client_encoding = ''LATIN1'''; END $$`})
	for document, want := range map[string]string{
		`{from: {name: t}}`: `[{"folded":"Café","plain":"café"}]`,
		`{from: {name: t}, where: {op: ==, left: {field: plain}, right: {value: café}}, columns: [{field: plain}]}`:        `[{"plain":"café"}]`,
		`{from: {name: t}, where: {op: ==, left: {field: plain}, right: {value: CAFÉ}}, columns: [{field: plain}]}`:        `[]`,
		`{from: {name: t}, where: {op: ==, left: {field: folded}, right: {value: cAFÉ}}, columns: [{field: plain}]}`:       `[{"plain":"café"}]`,
		`{from: {name: t}, where: {op: In, left: {field: folded}, right: {values: [x, cAFÉ]}}, columns: [{field: plain}]}`: `[{"plain":"café"}]`,
		`{from: {name: t}, columns: [{aggregate: {function: max, args: [{field: folded}]}, as: most}]}`:                    `[{"most":"Café"}]`,
	} {
		if got := e.ask(t, document, nil); got != want {
			t.Errorf("%s:\n got %s\nwant %s", document, got, want)
		}
	}
}

// What is too large is neither kept in memory nor waited for, and is nobody's lost connection.
func TestRowsThatAreTooLargeAreNotTakenIn(t *testing.T) {
	const want = `holder "db": the rows are over 16 MiB together: choose fewer columns, or narrow the query`
	for engine, insert := range map[string]string{
		"sqlite":   `INSERT INTO t SELECT value, replace(hex(zeroblob(20 * 1024 * 1024)), '0', 'x') FROM json_each('[1, 2]')`,
		"postgres": `INSERT INTO t SELECT n, repeat('x', 50 * 1024 * 1024) FROM generate_series(1, 2) n`,
		"mysql":    `INSERT INTO t SELECT seq, repeat('x', 8 * 1024 * 1024) FROM seq_1_to_20`,
	} {
		t.Run(engine, func(t *testing.T) {
			dsn := "sqlite:" + filepath.Join(t.TempDir(), "large.db")
			switch engine {
			case "postgres":
				dsn = servers.Postgres().Database(t)
			case "mysql":
				dsn = servers.MariaDB().Database(t)
			}
			text := "text"
			if engine == "mysql" {
				text = "longtext" // where {text} ends at 64 KiB
			}
			newEngine(t, engine, dsn, []string{`CREATE TABLE t (id {int} PRIMARY KEY, v ` + text + `)`, insert})
			var lost atomic.Bool
			store, err := sqlstore.New(sqlstore.Config{Holders: map[string]string{"db": dsn}, StatementTimeout: time.Minute,
				Observe: func(_ string, err error) { lost.Store(lost.Load() || err != nil) }})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = selectFrom(t.Context(), store, oneTable, 1000)
			runtime.ReadMemStats(&after)
			if err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
			// Buffers grow by doubling, and are copied: what counts is that it is a small multiple of the bound, not all rows.
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 140 {
				t.Errorf("it took %d MiB of memory, want 140 at most", took)
			}
			result, err := selectFrom(t.Context(), store, `{from: {name: t}, columns: [{field: id}], limit: 1}`, 20)
			if err != nil || rowsJSON(result.Rows) != `[{"id":1}]` || lost.Load() {
				t.Errorf("the next query: got %s and %v (unreachable: %t), want its row", rowsJSON(result.Rows), err, lost.Load())
			}
		})
	}
}
