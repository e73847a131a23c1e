package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"chatwright.dev/tray/server/datastate"
	"chatwright.dev/tray/server/datastate/dtql"
	"chatwright.dev/tray/server/protocol"
)

// The bounds where a Config has none.
const (
	DefaultStatementTimeout = 5 * time.Second
	DefaultConnectTimeout   = 3 * time.Second
	// MaxConns is how many connections to one database there are at most.
	MaxConns = 4
)

// allRows is what Execute reads: who wants to know how many there are asks Select.
const allRows = datastate.DefaultCompared

// ErrUnreachable is in the chain of an error that says nothing about data: the database did not answer.
var ErrUnreachable = errors.New("the database cannot be reached")

// ErrTimeout is in the chain of the error of a query that was ended.
var ErrTimeout = errors.New("the query took too long")

// Config says which databases there are.
type Config struct {
	// Holders are the DSNs by the names that requests use. Empty: there are none.
	Holders map[string]string
	// StatementTimeout ends a query that takes longer. Zero: DefaultStatementTimeout.
	StatementTimeout time.Duration
	// ConnectTimeout bounds the making of a connection. Zero: DefaultConnectTimeout.
	ConnectTimeout time.Duration
	// Observe is told, after each query and probe, whether the holder was reached; err is the one that says why not.
	// It is called from many goroutines at a time and must not block. Nil: nobody is.
	Observe func(holder string, err error)
}

// Store runs DTQL on databases. It connects to one when it is first asked for, and is safe for concurrent use.
type Store struct {
	holders map[string]*holder
	observe func(string, error)

	probing sync.Mutex // guards the fields below, and that one probe runs at a time
	probed  time.Time
	last    []protocol.Holder
}

// New checks the DSNs and reaches for nothing.
func New(cfg Config) (*Store, error) {
	if cfg.StatementTimeout <= 0 {
		cfg.StatementTimeout = DefaultStatementTimeout
	}
	if cfg.ConnectTimeout <= 0 {
		cfg.ConnectTimeout = DefaultConnectTimeout
	}
	if cfg.Observe == nil {
		cfg.Observe = func(string, error) {}
	}
	s := &Store{holders: make(map[string]*holder, len(cfg.Holders)), observe: cfg.Observe}
	for _, name := range slices.Sorted(maps.Keys(cfg.Holders)) {
		h, err := newHolder(name, cfg.Holders[name], cfg.ConnectTimeout, cfg.StatementTimeout)
		if err != nil {
			return nil, err
		}
		s.holders[name] = h
	}
	return s, nil
}

// Handles are the holders, for a datastate.Runner.
func (s *Store) Handles() datastate.Handles {
	handles := make(datastate.Handles, len(s.holders))
	for name, h := range s.holders {
		handles[name] = h
	}
	return handles
}

// Execute returns the rows of a query that has no more than datastate.DefaultCompared of them; Select is for others.
func (s *Store) Execute(ctx context.Context, handle any, query datastate.Query) ([]datastate.Row, error) {
	result, err := s.Select(ctx, handle, query, allRows)
	if err != nil {
		return nil, err
	}
	if len(result.Rows) < result.Total {
		return nil, fmt.Errorf("the query gives %d rows, over %d: narrow it, or set a limit", result.Total, allRows)
	}
	return result.Rows, nil
}

// Select returns the first rows of a query and how many it has. An *dtql.Error says what is wrong with the document, an
// *dtql.UnsupportedError what is not executed here.
func (s *Store) Select(ctx context.Context, handle any, query datastate.Query, most int) (datastate.Result, error) {
	doc, err := dtql.Unmarshal([]byte(query.DTQL))
	if err != nil {
		return datastate.Result{}, err
	}
	bound, err := dtql.Bind(doc, query.Params)
	if err != nil {
		return datastate.Result{}, err
	}
	result, err := s.SelectDocument(ctx, handle, bound, most)
	if err != nil {
		return datastate.Result{}, err
	}
	text, err := dtql.Marshal(doc) // with its params by name: the value of one may be redacted in evidence
	result.Canonical, result.Ordered = string(text), len(bound.OrderBy) > 0
	return result, err
}

// SelectDocument is Select for a document without params that is a tree already.
func (s *Store) SelectDocument(ctx context.Context, handle any, doc *dtql.Document, most int) (datastate.Result, error) {
	h, ok := handle.(*holder)
	if !ok {
		return datastate.Result{}, errors.New("sqlstore: the handle is not one of this store")
	}
	if err := dtql.Validate(doc); err != nil {
		return datastate.Result{}, err
	}
	var result datastate.Result
	err := h.read(ctx, func(ctx context.Context, session *session) (err error) {
		result, err = session.run(ctx, doc, max(most, 1))
		return err
	})
	s.report(ctx, h, err)
	return result, err
}

// report tells whoever watches whether the database answered: an error of its own is an answer too.
func (s *Store) report(ctx context.Context, h *holder, err error) {
	switch {
	case errors.Is(err, ErrUnreachable):
		s.observe(h.name, err)
	case ctx.Err() == nil:
		s.observe(h.name, nil)
	}
}

const (
	// probeMemory is how long a probe's answer counts, so that who asks often does not make databases work.
	probeMemory = 2 * time.Second
	probeAtOnce = 8
)

// Probe asks every database whether it answers, all at the same time, and returns them by name. Each gets the connect
// timeout and no more.
func (s *Store) Probe(ctx context.Context) []protocol.Holder {
	s.probing.Lock()
	defer s.probing.Unlock()
	if s.last != nil && time.Since(s.probed) < probeMemory {
		return slices.Clone(s.last)
	}
	found := make([]protocol.Holder, len(s.holders))
	var group errgroup.Group
	group.SetLimit(probeAtOnce)
	for i, name := range slices.Sorted(maps.Keys(s.holders)) {
		h := s.holders[name]
		group.Go(func() error {
			err := h.probe(ctx)
			found[i] = protocol.Holder{Name: h.name, Kind: h.kind, Reach: protocol.ReachOK}
			if err != nil {
				found[i].Reach, found[i].Detail = protocol.ReachDown, detailOf(err)
			}
			s.report(ctx, h, err)
			return nil
		})
	}
	_ = group.Wait()
	if ctx.Err() == nil { // else it was the asker who ended it
		s.probed, s.last = time.Now(), found
	}
	return slices.Clone(found)
}

// detailOf is an error without the name of the holder, beside which it stands.
func detailOf(err error) string {
	if named, ok := errors.AsType[*Error](err); ok {
		return named.text
	}
	return err.Error()
}

// Close ends all connections. What runs still is ended by its context or by its timeout.
func (s *Store) Close() error {
	var errs []error
	for _, h := range s.holders {
		errs = append(errs, h.close())
	}
	return errors.Join(errs...)
}
