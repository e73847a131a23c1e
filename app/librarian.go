package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/studio"
	"chatwright.dev/tray/server/watch"
)

const (
	// firstRetry and lastRetry bound the pause after a look at the release that failed and may soon not: a laptop is
	// awake before its network is. The pause doubles from one to the other.
	firstRetry = time.Minute
	lastRetry  = time.Hour
	// jitterShare is the part of a period by which looks are spread, so that companions do not ask in step.
	jitterShare = 0.1
)

// copies is the keeper of the offline copy, as the librarian uses it.
type copies interface {
	State() *watch.Value[protocol.StudioStatus]
	Status() protocol.StudioStatus
	Refresh()
	Damaged() bool
	Update(ctx context.Context, ignoreHold bool) error
	Rollback(ctx context.Context) error
	Prune(ctx context.Context) (protocol.StudioPruned, error)
	Cancel()
	Close()
}

// A librarian decides when a newer Studio is looked for, and what a person is told about how that went. It answers the
// control socket as well, so that what is asked there is told the same way.
type librarian struct {
	copies
	board board
	log   *slog.Logger
	every time.Duration  // between two looks; 0: only when somebody asks
	rand  func() float64 // in [0, 1)
	warn  func(string)   // says one line to whoever started the app
	// folder is where the copies are, for who has to mend it.
	folder string
	woke   chan struct{} // capacity 1: the machine slept

	looked chan struct{} // closed once what is on disk is served
	warned bool          // used by lookOut alone
}

// Run serves what is on disk at once, and looks for a newer Studio in the background until ctx ends. Nobody waits for
// the network.
func (l *librarian) Run(ctx context.Context) error {
	defer l.Close()
	l.Refresh()
	close(l.looked)
	var group errgroup.Group
	group.Go(func() error { return l.show(ctx) })
	group.Go(func() error { return l.lookOut(ctx) })
	return group.Wait()
}

// Woke is told that the machine slept: what is known of the release is old. It never blocks.
func (l *librarian) Woke() {
	select {
	case l.woke <- struct{}{}:
	default:
	}
}

// damaged is told that the copy that is served is no longer what was installed: the best of what is left is served at
// once, and what was lost is fetched again. Until then a person knows why another version is there.
func (l *librarian) damaged() {
	if !l.Damaged() {
		return // and the release is not asked for what is not missing
	}
	now := l.Status()
	l.log.Warn("the copy of Studio was changed after it was installed", "served", now.Version)
	l.board.notify(protocol.Notice{Cause: causeStudio, Text: now.Error, Hint: sentence(now.Hint), Since: time.Now()})
	l.Woke()
}

// show puts the state of the copy on the board.
func (l *librarian) show(ctx context.Context) error {
	for {
		state, changed := l.State().Watch()
		l.board.Update(func(p parts) parts { p.studio = &state; return p })
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// lookOut looks for a newer Studio at the start, then every period, and after sleep. Between two looks there is one
// timer, and none where nothing is to be looked for.
func (l *librarian) lookOut(ctx context.Context) error {
	var pause pause
	if l.every > 0 || l.Status().Version == "" { // who wants a copy and has none is not asked again
		pause = l.look(ctx, pause)
	}
	for ctx.Err() == nil {
		timer := time.NewTimer(l.next(pause))
		if l.every == 0 {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
		case <-timer.C:
			pause = l.look(ctx, pause)
		case <-l.woke:
			if l.every > 0 {
				pause = l.look(ctx, pause)
			}
		}
		timer.Stop()
	}
	return nil
}

// pause is how long to wait after a failure; 0: there was none.
type pause time.Duration

// look makes one look and returns the pause after it.
func (l *librarian) look(ctx context.Context, before pause) pause {
	err := l.withWay(l.copies.Update(ctx, false))
	l.tell(ctx, err, false)
	switch {
	case err == nil || ctx.Err() != nil || !mayPass(err):
		return 0
	case before == 0:
		return pause(firstRetry)
	}
	return min(2*before, pause(lastRetry))
}

// next is the time until the next look, spread by the jitter.
func (l *librarian) next(after pause) time.Duration {
	period := l.every
	if after > 0 {
		period = min(period, time.Duration(after))
	}
	spread := 1 + jitterShare*(2*l.rand()-1)
	return time.Duration(float64(period) * spread)
}

// mayPass says whether the same look may go well in a while: a network that is away comes back, a release that is half
// uploaded gets whole. A release that was refused stays refused until there is another.
func mayPass(err error) bool {
	return errors.Is(err, studio.ErrManifest) || errors.Is(err, studio.ErrDownload)
}

// Update is what a person asked for: whatever became of it is told.
func (l *librarian) Update(ctx context.Context, ignoreHold bool) error {
	err := l.withWay(l.copies.Update(ctx, ignoreHold))
	l.tell(ctx, err, true)
	return err
}

// Rollback goes back, which also ends whatever an update failed at.
func (l *librarian) Rollback(ctx context.Context) error {
	err := l.copies.Rollback(ctx)
	if err == nil {
		l.log.Info("went back to the Studio before", "version", l.Status().Version)
		l.board.clear(causeStudio)
	}
	return err
}

// tell shows why there is no, or no newer, copy, until a look goes well. Where there is a copy and nobody asked, that the
// release cannot be had is worth a line in the log and no more: the network may simply be away.
func (l *librarian) tell(ctx context.Context, err error, asked bool) {
	if err == nil {
		l.board.clear(causeStudio)
		return
	}
	if ctx.Err() != nil || errors.Is(err, context.Canceled) || errors.Is(err, studio.ErrCancelled) {
		return
	}
	have := l.Status().Version != ""
	l.log.Warn("the offline copy of Studio was not updated", "err", err, "served", l.Status().Version)
	if have && !asked && (errors.Is(err, studio.ErrManifest) || errors.Is(err, studio.ErrOlder)) {
		return
	}
	n := studioNotice(err, have)
	l.board.notify(n)
	if !have && !l.warned && !asked {
		l.warned = true
		l.warn(n.Text)
	}
}
