package sqlstore_test

import (
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"chatwright.dev/tray/server/datastate"
	"chatwright.dev/tray/server/datastate/sqlstore"
	"chatwright.dev/tray/server/servertest/dbtest"
)

var servers dbtest.Servers

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// An engine is one database, with the store on it and a connection that writes, as its application has one.
type engine struct {
	name, dsn string
	db        *sql.DB
	store     *sqlstore.Store
}

func (e engine) handle() any { return e.store.Handles()["db"] }

// types are how the engines call what tests declare as {bool}, {decimal} and so on.
var types = map[string]*strings.Replacer{
	"sqlite": strings.NewReplacer("{bool}", "BOOLEAN", "{int}", "INTEGER", "{double}", "DOUBLE", "{single}", "REAL", "{decimal}", "DECIMAL(10,2)", "{text}", "TEXT",
		"{key}", "TEXT", "{time}", "DATETIME", "{date}", "DATE", "{clock}", "TIME", "{binary}", "BLOB", "{json}", "JSON", "{uuid}", "UUID", "{hex}", "x'", "{/hex}", "'"),
	"postgres": strings.NewReplacer("{bool}", "boolean", "{int}", "bigint", "{double}", "double precision", "{single}", "real", "{decimal}", "numeric(10,2)", "{text}", "text",
		"{key}", "text", "{time}", "timestamptz", "{date}", "date", "{clock}", "time", "{binary}", "bytea", "{json}", "jsonb", "{uuid}", "uuid", "{hex}", `'\x`, "{/hex}", "'"),
	"mysql": strings.NewReplacer("{bool}", "boolean", "{int}", "bigint", "{double}", "double", "{single}", "float", "{decimal}", "decimal(10,2)", "{text}", "text",
		"{key}", "varchar(190)", "{time}", "datetime(6)", "{date}", "date", "{clock}", "time(6)", "{binary}", "blob", "{json}", "json", "{uuid}", "uuid", "{hex}", "x'", "{/hex}", "'"),
}

// engines are the three databases, with the tables that the statements make.
func engines(t testing.TB, statements ...string) []engine {
	t.Helper()
	return []engine{
		newEngine(t, "sqlite", "sqlite:"+filepath.Join(t.TempDir(), "data.db"), statements),
		newEngine(t, "postgres", servers.Postgres().Database(t), statements),
		newEngine(t, "mysql", servers.MariaDB().Database(t), statements),
	}
}

func newEngine(t testing.TB, name, dsn string, statements []string) engine {
	t.Helper()
	e := engine{name: name, dsn: dsn, db: writer(t, dsn), store: newStore(t, dsn)}
	e.exec(t, statements...)
	return e
}

func newStore(t testing.TB, dsn string) *sqlstore.Store {
	t.Helper()
	store, err := sqlstore.New(sqlstore.Config{Holders: map[string]string{"db": dsn}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return store
}

func (e engine) exec(t testing.TB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := e.db.ExecContext(t.Context(), types[e.name].Replace(statement)); err != nil {
			t.Fatalf("%s: %s: %v", e.name, statement, err)
		}
	}
}

// writer opens a database as an application does that may do everything.
func writer(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	driver, name := "pgx", dsn
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		driver, name = "sqlite", "file://"+path+"?_pragma=busy_timeout(10000)"
	} else if strings.HasPrefix(dsn, "mysql:") {
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		cfg := mysql.NewConfig()
		cfg.User, cfg.Net, cfg.Addr, cfg.DBName = u.User.Username(), "unix", u.Query().Get("socket"), u.Path[1:]
		cfg.Passwd, _ = u.User.Password()
		cfg.Logger = &mysql.NopLogger{}
		connector, err := mysql.NewConnector(cfg) // through a DSN the logger would be lost
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(connector)
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// ask runs a document and returns the rows as JSON, or the error's text.
func (e engine) ask(t testing.TB, document string, params map[string]any) string {
	t.Helper()
	result, err := e.store.Select(t.Context(), e.handle(), datastate.Query{DTQL: document, Params: params}, 20)
	if err != nil {
		return "error: " + err.Error()
	}
	return rowsJSON(result.Rows)
}

func rowsJSON(rows []datastate.Row) string {
	list := make([]any, len(rows))
	for i, row := range rows {
		list[i] = row
	}
	return datastate.CanonicalJSON(list)
}
