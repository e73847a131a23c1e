package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"chatwright.dev/tray/server/datastate"
	"chatwright.dev/tray/server/hint"
)

// FixtureStore answers data-state queries from recorded rows, without a database: each holder's queries by their
// exact text. It is a datastate.Executor, and safe for concurrent use.
type FixtureStore struct {
	handles datastate.Handles // holder to recordedRows
}

// recordedRows are a holder's rows by trimmed query text.
type recordedRows map[string][]datastate.Row

// NewFixtureStore returns a store of these rows: holder, then query text. White space around a query text does not
// count, as it does not in a request. The rows must not be changed afterwards.
func NewFixtureStore(fixtures map[string]map[string][]datastate.Row) *FixtureStore {
	handles := make(datastate.Handles, len(fixtures))
	for holder, queries := range fixtures {
		recorded := make(recordedRows, len(queries))
		for _, query := range slices.Sorted(maps.Keys(queries)) { // sorted: of two that trim alike the last one counts, always
			recorded[strings.TrimSpace(query)] = queries[query]
		}
		handles[holder] = recorded
	}
	return &FixtureStore{handles}
}

// Handles returns the holders there are, for a datastate.Runner.
func (s *FixtureStore) Handles() datastate.Handles { return maps.Clone(s.handles) }

// Execute returns the rows recorded for the query. Params do not matter: a fixture is recorded for one text.
func (s *FixtureStore) Execute(ctx context.Context, handle any, query datastate.Query) ([]datastate.Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	recorded, ok := handle.(recordedRows)
	if !ok {
		return nil, errors.New("fixture store: the handle is not one of this store")
	}
	rows, ok := recorded[strings.TrimSpace(query.DTQL)]
	if !ok {
		return nil, hint.With(fmt.Errorf("fixture store: no fixture recorded for query %q", query.DTQL),
			"record rows under exactly this query text in the fixtures file")
	}
	return slices.Clone(rows), nil
}
