package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

// The size of a page that asks for none, and of the largest.
const (
	defaultPage = 200
	maxPage     = 1000
)

// ErrCursor says that HistoryQuery.After is none that a page returned.
var ErrCursor = errors.New("it is not the cursor of a page")

// Reader reads the history of a daemon that does not run. Make one with Open.
type Reader struct {
	db   *sql.DB
	path string
}

// Open opens the file at path for reading. Nothing is written to it. The error is fs.ErrNotExist where there is none.
func Open(ctx context.Context, path string) (*Reader, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, problem(path, errors.New("it is not a regular file"))
	}
	db, err := connect(path, "ro")
	if err != nil {
		return nil, problem(path, err)
	}
	r := &Reader{db, path}
	version, err := schemaVersion(ctx, db)
	if err == nil {
		err = readable(version)
	}
	if err != nil {
		_ = db.Close()
		return nil, problem(path, err)
	}
	return r, nil
}

// readable reports whether we know the tables of that version. Reading changes nothing, so an older file is not brought
// up to date; the queries fit every version so far.
func readable(version int) error {
	switch {
	case version == 0: // a daemon died as it made the file
		return fs.ErrNotExist
	case version > len(migrations()):
		return hint.With(ErrNewer, "update Chatwright Tray")
	}
	return nil
}

// Calls returns a page of the calls.
func (r *Reader) Calls(ctx context.Context, q protocol.HistoryQuery) (protocol.HistoryPage, error) {
	page, err := (&database{DB: r.db}).calls(ctx, q)
	if err != nil && !errors.Is(err, ErrCursor) {
		err = problem(r.path, err)
	}
	return page, err
}

// Totals adds up the calls that arrived since then.
func (r *Reader) Totals(ctx context.Context, since time.Time) (protocol.Totals, error) {
	totals, err := (&database{DB: r.db}).totals(ctx, since)
	if err != nil {
		err = problem(r.path, err)
	}
	return totals, err
}

// Close closes the file.
func (r *Reader) Close() error { return r.db.Close() }

// calls reads a page in the order in which calls arrived; those of one moment in the order in which they ended. Both
// indexes hold them in that order, so a page costs as much at the end as at the beginning.
func (d *database) calls(ctx context.Context, q protocol.HistoryQuery) (protocol.HistoryPage, error) {
	page := protocol.HistoryPage{Calls: []protocol.Call{}}
	limit := min(q.Limit, maxPage)
	if limit <= 0 {
		limit = defaultPage
	}
	where, args := []string{"time >= ?"}, []any{nanos(q.Since)}
	if !q.Until.IsZero() {
		where, args = append(where, "time < ?"), append(args, nanos(q.Until))
	}
	if q.Model != "" {
		where, args = append(where, "model = ?"), append(args, q.Model)
	}
	if q.After != "" {
		at, id, err := parseCursor(q.After)
		if err != nil {
			return page, err
		}
		where, args = append(where, "(time, id) > (?, ?)"), append(args, at, id)
	}
	var err error
	page.Calls, page.Next, err = d.pageOf(ctx, limit, selectCalls+strings.Join(where, " AND ")+" ORDER BY time, id LIMIT ?", append(args, limit+1)...)
	return page, err
}

// pageOf reads the calls that a query selects, which asks for one more than limit: if it is there, next is where the page
// after this one goes on.
func (d *database) pageOf(ctx context.Context, limit int, query string, args ...any) (calls []protocol.Call, next string, err error) {
	calls = []protocol.Call{}
	rows, err := d.QueryContext(ctx, query, args...)
	if err != nil {
		return calls, "", err
	}
	defer func() { _ = rows.Close() }()
	for at, id := int64(0), int64(0); rows.Next(); {
		if len(calls) == limit {
			next = cursor(at, id)
			break
		}
		c, err := scan(rows, &at, &id)
		if err != nil {
			return calls, next, err
		}
		calls = append(calls, c)
	}
	return calls, next, rows.Err()
}

const selectCalls = `SELECT id, time, model, latency_ms, prompt_tokens, completion_tokens, usage_known, response_format,
	streamed, status, error, first_token_ms, tokens_per_second, verdict, bytes_in, bytes_out, overhead_us, finish_reason,
	upstream, call_id, request_model FROM calls WHERE `

func scan(rows *sql.Rows, at, id *int64) (protocol.Call, error) {
	var c protocol.Call
	err := rows.Scan(id, at, &c.Model, &c.LatencyMs, &c.PromptTokens, &c.CompletionTokens, &c.UsageKnown, &c.ResponseFormat,
		&c.Streamed, &c.Status, &c.Error, &c.FirstTokenMs, &c.TokensPerSecond, &c.Verdict, &c.BytesIn, &c.BytesOut,
		&c.OverheadUs, &c.FinishReason, &c.Upstream, &c.ID, &c.RequestModel)
	c.Timestamp = time.Unix(0, *at).UTC()
	return c, err
}

func cursor(at, id int64) string { return fmt.Sprintf("%d.%d", at, id) }

func parseCursor(text string) (at, id int64, err error) {
	first, second, _ := strings.Cut(text, ".")
	at, timeErr := strconv.ParseInt(first, 10, 64)
	id, idErr := strconv.ParseInt(second, 10, 64)
	if timeErr != nil || idErr != nil || at < 0 || id < 0 {
		return 0, 0, ErrCursor
	}
	return at, id, nil
}

func (d *database) totals(ctx context.Context, since time.Time) (protocol.Totals, error) {
	t, err := d.tally(ctx, since)
	if err != nil {
		return protocol.Totals{}, err
	}
	return *t.totals(), nil
}

// tally adds up the calls since then. The busiest models come first, so that they are the ones that are kept.
func (d *database) tally(ctx context.Context, since time.Time) (tally, error) {
	var t tally
	rows, err := d.QueryContext(ctx, `SELECT model, COUNT(*) AS calls, SUM(failed), SUM(prompt_tokens), SUM(completion_tokens)
		FROM calls WHERE time >= ? GROUP BY +model ORDER BY calls DESC, model`, nanos(since))
	if err != nil {
		return t, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var m protocol.ModelTotals
		if err := rows.Scan(&m.Model, &m.Calls, &m.Errors, &m.PromptTokens, &m.CompletionTokens); err != nil {
			return t, err
		}
		t.add(m)
	}
	return t, rows.Err()
}
