package sqlstore

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

const dsnForms = "write sqlite:PATH, postgres://user@host/database or mysql://user@host/database"

// holderName is what a request, a flag and a table of the settings file can all spell without quotes.
var holderName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)

// CheckName says whether a holder may be called that.
func CheckName(name string) error {
	if !holderName.MatchString(name) {
		return hint.With(fmt.Errorf("%q is not a name for a database", clip(name)), "use letters, digits, '_', '-' and '.'")
	}
	return nil
}

// CheckDSN says what is wrong with a DSN, and never repeats it.
func CheckDSN(dsn string) error {
	_, _, err := parseDSN(dsn, DefaultConnectTimeout, DefaultStatementTimeout)
	return err
}

// HasSecret reports whether a DSN holds a password: it then has no place where others can read it, such as the
// arguments of a process.
func HasSecret(dsn string) bool { return len(secretsOf(dsn)) > 0 }

// WithFolder makes the path of a SQLite DSN absolute; other DSNs stay as they are.
func WithFolder(dsn, folder string) string {
	path, ok := strings.CutPrefix(dsn, "sqlite:")
	if !ok || path == "" || filepath.IsAbs(path) || strings.HasPrefix(path, "//") {
		return dsn
	}
	return "sqlite:" + filepath.Join(folder, path)
}

func parseDSN(dsn string, connect, statement time.Duration) (protocol.HolderKind, dialect, error) {
	scheme, rest, ok := strings.Cut(dsn, ":")
	if !ok {
		return "", nil, hint.With(errors.New("the DSN names no kind of database"), dsnForms)
	}
	switch scheme {
	case "sqlite", "sqlite3":
		path := strings.TrimPrefix(rest, "//")
		if path == "" || strings.ContainsRune(path, 0) || strings.HasPrefix(path, ":") {
			return "", nil, hint.With(errors.New("the DSN names no file"), "write sqlite:PATH")
		}
		return protocol.HolderSQLite, &sqliteDialect{path: filepath.Clean(path)}, nil
	case "postgres", "postgresql":
		d, err := newPostgres(dsn, connect, statement)
		if err != nil { // which quotes the DSN, and hides the password only where it finds it
			return "", nil, hint.With(errors.New("the DSN is not one that PostgreSQL reads"), "write postgres://user@host:5432/database; "+escapeAdvice)
		}
		return protocol.HolderPostgres, d, nil
	case "mysql", "mariadb":
		u, err := url.Parse(dsn)
		if err != nil || u.Opaque != "" {
			return "", nil, hint.With(errors.New("the DSN is not a URL"), "write mysql://user@host:3306/database; "+escapeAdvice)
		}
		d, err := newMySQL(u, connect, statement)
		if err != nil {
			return "", nil, hint.With(fmt.Errorf("the DSN is not one that MySQL reads: %w", err), "write mysql://user@host:3306/database, with ?socket=PATH for a socket")
		}
		return protocol.HolderMySQL, d, nil
	}
	return "", nil, hint.With(errors.New("the DSN is of an unknown kind of database"), dsnForms)
}

const escapeAdvice = "in a password, write % as %25, @ as %40, / as %2F, : as %3A and # as %23"

// secretsOf is what of a DSN must not be seen anywhere, in each way that it may be spelt.
func secretsOf(dsn string) []string {
	if strings.HasPrefix(dsn, "sqlite") {
		return nil
	}
	var secrets []string
	add := func(secret string) {
		if secret != "" {
			secrets = append(secrets, secret, url.QueryEscape(secret), url.PathEscape(secret))
		}
	}
	u, err := url.Parse(dsn)
	if err != nil { // so that it is not known what of it is what
		return []string{dsn}
	}
	if password, ok := u.User.Password(); ok {
		add(password)
		if _, raw, ok := strings.Cut(u.User.String(), ":"); ok && raw != "" {
			secrets = append(secrets, raw)
		}
	}
	for name, values := range u.Query() {
		if strings.Contains(strings.ToLower(name), "password") {
			for _, value := range values {
				add(value)
			}
		}
	}
	return secrets
}
