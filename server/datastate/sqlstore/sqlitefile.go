package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"

	"chatwright.dev/tray/server/hint"
)

// Result codes of SQLite.
const (
	codeReadOnly  = 8
	codeInterrupt = 9
	codeCantOpen  = 14
	codeTooBig    = 18
)

// sqliteCode is the result code of an error of SQLite, without its refinement; 0 for other errors.
func sqliteCode(err error) int {
	if coded, ok := errors.AsType[*sqlite.Error](err); ok {
		return coded.Code() & 0xff
	}
	return 0
}

// A sqliteFile is the file that was opened.
type sqliteFile struct {
	opened fs.FileInfo // nil: none is
	// immutable says that it was opened as a file that nobody writes. SQLite then looks at neither locks nor logs, so that
	// it has to be looked at from outside, before and after reading.
	immutable bool
}

// busyTimeout is how long SQLite waits for a writer that does not use a write-ahead log.
const busyTimeout = 2 * time.Second

func (d *sqliteDialect) changed() (bool, error) {
	now, err := os.Stat(d.path)
	if err != nil {
		return true, plainPathError(err)
	}
	if now.IsDir() {
		return true, errors.New("it is a folder")
	}
	switch {
	case d.opened == nil, !os.SameFile(d.opened, now):
		return true, nil
	case d.immutable:
		return !now.ModTime().Equal(d.opened.ModTime()) || now.Size() != d.opened.Size() || exists(d.path+"-wal"), nil
	}
	return false, nil
}

// open opens the file for reading and looks whether it can be read at all.
func (d *sqliteDialect) open() (*sql.DB, error) {
	info, err := os.Stat(d.path)
	if err != nil {
		return nil, plainPathError(err)
	}
	d.opened, d.immutable = info, false
	db, err := openChecked(sqliteURI(d.path, ""))
	if code := sqliteCode(err); code != codeCantOpen && code != codeReadOnly || !usesLog(d.path) {
		return db, err
	}
	// In the write-ahead mode, and the index that its readers share can be neither found nor made.
	if exists(d.path + "-wal") {
		return nil, hint.With(errors.New("a write-ahead log is beside the file, and the folder cannot be written, as reading it needs"),
			"open the database with its application, or make its folder writable for this user")
	}
	d.immutable = true
	return openChecked(sqliteURI(d.path, "&immutable=1"))
}

func openChecked(uri string) (*sql.DB, error) {
	db, err := pool(uri)
	if err != nil {
		return nil, err
	}
	var version int
	// Whether it is a database SQLite says at the first page that it reads.
	if err := db.QueryRowContext(context.Background(), "PRAGMA schema_version").Scan(&version); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// sqliteURI names the file in the way of SQLite's URIs, with what would end the path escaped.
func sqliteURI(path, more string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a drive letter
		path = "/" + path
	}
	return "file://" + (&url.URL{Path: path}).EscapedPath() + "?mode=ro&_pragma=query_only(1)&_pragma=busy_timeout(" +
		strconv.FormatInt(busyTimeout.Milliseconds(), 10) + ")" + more
}

// usesLog reads from the file's header whether it is in the write-ahead mode.
func usesLog(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	header := make([]byte, 20)
	_, err = io.ReadFull(f, header)
	return err == nil && header[18] == 2 && header[19] == 2
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// plainPathError keeps the path, which the person knows, and drops the system call.
func plainPathError(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", at.Path, at.Err)
	}
	return err
}
