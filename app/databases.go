package app

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server/datastate/sqlstore"
	"chatwright.dev/tray/server/protocol"
)

// causeDatabase begins the cause of the notice that a database cannot be reached; its name follows.
const causeDatabase = "datastate "

// While a database is down it is asked again, less and less often. While all are up nobody asks.
const (
	askSoon   = 15 * time.Second
	askSeldom = 5 * time.Minute
)

// Databases makes the store of the databases that the settings name, and reaches for none of them; nil when they name
// none. observe may be nil, see sqlstore.Config. The caller closes it.
func Databases(now settings.Settings, observe func(holder string, err error)) (*sqlstore.Store, error) {
	dsns, err := now.Holders()
	if err != nil || len(dsns) == 0 {
		return nil, err
	}
	return sqlstore.New(sqlstore.Config{Holders: dsns, Observe: observe})
}

// CheckDatabases asks each database of the settings whether it answers, for whoever examines an installation.
func CheckDatabases(ctx context.Context, now settings.Settings) ([]protocol.Holder, error) {
	store, err := Databases(now, nil)
	if err != nil || store == nil {
		return nil, err
	}
	holders := store.Probe(ctx)
	return holders, store.Close()
}

// A lookout tells the person which databases cannot be reached, from the queries that are made anyway. It asks by itself
// once at first, and then only for as long as one is down.
type lookout struct {
	board board
	log   *slog.Logger
	ask   <-chan struct{} // somebody looks at the notices
	first time.Duration   // askSoon

	mu   sync.Mutex
	down map[string]bool
	wake chan struct{} // capacity 1: one that was up is down
}

func newLookout(b board, log *slog.Logger, ask <-chan struct{}) *lookout {
	return &lookout{board: b, log: log, ask: ask, first: askSoon, down: map[string]bool{}, wake: make(chan struct{}, 1)}
}

// observe is told how a database was found.
func (l *lookout) observe(holder string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch was := l.down[holder]; {
	case err == nil && was:
		delete(l.down, holder)
		l.board.clear(causeDatabase + holder)
		l.log.Info("database reached again", "holder", holder)
	case err != nil:
		l.board.notify(protocol.Notice{Cause: causeDatabase + holder, Text: "Data state: " + err.Error(),
			Hint: "Start the database, or correct its DSN; it is looked for again.", Since: time.Now()})
		if was {
			return
		}
		l.down[holder] = true
		l.log.Warn("database unreachable", "holder", holder, "err", err)
		select {
		case l.wake <- struct{}{}:
		default: // it is to wake already
		}
	}
}

func (l *lookout) anyDown() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.down) > 0
}

// Run looks until ctx ends, and takes its notices along.
func (l *lookout) Run(ctx context.Context, probe func(context.Context) []protocol.Holder) error {
	defer l.withdraw()
	probe(ctx)
	for wait := l.first; ; {
		var again <-chan time.Time
		var timer *time.Timer
		if l.anyDown() {
			timer = time.NewTimer(wait)
			again = timer.C
		} else {
			wait = l.first
		}
		select {
		case <-ctx.Done():
		case <-l.wake: // to set the timer
		case <-again:
			wait = min(2*wait, askSeldom)
			probe(ctx)
		case <-l.ask:
			if l.anyDown() {
				probe(ctx)
			}
		}
		if timer != nil {
			timer.Stop()
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

func (l *lookout) withdraw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for holder := range l.down {
		l.board.clear(causeDatabase + holder)
	}
	l.down = map[string]bool{}
}

// withDatabases serves, looks after the databases meanwhile, and closes them when the last query has ended.
func withDatabases(serve serveFunc, store *sqlstore.Store, look *lookout) serveFunc {
	return func(ctx context.Context, ln net.Listener) (err error) {
		defer func() {
			if closeErr := store.Close(); err == nil && closeErr != nil {
				err = fmt.Errorf("closing the databases: %w", closeErr)
			}
		}()
		looking, stop := context.WithCancel(ctx)
		var group errgroup.Group
		group.Go(func() error { return look.Run(looking, store.Probe) })
		err = serve(ctx, ln)
		stop()
		_ = group.Wait()
		return err
	}
}

// sameHolders reports whether a server that is made now would have the databases of the one that runs: of a DSN in a
// file the settings do not know that it changed.
func (a *app) sameHolders(next *settings.Settings) bool {
	dsns, err := next.Holders()
	running := a.dsns.Load()
	return err == nil && (running == nil || maps.Equal(*running, dsns))
}

// askDatabases has those that are down asked again, since somebody looks.
func (a *app) askDatabases() {
	select {
	case a.lookAgain <- struct{}{}:
	default:
	}
}
