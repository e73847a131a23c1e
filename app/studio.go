package app

import (
	"context"
	"errors"
	"strings"
	"time"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/studio"
)

// causeStudio is the cause of the notice that says why there is no, or no newer, copy of Studio.
const causeStudio = "studio"

// keepStudio serves the offline copy of Studio when that is wanted: the newest finished one at once, and then, without
// anybody waiting for the network, a newer one if the release has it.
func (a *app) keepStudio(ctx context.Context) error {
	now := a.settings.Load()
	if now.UIDir != "" {
		a.serves(protocol.UI{Source: protocol.UIFolder})
		return nil
	}
	if !now.UI {
		return nil
	}
	store, err := studio.Open(studio.Config{
		CacheDir: a.cfg.Paths.UI, LegacyDir: a.cfg.Paths.LegacyUI, BaseURL: now.UIURL, Log: a.log,
	})
	if err != nil {
		return err
	}
	found, have := store.Current()
	if have {
		a.serveCopy(found)
	}
	newest, err := store.Update(ctx, studio.UpdateOptions{})
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		a.missStudio(err, have)
	case newest.Dir != found.Dir || newest.SHA256 != found.SHA256:
		a.serveCopy(newest)
	}
	return nil
}

func (a *app) serveCopy(c studio.Copy) {
	ui := protocol.UI{Source: protocol.UICopy, Version: c.Version}
	a.ui.Set(c.Dir, ui)
	a.serves(ui)
	a.log.Info("serving the offline copy of Studio", "version", c.Version)
}

func (a *app) serves(ui protocol.UI) {
	a.board.Update(func(p parts) parts { p.ui = ui; return p })
}

// missStudio says why there is no newer copy. With one to serve that is worth a line in the log and no more: the
// network may simply be away.
func (a *app) missStudio(err error, have bool) {
	a.log.Warn("updating the offline copy of Studio", "err", err)
	if have && !errors.Is(err, studio.ErrContract) && !errors.Is(err, studio.ErrArchive) && !errors.Is(err, studio.ErrDownload) {
		return
	}
	text := "Studio could not be fetched: " + err.Error()
	way := sentence(hint.Of(err))
	if !have {
		way = strings.TrimSpace(way + " Studio at https://chatwright.dev works meanwhile.")
	}
	a.board.notify(protocol.Notice{Cause: causeStudio, Text: text, Hint: way, Since: time.Now()})
	if a.cfg.Warn != nil {
		a.cfg.Warn(text)
	}
}
