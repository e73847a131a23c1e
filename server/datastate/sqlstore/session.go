package sqlstore

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"sync"
	"time"

	"chatwright.dev/tray/server/datastate"
	"chatwright.dev/tray/server/datastate/dtql"
)

// A session is one transaction of a holder.
type session struct {
	holder *holder
	tx     *sql.Tx
	dialect
	remembered bool // a table is what it was a moment ago
}

// run compiles and runs a document. The rows and their number are of one and the same state of the database.
func (s *session) run(ctx context.Context, doc *dtql.Document, most int) (datastate.Result, error) {
	version, err := s.version(ctx, s.tx)
	if err != nil {
		return datastate.Result{}, err
	}
	find := func(schema, name string) (*table, error) { return s.find(ctx, version, schema, name) }
	p, err := compile(s.dialect, find, doc, most)
	if err != nil {
		return datastate.Result{}, err
	}
	rows, err := s.rows(ctx, p)
	if err != nil {
		return datastate.Result{}, err
	}
	result := datastate.Result{Rows: rows, Total: len(rows), Collation: p.collation}
	if len(rows) <= most {
		return result, nil
	}
	result.Rows = rows[:most]
	if result.Total, err = s.count(ctx, p, doc); err != nil {
		return datastate.Result{}, err
	}
	if result.Total < len(rows) { // an engine of MySQL without transactions, or a foreign table
		return datastate.Result{}, errChanged
	}
	return result, nil
}

// count has the database count what it would give, within the document's own limit and offset.
func (s *session) count(ctx context.Context, p *plan, doc *dtql.Document) (int, error) {
	var total int64
	if err := s.tx.QueryRowContext(ctx, p.count.text, p.count.args...).Scan(&total); err != nil {
		return 0, err
	}
	total = max(0, total-doc.Offset)
	if doc.Limit > 0 {
		total = min(total, doc.Limit)
	}
	return int(total), nil
}

func (s *session) rows(ctx context.Context, p *plan) ([]datastate.Row, error) {
	rows, err := s.tx.QueryContext(ctx, p.text, p.args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	list := []datastate.Row{}
	values := make([]any, len(p.columns))
	pointers := make([]any, len(p.columns))
	for i := range values {
		pointers[i] = &values[i]
	}
	size := 0
	for rows.Next() {
		if err := rows.Scan(pointers...); err != nil {
			return nil, err
		}
		row := make(datastate.Row, len(values))
		for i, column := range p.columns {
			size += sizeOf(values[i])
			if row[column.name], err = s.normal(values[i], column.datatype); err != nil {
				return nil, fmt.Errorf("column %q: %w", clip(column.name), err)
			}
		}
		if size > maxBytes {
			return nil, errTooLarge
		}
		list = append(list, row)
	}
	return list, rows.Err()
}

// normal is what a row holds of a driver's value.
func (s *session) normal(v any, t datatype) (any, error) {
	if data, ok := v.([]byte); ok {
		if s.textAsBytes() && t.kind != kindBinary {
			return normal(string(data), t)
		}
		return BinaryMarker + base64.StdEncoding.EncodeToString(data), nil
	}
	return normal(v, t)
}

func sizeOf(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []byte:
		return len(v)
	}
	return 16
}

// find describes a table. One that is not there is looked for anew, since it may just have been made.
func (s *session) find(ctx context.Context, version, schema, name string) (*table, error) {
	if found := s.holder.cache.get(version, schema, name); found != nil {
		s.remembered = version == ""
		return found, nil
	}
	found, err := s.describe(ctx, s.tx, schema, name)
	if err != nil {
		return nil, databaseError{err}
	}
	if found == nil || len(found.columns) == 0 {
		known, err := s.tables(ctx, s.tx, schema)
		if err != nil {
			return nil, databaseError{err}
		}
		what := fmt.Sprintf("unknown table %q", clip(name))
		if schema != "" {
			what += fmt.Sprintf(" in schema %q", clip(schema))
		}
		return nil, fmt.Errorf("%s: %s", what, nearest(name, known))
	}
	s.holder.cache.put(version, schema, name, found)
	return found, nil
}

// databaseError tells an error of the database from one about the document.
type databaseError struct{ error }

func (e databaseError) Unwrap() error { return e.error }

const (
	cacheTime = 10 * time.Second
	cacheSize = 256
)

// A cache keeps what tables are like. It is right for SQLite, which says when anything changed; elsewhere a column that
// was added is seen when it is named, and by a wildcard within cacheTime.
type cache struct {
	mu      sync.Mutex
	version string
	tables  map[[2]string]cached
}

type cached struct {
	table *table
	until time.Time
}

func (c *cache) get(version, schema, name string) *table {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.tables[[2]string{schema, name}]
	if !ok || version != c.version || version == "" && time.Now().After(found.until) {
		return nil
	}
	return found.table
}

func (c *cache) put(version, schema, name string, found *table) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tables == nil || version != c.version || len(c.tables) >= cacheSize {
		c.tables, c.version = make(map[[2]string]cached), version
	}
	c.tables[[2]string{schema, name}] = cached{found, time.Now().Add(cacheTime)}
}

func (c *cache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tables = nil
}
