package app

import (
	"context"
	"fmt"
	"time"

	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server/protocol"
)

// copyPatience is how long the start may wait for what is on disk to be served. It takes milliseconds, unless the disk
// hangs; the network is never waited for.
const copyPatience = 2 * time.Second

// awaitCopy waits until the copy on disk is served, so that who is told that the app is ready finds it.
func (a *app) awaitCopy(ctx context.Context) {
	if a.librarian == nil {
		return
	}
	limit := time.NewTimer(copyPatience)
	defer limit.Stop()
	select {
	case <-a.librarian.looked:
	case <-limit.C:
	case <-ctx.Done():
	}
}

// doStudio carries out a click on a row of the offline copy.
func (a *app) doStudio(ctx context.Context, action tray.Action) error {
	if a.librarian == nil { // the row was hidden: the settings changed under the click
		return nil
	}
	switch action {
	case tray.StudioUpdate:
		_ = a.librarian.Update(ctx, true) // what became of it is told for as long as it matters
	case tray.StudioCancel:
		a.librarian.Cancel()
	case tray.StudioRollback:
		if err := a.librarian.Rollback(ctx); err != nil {
			return fmt.Errorf("going back to the Studio before: %w", err)
		}
	case tray.StudioFolder:
		if err := a.cfg.OpenFile(a.cfg.Paths.UI); err != nil {
			return fmt.Errorf("opening %s: %w", a.cfg.Paths.UI, err)
		}
	}
	return nil
}

// trayStudio is the offline copy for the menu; nil: none is kept.
func (a *app) trayStudio(s protocol.Status) *tray.Studio {
	if s.Studio == nil {
		return nil
	}
	c := s.Studio
	shown := &tray.Studio{
		Version: c.Version, Previous: c.Previous, Stage: tray.StudioStage(c.Stage), Bytes: c.Bytes, Total: c.Total,
		CheckedAt: c.CheckedAt, UpdatedAt: a.board.Get().studioChanged, Failed: c.Error != "",
	}
	if c.Stage == protocol.StudioIdle {
		if shown.Available = c.Available; c.Held != "" && c.Available == "" {
			shown.Available = c.Held // nobody has asked the release since
		}
		shown.Held = c.Held != ""
	} else if shown.Coming = c.Available; shown.Coming == "" && c.Stage == protocol.StudioUnpacking {
		shown.Coming = c.Version // it is served by then
	}
	return shown
}
