package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"chatwright.dev/tray/server/datastate"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/internal/httpx"
	"chatwright.dev/tray/server/protocol"
)

// Databases answers data-state queries from live databases. It is declared here and made elsewhere, since a server that
// is embedded in another program brings no database drivers along.
type Databases interface {
	datastate.Selector
	// Handles are the databases by name.
	Handles() datastate.Handles
	// Probe says of each database, by name, whether it answers. It bounds its time itself, however often it is called.
	Probe(ctx context.Context) []protocol.Holder
}

// A holderStore is fixtures and databases side by side.
type holderStore struct {
	fixtures  *FixtureStore // nil: none
	databases Databases     // nil: none
}

// newHolderStore puts both together; a name that both have would answer from one of them by chance.
func newHolderStore(fixtures *FixtureStore, databases Databases) (*holderStore, error) {
	s := &holderStore{fixtures, databases}
	if fixtures == nil || databases == nil {
		return s, nil
	}
	live := databases.Handles()
	for _, name := range slices.Sorted(maps.Keys(fixtures.handles)) {
		if _, both := live[name]; both {
			return nil, hint.With(fmt.Errorf("the data-state holder %q is both a database and in the fixtures file", name),
				"rename one of them, or leave it out")
		}
	}
	return s, nil
}

func (s *holderStore) handles() datastate.Handles {
	all := datastate.Handles{}
	if s.fixtures != nil {
		maps.Copy(all, s.fixtures.handles)
	}
	if s.databases != nil {
		maps.Copy(all, s.databases.Handles())
	}
	return all
}

func (s *holderStore) Execute(ctx context.Context, handle any, query datastate.Query) ([]datastate.Row, error) {
	if _, recorded := handle.(recordedRows); recorded {
		return s.fixtures.Execute(ctx, handle, query)
	}
	return s.databases.Execute(ctx, handle, query)
}

// Select gives all rows of a fixture, which are in memory, and of a database as many as are asked for.
func (s *holderStore) Select(ctx context.Context, handle any, query datastate.Query, most int) (datastate.Result, error) {
	if _, recorded := handle.(recordedRows); recorded {
		rows, err := s.fixtures.Execute(ctx, handle, query)
		return datastate.Result{Rows: rows, Total: len(rows)}, err
	}
	return s.databases.Select(ctx, handle, query, most)
}

// holders lists what there is, by name.
func (s *holderStore) holders(ctx context.Context) []protocol.Holder {
	list := []protocol.Holder{}
	if s.fixtures != nil {
		for name := range s.fixtures.handles {
			list = append(list, protocol.Holder{Name: name, Kind: protocol.HolderFixtures, Reach: protocol.ReachOK})
		}
	}
	if s.databases != nil {
		list = append(list, s.databases.Probe(ctx)...)
	}
	slices.SortFunc(list, func(a, b protocol.Holder) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (s *Server) serveHolders(w http.ResponseWriter, r *http.Request) {
	answer := protocol.Holders{Holders: []protocol.Holder{}}
	if s.holders != nil {
		answer.Holders = s.holders.holders(r.Context())
	}
	httpx.WriteJSON(w, http.StatusOK, answer)
}

func (s *Server) prepareData(cfg Config) error {
	if cfg.FixturesPath == "" && cfg.Databases == nil {
		return nil
	}
	if s.data != nil {
		return errors.New("making the server: DataState is set beside FixturesPath or Databases")
	}
	var fixtures *FixtureStore
	if cfg.FixturesPath != "" {
		var err error
		if fixtures, err = LoadFixturesFile(cfg.FixturesPath); err != nil {
			return err
		}
	}
	store, err := newHolderStore(fixtures, cfg.Databases)
	if err != nil {
		return err
	}
	s.holders = store
	s.data = datastate.NewRunner(store, store.handles(), datastate.Limits{})
	return nil
}
