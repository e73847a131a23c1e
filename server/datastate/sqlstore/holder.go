package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"chatwright.dev/tray/server/datastate/dtql"
	"chatwright.dev/tray/server/protocol"
)

const (
	// idleTime is how long a connection waits for the next query.
	idleTime = 30 * time.Second
	// fileIdleTime is short, since a file that is open keeps its application from cleaning up behind itself.
	fileIdleTime = 2 * time.Second
	// waitTimeout is how long a query waits for its turn when all connections are busy.
	waitTimeout = 30 * time.Second
	// slack is what the engine gets to end a query by itself, with a better error than a connection that is cut.
	slack = time.Second
)

// A holder is one database.
type holder struct {
	name    string
	kind    protocol.HolderKind
	dialect dialect
	secrets []string
	timeout time.Duration // of a statement
	connect time.Duration

	mu    sync.Mutex // guards the field below, and what the dialect knows of its file
	db    *sql.DB    // nil: not opened yet, or closed since
	cache cache
}

func newHolder(name, dsn string, connect, statement time.Duration) (*holder, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	kind, d, err := parseDSN(dsn, connect, statement)
	if err != nil {
		return nil, fmt.Errorf("data-state holder %q: %w", name, err)
	}
	return &holder{name: name, kind: kind, dialect: d, secrets: append(secretsOf(dsn), dsn), timeout: statement, connect: connect}, nil
}

// pool opens the database when it is first asked for, and again when what is behind the DSN is another one.
func (h *holder) pool() (*sql.DB, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	changed, err := h.dialect.changed()
	if h.db != nil && (changed || err != nil) {
		_ = h.db.Close()
		h.db = nil
		h.cache.forget()
	}
	if err != nil || h.db != nil {
		return h.db, err
	}
	db, err := h.dialect.open()
	if err != nil {
		return nil, err
	}
	idle := idleTime
	if h.kind == protocol.HolderSQLite {
		idle = fileIdleTime
	}
	db.SetMaxOpenConns(MaxConns)
	db.SetMaxIdleConns(MaxConns)
	db.SetConnMaxIdleTime(idle)
	h.db = db
	return db, nil
}

func (h *holder) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.db == nil {
		return nil
	}
	err := h.db.Close()
	h.db = nil
	return err
}

// read runs what only reads, in a transaction that is rolled back. Reading twice does no harm: it is done when a
// connection turns out to be lost, or a table to be another one than it was.
func (h *holder) read(ctx context.Context, use func(context.Context, *session) error) error {
	remembered, err := h.attempt(ctx, use)
	again := isDocument(err) && remembered ||
		errors.Is(err, errChanged) || h.dialect.lost(err) || h.dialect.stale(err)
	if err != nil && again && ctx.Err() == nil {
		h.cache.forget()
		_, err = h.attempt(ctx, use)
	}
	return h.explain(ctx, err)
}

func isDocument(err error) bool {
	_, wrong := errors.AsType[*dtql.Error](err)
	_, unsupported := errors.AsType[*dtql.UnsupportedError](err)
	return wrong || unsupported
}

// errChanged says that what was read may be neither what was there before nor what is there now.
var errChanged = errors.New("the data changed while it was read")

// attempt reports whether it went by what a table was like a moment ago.
func (h *holder) attempt(ctx context.Context, use func(context.Context, *session) error) (remembered bool, err error) {
	conn, err := h.conn(ctx)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	// A statement ends by itself in time. This is for an engine that does not, and for a network that lost it.
	limit := h.timeout
	if h.kind != protocol.HolderSQLite {
		limit += slack
	}
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: h.dialect.isolation()})
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }()
	if err := h.dialect.begin(ctx, conn, tx); err != nil {
		return false, err
	}
	s := &session{holder: h, tx: tx, dialect: h.dialect}
	broken := h.dialect.overflow().count()
	if err := use(ctx, s); err != nil {
		if h.dialect.overflow().overflowed(err, broken) {
			err = errTooLarge
		}
		return s.remembered, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if changed, err := h.dialect.changed(); changed || err != nil {
		return false, errChanged
	}
	return false, nil
}

// conn waits for a connection of the pool.
func (h *holder) conn(ctx context.Context) (*sql.Conn, error) {
	db, err := h.pool()
	if err != nil {
		return nil, unreachableError{err}
	}
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	conn, err := db.Conn(ctx)
	if errors.Is(err, context.DeadlineExceeded) && db.Stats().InUse >= MaxConns {
		return nil, fmt.Errorf("all %d connections are busy for %s", MaxConns, waitTimeout)
	}
	if err != nil {
		return nil, unreachableError{err}
	}
	return conn, nil
}

func (h *holder) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, h.connect)
	defer cancel()
	err := h.read(ctx, func(ctx context.Context, s *session) error {
		_, err := s.version(ctx, s.tx)
		return err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return h.unreachable("it does not answer within " + h.connect.String())
	}
	return err
}

// unreachableError marks that a connection could not be made at all.
type unreachableError struct{ error }

func (e unreachableError) Unwrap() error { return e.error }

// explain names the holder and takes the secrets out. Of the error itself nothing is kept but what code decides by.
func (h *holder) explain(ctx context.Context, err error) error {
	_, unreachable := errors.AsType[unreachableError](err)
	switch {
	case err == nil, isDocument(err):
		return err
	case ctx.Err() != nil:
		return &Error{h.name, "the query was given up", ctx.Err()}
	case unreachable, h.dialect.lost(err):
		return h.unreachable(err.Error())
	case sqliteCode(err) == codeTooBig:
		return &Error{h.name, errTooLarge.Error(), nil}
	case h.dialect.timedOut(err), errors.Is(err, context.DeadlineExceeded):
		return &Error{h.name, fmt.Sprintf("the query took longer than %s and was ended", h.timeout), ErrTimeout}
	}
	return &Error{h.name, h.scrub(err.Error()), nil}
}

func (h *holder) unreachable(cause string) error {
	return &Error{h.name, "cannot be reached: " + h.scrub(cause), ErrUnreachable}
}

// scrub takes secrets out of a foreign text, and makes one line of it: each of its own once, since a driver says the
// same of every way that it tried.
func (h *holder) scrub(text string) string {
	for _, secret := range h.secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) > 1 && strings.HasSuffix(lines[0], ":") { // a heading: who wanted to connect, which the person knows
		lines = lines[1:]
	}
	return strings.Join(lines, "; ")
}

// Error is why a holder gave no rows. Its text holds neither the DSN nor a part of it that is secret.
type Error struct {
	Holder string
	text   string
	cause  error // one that code decides by; nil: the database's own
}

func (e *Error) Error() string { return fmt.Sprintf("holder %q: %s", e.Holder, e.text) }

// Unwrap returns ErrUnreachable, ErrTimeout or what the context says, or nil.
func (e *Error) Unwrap() error { return e.cause }
