package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"chatwright.dev/tray/server/protocol"
)

const (
	// busyTimeout is how long SQLite waits for another program's lock. Nothing waits for us meanwhile but the end.
	busyTimeout = time.Second
	// pruneStep is how many calls are deleted in one transaction, so that new ones need not wait for many.
	pruneStep = 5000
)

// A database is an open file.
type database struct {
	*sql.DB
	path  string
	files map[string]fs.FileInfo // what was opened: the file, and its write-ahead log
}

// openDatabase opens the file for writing, and makes it where there is none.
func openDatabase(ctx context.Context, path string) (*database, error) {
	if err := makeFile(path); err != nil {
		return nil, err
	}
	db, err := connect(path, "rwc", "locking_mode(EXCLUSIVE)", "synchronous(NORMAL)", "journal_size_limit(1048576)")
	if err != nil {
		return nil, err
	}
	opened := &database{DB: db, path: path}
	if err := opened.prepare(ctx); err != nil {
		_ = opened.close()
		return nil, err
	}
	return opened, nil
}

// connect opens the file with a single connection: reading and writing take turns, at half the memory.
func connect(path, mode string, pragmas ...string) (*sql.DB, error) {
	query := url.Values{"mode": {mode}, "_txlock": {"immediate"}}
	query.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()))
	for _, pragma := range pragmas {
		query.Add("_pragma", pragma)
	}
	db, err := sql.Open("sqlite", fileURI(path)+"?"+query.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// fileURI names a file the way SQLite's URIs do, with what would end the path escaped.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a drive letter
		path = "/" + path
	}
	return "file://" + (&url.URL{Path: path}).EscapedPath()
}

func (d *database) prepare(ctx context.Context) error {
	// The version comes first: of a file that is newer nothing is changed, not even how it is written.
	if err := migrate(ctx, d.DB, migrations()); err != nil {
		return err
	}
	var mode string
	if err := d.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return err
	}
	if _, err := schemaVersion(ctx, d.DB); err != nil { // the first to read opens the write-ahead log
		return err
	}
	d.files = map[string]fs.FileInfo{}
	for _, path := range []string{d.path, d.path + "-wal"} {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		d.files[path] = info
	}
	return nil
}

// makeFile sees to it that there is a file and that nobody else can read it; SQLite gives its other files the same
// mode.
func makeFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	case info.Mode().Perm()&0o077 != 0:
		return f.Chmod(0o600)
	}
	return nil
}

// moved reports whether what was opened is no longer what others would open: writing to a file that was deleted
// succeeds, and is lost.
func (d *database) moved() bool {
	for path, opened := range d.files {
		if now, err := os.Stat(path); err != nil || !os.SameFile(opened, now) {
			return true
		}
	}
	return false
}

func (d *database) close() error { return d.Close() }

// insertOne lists the columns in the order of their values in insert.
const insertOne = `INSERT INTO calls (time, model, latency_ms, prompt_tokens, completion_tokens, usage_known,
	response_format, streamed, status, error, first_token_ms, tokens_per_second, verdict, bytes_in, bytes_out,
	overhead_us, finish_reason, upstream, call_id, failed, request_model)
	VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`

func (d *database) insert(ctx context.Context, calls []protocol.Call, failed func(protocol.Verdict) bool) error {
	tx, err := d.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	one, err := tx.PrepareContext(ctx, insertOne)
	if err != nil {
		return err
	}
	for _, c := range calls {
		_, err := one.ExecContext(ctx, nanos(c.Timestamp), c.Model, c.LatencyMs, c.PromptTokens, c.CompletionTokens,
			c.UsageKnown, c.ResponseFormat, c.Streamed, c.Status, c.Error, c.FirstTokenMs, c.TokensPerSecond,
			string(c.Verdict), c.BytesIn, c.BytesOut, c.OverheadUs, c.FinishReason, c.Upstream, c.ID, failed(c.Verdict),
			c.RequestModel)
		if err != nil {
			return err
		}
	}
	return tx.Commit()
}

// prune deletes some of the calls that arrived before then, and reports whether there may be more.
func (d *database) prune(ctx context.Context, before time.Time) (more bool, err error) {
	result, err := d.ExecContext(ctx,
		"DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE time < ? ORDER BY time LIMIT ?)", nanos(before), pruneStep)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == pruneStep, err
}

// nanos is t as the file keeps it. Times that do not fit are as early, or as late, as can be.
func nanos(t time.Time) int64 {
	switch {
	case t.Year() < 1970:
		return 0
	case t.Year() > 2261:
		return 1<<63 - 1
	}
	return t.UnixNano()
}
