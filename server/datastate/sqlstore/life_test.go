package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"chatwright.dev/tray/server/datastate"
	"chatwright.dev/tray/server/datastate/sqlstore"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/servertest/dbtest"
	"chatwright.dev/tray/server/servertest/timetest"
)

const oneTable = `{from: {name: t}}`

func selectFrom(ctx context.Context, store *sqlstore.Store, document string, most int) (datastate.Result, error) {
	return store.Select(ctx, store.Handles()["db"], datastate.Query{DTQL: document}, most)
}

// datastate.md, Holders: a lost database is found again without a restart.
func TestDatabaseThatWasKilledIsFoundAgain(t *testing.T) {
	for name, server := range map[string]*dbtest.Server{"postgres": servers.Postgres(), "mysql": servers.MariaDB()} {
		t.Run(name, func(t *testing.T) {
			dsn := server.Database(t)
			e := newEngine(t, name, dsn, []string{`CREATE TABLE t (id {int} PRIMARY KEY)`, `INSERT INTO t VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)`})
			var reached atomic.Bool
			store, err := sqlstore.New(sqlstore.Config{Holders: map[string]string{"db": dsn}, StatementTimeout: time.Minute,
				Observe: func(_ string, err error) { reached.Store(err == nil) }})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			if _, err := selectFrom(t.Context(), store, oneTable, 20); err != nil || !reached.Load() {
				t.Fatalf("before: %v", err)
			}
			// A query that takes for ever: the tenth power of the table, by its number of rows.
			var joins strings.Builder
			for i := range 12 {
				fmt.Fprintf(&joins, "{from: {name: t, alias: j%d}, on: [{op: '==', left: {field: id, source: j%d}, right: {field: id, source: j%d}}]},", i, i, i)
			}
			slow := make(chan error, 1)
			go func() {
				_, err := selectFrom(context.Background(), store, "{from: {name: t, joins: ["+joins.String()+"]}, columns: [{aggregate: {function: count, args: [{star: true}]}, as: n}]}", 20)
				slow <- err
			}()
			awaitBusy(t, e)
			server.Kill(t)
			if err := <-slow; !errors.Is(err, sqlstore.ErrUnreachable) {
				t.Errorf("killed in the middle: got %v, want the database unreachable", err)
			}
			if _, err := selectFrom(t.Context(), store, oneTable, 20); !errors.Is(err, sqlstore.ErrUnreachable) || reached.Load() {
				t.Errorf("while it is gone: got %v, want it unreachable", err)
			}
			server.Start(t)
			result, err := selectFrom(t.Context(), store, oneTable, 20)
			if err != nil || len(result.Rows) != 10 || !reached.Load() {
				t.Errorf("started again: got %d rows and %v, want 10", len(result.Rows), err)
			}
		})
	}
}

// awaitBusy waits until the store's slow query runs.
func awaitBusy(t *testing.T, e engine) {
	t.Helper()
	query := "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%t12%'"
	if e.name == "mysql" {
		query = "SELECT count(*) FROM information_schema.processlist WHERE info LIKE '%t12%' AND info NOT LIKE '%processlist%'"
	} else {
		query += " AND query NOT LIKE '%pg_stat_activity%'"
	}
	timetest.Until(t, "the slow query to run", func() (n int, running bool) {
		t.Helper()
		if err := e.db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n, n > 0
	})
}

// datastate.md: a statement timeout ends a slow query with its name.
func TestSlowQueryIsEndedWithItsName(t *testing.T) {
	for _, e := range engines(t, `CREATE TABLE t (id {int} PRIMARY KEY)`, `INSERT INTO t VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)`) {
		t.Run(e.name, func(t *testing.T) {
			store, err := sqlstore.New(sqlstore.Config{Holders: map[string]string{"db": e.dsn}, StatementTimeout: 1500 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			var joins strings.Builder
			for i := range 12 {
				fmt.Fprintf(&joins, "{from: {name: t, alias: j%d}, on: [{op: '==', left: {field: id, source: j%d}, right: {field: id, source: j%d}}]},", i, i, i)
			}
			document := "{from: {name: t, joins: [" + joins.String() + "]}, columns: [{aggregate: {function: count, args: [{star: true}]}, as: n}]}"
			_, err = selectFrom(t.Context(), store, document, 20)
			if !errors.Is(err, sqlstore.ErrTimeout) || err.Error() != `holder "db": the query took longer than 1.5s and was ended` {
				t.Errorf("got %v, want the timeout with the holder's name", err)
			}
			if _, err := selectFrom(t.Context(), store, oneTable, 20); err != nil {
				t.Errorf("the next query: %v", err)
			}
		})
	}
}

func TestHundredAssertionsShareFourConnections(t *testing.T) {
	for _, e := range engines(t, sameTables...) {
		t.Run(e.name, func(t *testing.T) {
			runner := datastate.NewRunner(e.store, e.store.Handles(), datastate.Limits{})
			var group sync.WaitGroup
			for i := range 100 {
				group.Go(func() {
					a := datastate.Assertion{Name: fmt.Sprint(i), Query: datastate.Query{DTQL: "{from: {name: lists}}"},
						Claims: []datastate.Claim{{Type: datastate.ExactRowCountClaim, Count: 4}, {Type: datastate.RowContainsClaim, Row: datastate.Row{"title": "eggs", "items": map[string]any{"big": int64(9007199254740993)}}}}}
					if _, err := runner.Run(t.Context(), datastate.Checkpoint, a); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			if n := sqlstore.Connections(e.handle()); n > sqlstore.MaxConns {
				t.Errorf("got %d connections, want %d at most", n, sqlstore.MaxConns)
			}
		})
	}
}

// A changed table is seen: by SQLite at once, elsewhere when what is new, or gone, is named.
func TestTableThatChangesIsSeen(t *testing.T) {
	for _, e := range engines(t, `CREATE TABLE t (id {int} PRIMARY KEY, gone {key})`, `INSERT INTO t VALUES (1, 'x')`) {
		if got := e.ask(t, oneTable, nil); got != `[{"gone":"x","id":1}]` {
			t.Errorf("%s: before: got %s", e.name, got)
		}
		e.exec(t, `ALTER TABLE t ADD COLUMN more {int}`, `ALTER TABLE t DROP COLUMN gone`, `UPDATE t SET more = 5`)
		if got := e.ask(t, `{from: {name: t}, columns: [{field: more}]}`, nil); got != `[{"more":5}]` {
			t.Errorf("%s: a new column: got %s", e.name, got)
		}
		if got := e.ask(t, oneTable, nil); got != `[{"id":1,"more":5}]` {
			t.Errorf("%s: all columns: got %s", e.name, got)
		}
		e.exec(t, `DROP TABLE t`)
		if got := e.ask(t, oneTable, nil); !strings.Contains(got, `unknown table "t"`) {
			t.Errorf("%s: no table: got %s", e.name, got)
		}
		e.exec(t, `CREATE TABLE t (name {key})`, `INSERT INTO t VALUES ('anew')`)
		if got := e.ask(t, oneTable, nil); got != `[{"name":"anew"}]` {
			t.Errorf("%s: a new table: got %s", e.name, got)
		}
	}
}

// The application goes on writing while it is read, and what is read is of one moment.
func TestSQLiteIsReadWhileItIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	app := writer(t, "sqlite:"+path)
	app.SetMaxOpenConns(1)
	for _, statement := range []string{"PRAGMA journal_mode = WAL", "CREATE TABLE t (id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1)"} {
		if _, err := app.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	store := newStore(t, "sqlite:"+path)
	tx, err := app.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "INSERT INTO t VALUES (2)"); err != nil {
		t.Fatal(err)
	}
	result, err := selectFrom(t.Context(), store, oneTable, 20)
	if err != nil || result.Total != 1 {
		t.Errorf("while a transaction is open: got %d rows and %v, want 1", result.Total, err)
	}
	if err := tx.Commit(); err != nil {
		t.Errorf("the application was kept from writing: %v", err)
	}
	if result, err = selectFrom(t.Context(), store, oneTable, 20); err != nil || result.Total != 2 {
		t.Errorf("after it: got %d rows and %v, want 2", result.Total, err)
	}
	writing, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		for i := 3; writing.Err() == nil; i += 2 { // always two at a time
			if _, err := app.ExecContext(t.Context(), "INSERT INTO t VALUES (?), (?)", i, i+1); err != nil {
				t.Errorf("the application was kept from writing: %v", err)
				return
			}
		}
	})
	for range 50 {
		if result, err := selectFrom(t.Context(), store, oneTable, 5); err != nil || result.Total%2 != 0 {
			t.Errorf("got %d rows and %v, want an even number", result.Total, err)
		}
	}
	stop()
	group.Wait()
}

// A file that was replaced is another database.
func TestSQLiteFileThatIsReplacedIsReadAnew(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "app.db")
	fill := func(path string, n int) {
		db, err := sql.Open("sqlite", "file://"+path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.ExecContext(t.Context(), fmt.Sprintf("CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (%d)", n)); err != nil {
			t.Fatal(err)
		}
	}
	store := newStore(t, "sqlite:"+path)
	if _, err := selectFrom(t.Context(), store, oneTable, 20); !errors.Is(err, sqlstore.ErrUnreachable) {
		t.Errorf("no file yet: got %v, want it unreachable", err)
	}
	for n := range 3 {
		next := filepath.Join(folder, "next.db")
		fill(next, n)
		if err := os.Rename(next, path); err != nil {
			t.Fatal(err)
		}
		result, err := selectFrom(t.Context(), store, oneTable, 20)
		if err != nil || rowsJSON(result.Rows) != fmt.Sprintf(`[{"id":%d}]`, n) {
			t.Errorf("file %d: got %v and %v", n, result.Rows, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := selectFrom(t.Context(), store, oneTable, 20); !errors.Is(err, sqlstore.ErrUnreachable) {
		t.Errorf("deleted: got %v, want it unreachable", err)
	}
}

// readOnlyFolder makes a folder that this user cannot write, with a database in the write-ahead mode.
func readOnlyFolder(t *testing.T, prepare func(db *sql.DB)) (path string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "cw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = os.Chmod(folder, 0o700)
		_ = os.RemoveAll(folder)
	})
	path = filepath.Join(folder, "app.db")
	db, err := sql.Open("sqlite", "file://"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{"PRAGMA journal_mode = WAL", "CREATE TABLE t (id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)"} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if prepare != nil {
		prepare(db)
	}
	_ = db.Close()
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o555); err != nil {
		t.Fatal(err)
	}
	return path
}

const readerVariable = "CHATWRIGHT_TEST_READ"

// TestReadAsAnotherUser is no test of its own: as nobody, it reads the file that the one below names.
func TestReadAsAnotherUser(t *testing.T) {
	path := os.Getenv(readerVariable)
	if path == "" {
		t.Skip("started by TestSQLiteInAFolderThatCannotBeWritten")
	}
	store := newStore(t, "sqlite:"+path)
	result, err := selectFrom(t.Context(), store, oneTable, 20)
	fmt.Printf("RESULT %d %v\n", result.Total, err)
	if again, err := selectFrom(t.Context(), store, oneTable, 20); err == nil && again.Total != result.Total {
		t.Errorf("the second time: %d", again.Total)
	}
}

func TestSQLiteInAFolderThatCannotBeWritten(t *testing.T) {
	for _, c := range []struct {
		name  string
		open  bool // an application has the database open
		crash bool // it died, and its log is left without the index
		want  string
	}{
		{"closed by its application", false, false, "RESULT 2 <nil>"},
		{"open in its application", true, false, "RESULT 3 <nil>"},
		{"left by an application that crashed", false, true, "RESULT 0 holder \"db\": cannot be reached: a write-ahead log is beside the file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := readOnlyFolder(t, nil)
			folder := filepath.Dir(path)
			if c.open || c.crash {
				_ = os.Chmod(folder, 0o755)
				db, err := sql.Open("sqlite", "file://"+path)
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				if _, err := db.ExecContext(t.Context(), "INSERT INTO t VALUES (3)"); err != nil {
					t.Fatal(err)
				}
				if c.crash { // as if: the log stays, the index goes
					log, err := os.ReadFile(path + "-wal")
					if err != nil {
						t.Fatal(err)
					}
					_ = db.Close()
					if err := os.WriteFile(path+"-wal", log, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				_ = os.Chmod(folder, 0o555)
			}
			before := names(t, folder)
			if got := readAsNobody(t, path); !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if after := names(t, folder); after != before {
				t.Errorf("files beside it: got %s, want %s still", after, before)
			}
		})
	}
}

func names(t *testing.T, folder string) string {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, f := range files {
		list = append(list, f.Name())
	}
	return strings.Join(list, " ")
}

// readAsNobody runs this test binary as a user to whom modes apply: to root none do.
func readAsNobody(t *testing.T, path string) string {
	t.Helper()
	cmd := servertest.Nobody(t, "-test.run=^TestReadAsAnotherUser$", "-test.v")
	cmd.Env = append(cmd.Env, readerVariable+"="+path, "CHATWRIGHT_TESTS=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return string(out)
}
