package app

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"chatwright.dev/tray/server/control"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/history"
	"chatwright.dev/tray/server/metrics"
	"chatwright.dev/tray/server/protocol"
)

// The causes of the notices about the history.
const (
	causeHistory  = "history"           // calls are not written
	causeSetAside = "history-set-aside" // a broken file was replaced
)

// newHistory makes the store of calls; nil when the settings want none.
func newHistory(cfg Config, log *slog.Logger) *history.Store {
	if !cfg.Settings.History {
		return nil
	}
	return history.New(history.Config{
		Path: cfg.Paths.History, Retention: time.Duration(cfg.Settings.HistoryDays) * 24 * time.Hour,
		Failed: metrics.Failed, Log: log,
	})
}

// keepHistory records calls until ctx ends. It begins once the app answers: opening a database is work that would
// otherwise delay just that.
func (a *app) keepHistory(ctx context.Context) error {
	if a.history == nil {
		return nil
	}
	for {
		status, changed := a.status.Watch()
		if status.Phase != protocol.PhaseStarting {
			break
		}
		select {
		case <-ctx.Done():
			return nil // nothing was served, so there is nothing to write
		case <-changed:
		}
	}
	var group errgroup.Group
	group.Go(func() error { return a.history.Run(ctx) })
	group.Go(func() error { return a.showHistory(ctx) })
	return group.Wait()
}

// showHistory puts the state of the history on the board: the figures, and a notice for as long as calls are lost.
func (a *app) showHistory(ctx context.Context) error {
	setAside := ""
	for {
		state, changed := a.history.State().Watch()
		if state.Today != nil {
			shown := protocol.History{Today: *state.Today, Week: *state.Week, Dropped: state.Dropped}
			a.board.Update(func(p parts) parts { p.history = &shown; return p })
		}
		if state.Problem != nil {
			a.board.notify(protocol.Notice{Cause: causeHistory, Text: "Calls are not recorded: " + state.Problem.Error(),
				Hint: sentence(hint.Of(state.Problem)), Since: time.Now()})
		} else {
			a.board.clear(causeHistory)
		}
		if state.SetAside != setAside {
			setAside = state.SetAside
			a.pass(protocol.Notice{Cause: causeSetAside, Text: "The history was broken and begins anew",
				Hint: "The old file is " + filepath.Base(setAside), Since: time.Now()})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// historyPages answers questions for recorded calls; nil where none are recorded.
func (a *app) historyPages() func(context.Context, protocol.HistoryQuery) (protocol.HistoryPage, error) {
	if a.history == nil {
		return nil
	}
	return func(ctx context.Context, q protocol.HistoryQuery) (protocol.HistoryPage, error) {
		page, err := a.history.Calls(ctx, q)
		if errors.Is(err, history.ErrCursor) {
			err = control.Refuse(protocol.CodeInvalidInput, "after: "+err.Error())
		}
		return page, err
	}
}
