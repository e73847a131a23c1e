package history

import (
	"context"
	"errors"
	"time"

	"chatwright.dev/tray/server/protocol"
)

const (
	// flushEvery is how long a call may wait to be written, so that a flood is one transaction a second.
	flushEvery = time.Second
	// A file that cannot be written is tried again after firstRetry, then after twice as long, up to lastRetry.
	firstRetry = time.Second
	lastRetry  = time.Minute
	// checkEvery is how often an idle history looks whether a new day has begun: a timer set for midnight would be late
	// by as long as the machine slept.
	checkEvery = 15 * time.Minute
)

// A writer is what only the goroutine of Run touches.
type writer struct {
	*Store
	db       *database // nil: not open
	batch    []protocol.Call
	sums     sums
	pruned   time.Time // the day that was last cleared of what is too old
	unpruned bool      // more is to be cleared
	retry    time.Duration
	setAside string
}

// Run opens the file and writes until ctx ends, then writes what is left and closes the file. A file that cannot be
// used is no error of Run's: it is in State, and is tried again.
func (s *Store) Run(ctx context.Context) error {
	defer close(s.ended)
	w := &writer{Store: s}
	next := time.NewTimer(w.work(ctx))
	defer next.Stop()
	for {
		var asked chan struct{}
		select {
		case <-ctx.Done():
			w.end(ctx)
			return nil
		case <-next.C:
		case asked = <-s.asks:
		case <-s.buffer.wake:
			if w.retry > 0 {
				continue // the file is in trouble, and next says when it is tried again
			}
			asked = w.gather(ctx)
		}
		if asked == nil || w.retry == 0 {
			next.Reset(w.work(ctx))
		}
		if asked != nil {
			close(asked)
		}
	}
}

// gather waits for more calls, so that many are written at once. It returns the question that cut it short, if one did.
func (w *writer) gather(ctx context.Context) (asked chan struct{}) {
	patience := time.NewTimer(flushEvery)
	defer patience.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-patience.C:
			return nil
		case asked = <-w.asks:
			return asked
		case <-w.buffer.wake:
			if w.buffer.halfFull() {
				return nil
			}
		}
	}
}

// work brings the file up to date and says how it went. It returns when it wants to be called again at the latest.
func (w *writer) work(ctx context.Context) time.Duration {
	ctx = context.WithoutCancel(ctx) // a transaction is short; half of one helps nobody
	err := w.write(ctx)
	if isBroken(err) {
		if err = w.putAside(err); err == nil {
			err = w.write(ctx)
		}
	}
	w.tell(err)
	switch {
	case err != nil:
		if !isFull(err) { // what is written can still be read, and room may be made
			w.close()
		}
		w.retry = min(max(2*w.retry, firstRetry), lastRetry)
		return w.retry
	case w.unpruned:
		w.retry = 0
		return 0
	}
	w.retry = 0
	now := w.cfg.Now()
	return min(checkEvery, max(0, tomorrow(now).Sub(now)))
}

// write opens the file where it is not open, writes the batch, and does what a new day brings.
func (w *writer) write(ctx context.Context) error {
	if w.db != nil && w.db.moved() {
		w.cfg.Log.Warn("the history file is gone from its place; a new one is begun", "file", w.cfg.Path)
		w.close()
	}
	if w.db == nil {
		if err := w.open(ctx); err != nil {
			return err
		}
	}
	if w.batch = w.buffer.take(w.batch); len(w.batch) > 0 {
		if err := w.db.insert(ctx, w.batch, w.cfg.Failed); err != nil {
			return err
		}
		w.sums.add(w.batch, w.cfg.Failed)
		w.batch = w.buffer.written(w.batch)
	}
	now := w.cfg.Now()
	if day := midnight(now); !day.Equal(w.pruned) || w.unpruned {
		more, err := w.db.prune(ctx, now.Add(-w.cfg.Retention))
		if err != nil {
			return err
		}
		if w.unpruned = more; !more {
			w.pruned = day
			w.sums.known = false // what is gone is not to be counted
		}
	}
	if !w.sums.known || !w.sums.holds(now) {
		return w.sums.read(ctx, w.db, now)
	}
	return nil
}

func (w *writer) open(ctx context.Context) error {
	db, err := openDatabase(ctx, w.cfg.Path)
	if err != nil {
		return err
	}
	w.db, w.sums.known = db, false
	w.reader.Store(db)
	return nil
}

func (w *writer) close() {
	if w.db == nil {
		return
	}
	w.reader.Store(nil)
	if err := w.db.close(); err != nil {
		w.cfg.Log.Warn("closing the history", "err", err)
	}
	w.db = nil
}

// putAside moves a broken file out of the way.
func (w *writer) putAside(cause error) error {
	w.close()
	aside, err := setAside(w.cfg.Path)
	if err != nil {
		return errors.Join(cause, err)
	}
	w.setAside = aside
	w.cfg.Log.Warn("the history file was broken and is set aside; a new one is begun", "file", aside, "err", cause)
	return nil
}

// tell publishes how it went.
func (w *writer) tell(err error) {
	before := w.state.Get()
	if err != nil {
		err = problem(w.cfg.Path, err)
	}
	switch {
	case err != nil && (before.Problem == nil || before.Problem.Error() != err.Error()):
		w.cfg.Log.Warn("calls are not recorded", "err", err, "waiting", len(w.batch))
	case err == nil && before.Problem != nil:
		w.cfg.Log.Info("calls are recorded again", "dropped", w.Dropped())
	}
	after := State{Today: before.Today, Week: before.Week, Dropped: w.Dropped(), Problem: err, SetAside: w.setAside}
	if w.sums.known && (w.sums.changed || before.Today == nil) {
		after.Today, after.Week = w.sums.today.totals(), w.sums.week.totals()
		w.sums.changed = false
	}
	if !after.same(before) {
		w.state.Set(after)
	}
}

// same reports whether nobody needs to be woken for b after a. Sums that did not change are the same pointers.
func (a State) same(b State) bool {
	sameProblem := (a.Problem == nil) == (b.Problem == nil) && (a.Problem == nil || a.Problem.Error() == b.Problem.Error())
	return sameProblem && a.Today == b.Today && a.Week == b.Week && a.Dropped == b.Dropped && a.SetAside == b.SetAside
}

// end writes what is left and closes the file.
func (w *writer) end(ctx context.Context) {
	w.work(ctx)
	w.batch = w.buffer.take(w.batch)
	if n := len(w.batch); n > 0 { // the file cannot be written, and there is no later
		w.buffer.lose(w.batch)
		w.cfg.Log.Warn("calls were not recorded", "calls", n)
	}
	w.close()
}
