package dbtest

import (
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-sql-driver/mysql"

	"chatwright.dev/tray/server/servertest"
)

type mariadb struct{}

func (mariadb) name() string { return "MariaDB" }
func (mariadb) user() string { return "mysql" }

func (mariadb) crash() os.Signal { return os.Kill }

func (mariadb) find(t testing.TB) (initialise, serve string) {
	t.Helper()
	const apt = "mariadb-server"
	return servertest.Need(t, "mariadb-install-db", apt), servertest.Need(t, "mariadbd", apt)
}

func (mariadb) initialise(program, folder string) []string {
	return []string{program, "--no-defaults", "--datadir=" + filepath.Join(folder, "data"), "--tmpdir=" + folder, "--skip-test-db",
		"--auth-root-authentication-method=normal", "--skip-name-resolve"}
}

func (mariadb) serve(program, folder string) []string {
	return []string{program, "--no-defaults", "--datadir=" + filepath.Join(folder, "data"), "--tmpdir=" + folder, "--skip-networking",
		"--socket=" + socket(folder), "--pid-file=" + filepath.Join(folder, "pid"), "--innodb-flush-log-at-trx-commit=2",
		"--innodb-buffer-pool-size=128M", "--skip-log-bin", "--skip-name-resolve", "--character-set-server=utf8mb4",
		"--collation-server=utf8mb4_bin", "--max-connections=120"}
}

func socket(folder string) string { return filepath.Join(folder, "socket") }

func (mariadb) admin(folder string) (*sql.DB, error) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr = "root", "unix", socket(folder)
	cfg.Logger = &mysql.NopLogger{} // pings that fail while it starts are no news
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

func (mariadb) statements(database string) []string {
	return []string{
		"CREATE USER IF NOT EXISTS chatwright@localhost IDENTIFIED BY '" + Password + "'",
		"CREATE DATABASE " + database,
		"GRANT ALL ON " + database + ".* TO chatwright@localhost",
	}
}

func (mariadb) url(folder, database string) string {
	u := url.URL{Scheme: "mysql", User: url.UserPassword("chatwright", Password), Path: "/" + database,
		RawQuery: url.Values{"socket": {socket(folder)}}.Encode()}
	return u.String()
}
