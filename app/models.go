package app

import (
	"context"
	"log/slog"
	"reflect"
	"time"

	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

// modelsPause is how long after the last call it is asked which models are loaded now.
const modelsPause = time.Second

// A modelist keeps what the menu shows of the models of the upstream in use. It asks after calls, since they load models;
// when the upstream changes; and when somebody opens the menu, where the desktop tells. While nothing happens it asks
// nothing.
type modelist struct {
	selector *upstream.Selector
	board    board
	log      *slog.Logger
	list     func(context.Context, *upstream.Target) []protocol.Model
	ask      chan struct{} // capacity 1: the list is wanted now
	called   chan struct{} // capacity 1: calls have ended
}

func newModelist(b board, log *slog.Logger, selector *upstream.Selector, list func(context.Context, *upstream.Target) []protocol.Model) *modelist {
	return &modelist{selector: selector, board: b, log: log, list: list, ask: make(chan struct{}, 1), called: make(chan struct{}, 1)}
}

// Ask wants the list soon. It never blocks.
func (m *modelist) Ask() { signal(m.ask) }

// Called is told that calls have ended. It never blocks.
func (m *modelist) Called() { signal(m.called) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is wanted already
	}
}

// Run keeps the list until ctx ends.
func (m *modelist) Run(ctx context.Context) error {
	pause := time.NewTimer(0)
	pause.Stop()
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-m.called:
			if m.selector.Load().Loopback() { // others do not tell which are loaded
				pause.Reset(modelsPause)
			}
		case <-pause.C:
			m.refresh(ctx)
		case <-m.ask:
			m.refresh(ctx)
		}
	}
}

func (m *modelist) refresh(ctx context.Context) {
	now := m.board.Get()
	var models []protocol.Model
	switch now.upstream.Reach {
	case protocol.ReachOK, protocol.ReachLoading:
		models = m.list(ctx, m.selector.Load())
	}
	if ctx.Err() != nil || reflect.DeepEqual(models, now.models) {
		return
	}
	m.log.Debug("models listed", "models", len(models))
	m.board.Update(func(p parts) parts { p.models = models; return p })
}

// trayModels are the models as the menu shows them.
func trayModels(models []protocol.Model) (rows []tray.Model) {
	for _, one := range models {
		row := tray.Model{ID: one.ID, State: tray.ModelState(one.State), SizeBytes: one.SizeBytes}
		if one.GPUBytes != nil && one.SizeBytes > 0 {
			share := min(100, 100*float64(*one.GPUBytes)/float64(one.SizeBytes))
			row.GPUShare = &share
		}
		rows = append(rows, row)
	}
	return rows
}
