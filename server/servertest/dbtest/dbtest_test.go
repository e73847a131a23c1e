package dbtest_test

import (
	"database/sql"
	"database/sql/driver"
	"net/url"
	"os"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/stdlib"

	"chatwright.dev/tray/server/servertest/dbtest"
)

var servers dbtest.Servers

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// open is what a user of a URL does, without the store that these servers are there to test.
func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr, cfg.DBName = u.User.Username(), "unix", u.Query().Get("socket"), u.Path[1:]
	cfg.Passwd, _ = u.User.Password()
	cfg.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(cfg)
	if u.Scheme == "postgres" {
		connector, err = stdlib.GetDefaultDriver().(driver.DriverContext).OpenConnector(dsn)
	}
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestServerServesAndKeepsItsDataThroughACrash(t *testing.T) {
	for name, server := range map[string]*dbtest.Server{"PostgreSQL": servers.Postgres(), "MariaDB": servers.MariaDB()} {
		t.Run(name, func(t *testing.T) {
			first, second := server.Database(t), server.Database(t)
			if first == second {
				t.Fatalf("two tests got the same database %s", first)
			}
			db := open(t, first)
			for _, statement := range []string{"CREATE TABLE t (n int)", "INSERT INTO t VALUES (42)", "CREATE INDEX i ON t (n)"} {
				if _, err := db.ExecContext(t.Context(), statement); err != nil {
					t.Fatalf("%s: %v", statement, err)
				}
			}
			var n int
			if err := db.QueryRowContext(t.Context(), "SELECT n FROM t").Scan(&n); err != nil || n != 42 {
				t.Errorf("got %d and %v, want 42", n, err)
			}
			server.Kill(t)
			if err := db.PingContext(t.Context()); err == nil {
				t.Error("the killed server answers")
			}
			server.Start(t)
			if err := db.PingContext(t.Context()); err != nil {
				t.Errorf("started again: %v", err)
			}
		})
	}
}
