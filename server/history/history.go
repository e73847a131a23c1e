// Package history keeps a record of every call in an SQLite file, so that what happened today and in the last week
// outlives the process. It must never cost a call: Add puts a copy into a bounded buffer and returns, one goroutine
// (Run) writes what is there about once a second, and a disk that is full, broken or read-only is a State that people
// are shown, not an error that anybody waits for. Only metadata is kept; no prompt and no answer comes here.
//
// The file is opened by Run and not before, so that it costs no start. What cannot be written stays in the buffer and
// is tried again; what the buffer cannot hold is counted. The file holds its lock for as long as the daemon runs, which
// also keeps SQLite from mapping shared memory: on some file systems a full disk turns a write to such memory into a
// signal that ends the process. Others ask the daemon (Store.Calls), or read with Open once it has ended.
package history

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/watch"
)

// Config says what a Store keeps, and where. Path is required.
type Config struct {
	// Path is the database file. It is made 0600, and its folder 0700, where they are missing.
	Path string
	// Retention is how long a call is kept. Zero: 90 days.
	Retention time.Duration
	// Buffer is how many calls may wait to be written. Zero: 4096.
	Buffer int
	// Failed says whether a call that ended so counts as an error; the file keeps the answer. Nil: none does.
	Failed func(protocol.Verdict) bool
	// Log hears of what happens to the file. Nil: silent.
	Log *slog.Logger
	// Now is the clock, and its location says when a day begins. Nil: time.Now.
	Now func() time.Time
}

const (
	defaultRetention = 90 * 24 * time.Hour
	defaultBuffer    = 4096
)

// State is how the history is doing, as a person is shown it.
type State struct {
	// Today and Week are sums since the last midnight, and since the one six days before; nil while nothing could be
	// read yet. They hold what is written, so they lag behind by a second.
	Today, Week *protocol.Totals
	// Dropped is how many calls were never written.
	Dropped int64
	// Problem is why calls are not written at present; nil when they are. It has a hint.
	Problem error
	// SetAside is where a file went that was broken and has been replaced in this run; "" when there was none.
	SetAside string
}

// Store is the history of one file. Make one with New; it is safe for concurrent use, and Run may be called once.
type Store struct {
	cfg    Config
	buffer buffer
	state  *watch.Value[State]
	asks   chan chan struct{}       // to write now; the channel that is sent is closed when that is done
	ended  chan struct{}            // closed with Run
	reader atomic.Pointer[database] // nil while no file is open
}

// New returns a Store. It touches no file.
func New(cfg Config) *Store {
	if cfg.Retention <= 0 {
		cfg.Retention = defaultRetention
	}
	if cfg.Buffer <= 0 {
		cfg.Buffer = defaultBuffer
	}
	if cfg.Failed == nil {
		cfg.Failed = func(protocol.Verdict) bool { return false }
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Store{
		cfg:    cfg,
		buffer: buffer{limit: cfg.Buffer, wake: make(chan struct{}, 1)},
		state:  watch.New(State{}),
		asks:   make(chan chan struct{}),
		ended:  make(chan struct{}),
	}
}

// Add takes a call that ended. It never waits for the file; when the buffer is full the call is dropped and counted.
func (s *Store) Add(c protocol.Call) { s.buffer.add(c) }

// Dropped is how many calls were never written.
func (s *Store) Dropped() int64 { return s.buffer.droppedSoFar() }

// State is how the history is doing, newest wins.
func (s *Store) State() *watch.Value[State] { return s.state }

// Calls returns a page of the calls that ended, those that were added before included. It wants Run to run.
func (s *Store) Calls(ctx context.Context, q protocol.HistoryQuery) (protocol.HistoryPage, error) {
	db, err := s.settled(ctx)
	if err != nil {
		return protocol.HistoryPage{}, err
	}
	return db.calls(ctx, q)
}

// Totals adds up the calls that arrived since then, those that were added before included. It wants Run to run.
func (s *Store) Totals(ctx context.Context, since time.Time) (protocol.Totals, error) {
	db, err := s.settled(ctx)
	if err != nil {
		return protocol.Totals{}, err
	}
	return db.totals(ctx, since)
}

var errEnded = errors.New("the history is closed")

// settled returns the open file once what waits in the buffer is in it: whoever has just made a call and looks for it
// finds it.
func (s *Store) settled(ctx context.Context) (*database, error) {
	done := make(chan struct{})
	select {
	case s.asks <- done:
	case <-s.ended:
		return nil, errEnded
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the history: %w", ctx.Err())
	}
	<-done // writing is never long, and always ends
	if db := s.reader.Load(); db != nil {
		return db, nil
	}
	if problem := s.state.Get().Problem; problem != nil {
		return nil, problem
	}
	return nil, errEnded
}
