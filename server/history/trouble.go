package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"chatwright.dev/tray/server/hint"
)

// resultCode is what SQLite says went wrong, without the details that it adds in the higher bits; 0 when it is not
// SQLite's error.
func resultCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// isBroken reports whether the content of the file is at fault, so that no later attempt can do better.
func isBroken(err error) bool {
	code := resultCode(err)
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

// isFull reports whether there was no room for what should be written. Nothing else is wrong with the file then.
func isFull(err error) bool { return resultCode(err) == sqlite3.SQLITE_FULL }

// problem words what went wrong with the file at path for a person, with what to do about it.
func problem(path string, err error) error {
	folder := filepath.Dir(path)
	what, way := "", hint.Of(err)
	switch resultCode(err) {
	case sqlite3.SQLITE_FULL:
		what, way = "the disk is full", "make room on the disk of "+folder
	case sqlite3.SQLITE_READONLY:
		what, way = "it cannot be written", "see that you may write "+path
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		what, way = "another program has locked it", "close what has it open"
	case sqlite3.SQLITE_IOERR:
		what, way = "the disk does not read or write", "look after the disk of "+folder
	case sqlite3.SQLITE_CANTOPEN:
		what, way = "it cannot be opened", "see that you may write "+folder
	}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		what, way = "the disk is full", "make room on the disk of "+folder
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		way = "see that you may write " + path
	}
	if what != "" {
		// SQLite's own words stay reachable for the log, and for errors.As.
		err = worded{what, err}
	} else if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err // the file is named anyway
	}
	if way == "" {
		way = "move " + path + " out of the way"
	}
	return hint.With(fmt.Errorf("%s: %w", filepath.Base(path), err), way)
}

// worded is an error in our words that keeps its cause.
type worded struct {
	what  string
	cause error
}

func (w worded) Error() string { return w.what }
func (w worded) Unwrap() error { return w.cause }

// setAside renames a broken file, over an earlier one, and returns its new name.
func setAside(path string) (string, error) {
	aside := path + ".broken"
	for _, old := range []string{aside, aside + "-wal", path + "-shm"} {
		if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	// The write-ahead log goes first: SQLite would read one that it finds beside a new file.
	for _, suffix := range []string{"-wal", ""} {
		if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return aside, nil
}
