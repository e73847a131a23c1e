package dbtest

import (
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"chatwright.dev/tray/server/servertest"
)

// Password is that of the user "chatwright" on either server: a marked secret, so that a test can look for it.
const Password = "pa55-Word%of/tests"

type postgres struct{}

func (postgres) name() string { return "PostgreSQL" }
func (postgres) user() string { return "postgres" }

// crash is what PostgreSQL calls an immediate shutdown: nothing is flushed, and the next start recovers. After a kill
// its processes would go on for a while, and keep the next start from its shared memory.
func (postgres) crash() os.Signal { return syscall.SIGQUIT }

// find looks where Debian keeps the programs of each version, since only those of clients are on PATH.
func (postgres) find(t testing.TB) (initialise, serve string) {
	t.Helper()
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql*/bin"} {
		found, _ := filepath.Glob(filepath.Join(pattern, "initdb")) // sorted: the last is the newest
		if len(found) > 0 {
			initialise = found[len(found)-1]
			return initialise, filepath.Join(filepath.Dir(initialise), "postgres")
		}
	}
	const apt = "postgresql"
	return servertest.Need(t, "initdb", apt), servertest.Need(t, "postgres", apt)
}

func (postgres) initialise(program, folder string) []string {
	return []string{program, "-D", filepath.Join(folder, "data"), "-U", "admin", "-A", "trust", "-E", "UTF8",
		"--locale=C.UTF-8", "--no-sync", "--no-instructions"}
}

func (postgres) serve(program, folder string) []string {
	return []string{program, "-D", filepath.Join(folder, "data"), "-k", folder, "-h", "", "-F",
		"-c", "full_page_writes=off", "-c", "wal_level=minimal", "-c", "max_wal_senders=0",
		"-c", "max_connections=120"}
}

func (p postgres) admin(folder string) (*sql.DB, error) {
	return sql.Open("pgx", p.dsn(folder, url.User("admin"), "postgres"))
}

func (postgres) statements(database string) []string {
	return []string{
		`DO $$ BEGIN CREATE ROLE chatwright LOGIN PASSWORD '` + Password + `'; EXCEPTION WHEN duplicate_object THEN NULL; END $$`,
		`CREATE DATABASE ` + database + ` OWNER chatwright TEMPLATE template0`,
	}
}

func (p postgres) url(folder, database string) string {
	return p.dsn(folder, url.UserPassword("chatwright", Password), database)
}

func (postgres) dsn(folder string, as *url.Userinfo, database string) string {
	u := url.URL{Scheme: "postgres", User: as, Path: "/" + database, RawQuery: url.Values{"host": {folder}}.Encode()}
	return u.String()
}
