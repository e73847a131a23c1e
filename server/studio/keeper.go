package studio

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/watch"
)

// A Keeper keeps a process's copy of Studio served: it chooses from the Store, says when the choice changes, runs one
// update at a time, and holds the state of it all for whoever shows it. Make one with NewKeeper. It is safe for
// concurrent use.
type Keeper struct {
	store *Store
	serve func(c Copy, others []Copy)
	state *watch.Value[protocol.StudioStatus]

	turn chan struct{} // one change of what is served at a time: holds a token while there is none

	mu      sync.Mutex
	running *run   // nil: no update
	served  Copy   // zero: none
	claims  claims // on served, and on what open pages may still want
}

// A run is an update that is going on; those who ask for another one meanwhile wait for it.
type run struct {
	ignoreHold bool
	cancel     context.CancelCauseFunc
	done       chan struct{} // closed once err is set
	err        error
}

// ErrCancelled is what ends an update that Cancel, or a rollback, was faster than.
var ErrCancelled = coded{errors.New("the update was cancelled"), protocol.CodeCancelled}

// coded names the code that the control socket answers with.
type coded struct {
	error
	code protocol.ErrorCode
}

func (c coded) ErrorCode() protocol.ErrorCode { return c.code }
func (c coded) Unwrap() error                 { return c.error }

// NewKeeper returns a keeper of store's copies that has none served yet: Refresh does that. serve, which may be nil, is
// told what to serve from now on (the zero Copy: nothing) and whose hashed files pages that are open may still ask
// for. It must return at once.
func NewKeeper(store *Store, serve func(c Copy, others []Copy)) *Keeper {
	if serve == nil {
		serve = func(Copy, []Copy) {}
	}
	k := &Keeper{
		store: store,
		serve: serve,
		state: watch.New(protocol.StudioStatus{Stage: protocol.StudioIdle}),
		turn:  make(chan struct{}, 1),
	}
	k.turn <- struct{}{}
	return k
}

// State is the state that the tray, the command line and pages show.
func (k *Keeper) State() *watch.Value[protocol.StudioStatus] { return k.state }

// Status is the state at this moment.
func (k *Keeper) Status() protocol.StudioStatus { return k.state.Get() }

// Served returns the copy that is served; ok is false when none is.
func (k *Keeper) Served() (c Copy, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.served, k.served.Dir != ""
}

// Refresh serves what is the best copy on disk now: at the start, and when one that is served turned out damaged. It
// touches no network and waits for nobody.
func (k *Keeper) Refresh() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for range 3 {
		k.show(k.store.look())
		// Another process may have removed the copy between the look and the claim.
		if k.served.Dir == "" {
			return
		}
		if found, err := readCopy(k.served.Dir); err == nil && same(found.Copy, k.served) {
			return
		}
	}
}

// Damaged serves another copy instead of the one that is served, which turned out not to be as it was installed. It
// reports false when that one is as it was installed after all.
func (k *Keeper) Damaged() bool {
	was, _ := k.Served()
	k.Refresh()
	if now, _ := k.Served(); same(now, was) {
		return false
	}
	k.state.Update(func(s protocol.StudioStatus) protocol.StudioStatus {
		s.Error = "Studio " + was.Version + " was changed after it was installed and is not served any more"
		s.Hint = "install it again with: chatwright-tray studio update"
		return s
	})
	return true
}

// same tells a copy from another one in the same folder: a damaged one is replaced where it is.
func same(a, b Copy) bool {
	return a.Dir == b.Dir && a.SHA256 == b.SHA256 && a.InstalledAt.Equal(b.InstalledAt)
}

// show makes shelf what is served and said. k.mu is held.
func (k *Keeper) show(shelf shelf) {
	changed := !same(shelf.current, k.served)
	if changed || !k.claims.cover(shelf.all()) {
		// The new claims come first, so that nobody prunes a copy between the two.
		fresh := k.store.claim(shelf.all())
		k.claims.release()
		k.claims = fresh
	}
	k.served = shelf.current
	k.state.Update(func(s protocol.StudioStatus) protocol.StudioStatus {
		s.Version, s.Previous, s.Held = shelf.current.Version, shelf.previous.Version, shelf.held
		if s.Available == s.Version {
			s.Available = ""
		}
		return s
	})
	if changed {
		k.serve(shelf.current, shelf.others)
	}
}

// Update installs the newest release, if it is newer, and serves it. One that runs already is joined. ignoreHold takes
// a version that was rolled back from as well.
func (k *Keeper) Update(ctx context.Context, ignoreHold bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &run{ignoreHold: ignoreHold, cancel: cancel, done: make(chan struct{})}
	if running := k.begin(r); running != nil {
		defer cancel(nil)
		err := running.wait(ctx)
		switch {
		case errors.Is(err, context.Canceled) && ctx.Err() == nil: // who began it has gone
		case err == nil && ignoreHold && !running.ignoreHold: // what was joined stopped at the hold
		default:
			return err
		}
		return k.Update(ctx, ignoreHold)
	}
	r.err = k.update(ctx, r)
	cancel(nil)
	k.leave(r)
	close(r.done)
	return r.err
}

// leave has whoever asks from now on begin an update of their own. It comes before anybody is told that r has ended: what
// is asked after that is not to be answered with what r has found.
func (k *Keeper) leave(r *run) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running == r {
		k.running = nil
	}
}

// begin makes r the running update, unless there is one, which it returns.
func (k *Keeper) begin(r *run) (running *run) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running == nil {
		k.running = r
		return nil
	}
	return k.running
}

func (r *run) wait(ctx context.Context) error {
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (k *Keeper) update(ctx context.Context, r *run) error {
	if err := k.take(ctx); err != nil {
		return err
	}
	defer k.give()
	progress := &meter{state: k.state, now: time.Now}
	_, err := k.store.Update(ctx, UpdateOptions{Progress: progress.report, IgnoreHold: r.ignoreHold})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause // a cancelled transfer ends in many ways
	}
	k.Refresh() // whatever became of it: another process may have installed something
	if err == nil {
		k.store.trim(ctx)
		k.Refresh() // a copy that went is no way back
	}
	k.leave(r)
	k.ended(err)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return coded{err, protocol.CodeUpdateFailed}
}

// Cancel ends a running update, and does nothing when there is none. What was downloaded is kept where the server can
// resume.
func (k *Keeper) Cancel() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running != nil {
		k.running.cancel(ErrCancelled)
	}
}

// Rollback serves the version before the present one, and holds it until a version is released that is newer than the
// present one. An update that is running is cancelled. The error is ErrNoPrevious when there is nothing to go back to.
func (k *Keeper) Rollback(ctx context.Context) error {
	k.Cancel()
	if err := k.take(ctx); err != nil {
		return err
	}
	defer k.give()
	_, err := k.store.Rollback(ctx)
	k.Refresh()
	k.ended(err)
	if errors.Is(err, ErrNoPrevious) {
		return coded{err, protocol.CodeConflict}
	}
	return err
}

// Prune removes all but the copy that is served and the one that a rollback would serve.
func (k *Keeper) Prune(ctx context.Context) (protocol.StudioPruned, error) {
	if err := k.take(ctx); err != nil {
		return protocol.StudioPruned{}, err
	}
	defer k.give()
	k.Refresh() // lets go of what another process has replaced
	pruned, err := k.store.Prune(ctx)
	k.Refresh()
	k.ended(err)
	return pruned, err
}

// Close lets other processes prune what this one served. What it served goes on being served.
func (k *Keeper) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.claims.release()
}

func (k *Keeper) take(ctx context.Context) error {
	select {
	case <-k.turn:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for another change of Studio: %w", context.Cause(ctx))
	}
}

func (k *Keeper) give() { k.turn <- struct{}{} }

// ended leaves the state idle, with what went wrong. An end that somebody asked for is nothing wrong.
func (k *Keeper) ended(err error) {
	k.state.Update(func(s protocol.StudioStatus) protocol.StudioStatus {
		s.Stage, s.Bytes, s.Total, s.Rate = protocol.StudioIdle, 0, 0, 0
		switch {
		case err == nil:
			s.Error, s.Hint = "", ""
		case !errors.Is(err, context.Canceled) && !errors.Is(err, ErrCancelled):
			s.Error, s.Hint = err.Error(), hint.Of(err)
		}
		return s
	})
}
