package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"chatwright.dev/tray/app/release"
	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/studio"
)

// watchReleases asks once a day for a newer release of this program.
func (a *app) watchReleases(ctx context.Context) error {
	now := a.settings.Load()
	if !now.ReleaseCheck {
		return nil
	}
	return release.Watch(ctx, a.releaseConfig(now.ReleaseURL))
}

// withRelease adds to what the board begins with the release that an earlier life of the companion heard of.
func (p parts) withRelease(cfg Config, m *memory) parts {
	if known := m.Release(); cfg.Settings.ReleaseCheck {
		p.release = KnownRelease(known, cfg.Version)
		p.releaseNews = p.release != nil && known.Told != known.Version
	}
	return p
}

// releaseConfig is what package release asks with.
func (a *app) releaseConfig(url string) release.Config {
	remembered := a.scout.memory
	return release.Config{
		URL: url, Current: a.cfg.Version, Older: studio.OlderVersion,
		LastAsked: func() time.Time { return remembered.Release().Asked },
		Asked: func(at time.Time) {
			remembered.ChangeRelease(func(m *settings.ReleaseMemory) { m.Asked = at.UTC() })
		},
		Found: func(r release.Release) {
			a.log.Info("a newer release is available", "version", r.Version, "url", r.URL)
			a.found(protocol.Release{Version: r.Version, URL: r.URL})
		},
		Log: a.log,
	}
}

// KnownRelease is the release that is remembered, if it is newer than the version that runs; nil if none is.
func KnownRelease(m settings.ReleaseMemory, version string) *protocol.Release {
	if !studio.OlderVersion(version, m.Version) || release.CheckURL(m.URL) != nil {
		return nil
	}
	return &protocol.Release{Version: m.Version, URL: m.URL}
}

// found shows the release. The desktop is told of each once, in whichever life of the companion that is.
func (a *app) found(r protocol.Release) {
	news := a.scout.memory.Release().Told != r.Version
	a.scout.memory.ChangeRelease(func(m *settings.ReleaseMemory) { m.Version, m.URL = r.Version, r.URL })
	a.board.Update(func(p parts) parts {
		p.release, p.releaseNews = &r, p.releaseNews || news
		return p
	})
}

func (a *app) openRelease() error {
	r := a.board.Get().release
	if r == nil {
		return errors.New("no newer release is known of")
	}
	if err := a.cfg.OpenURL(r.URL); err != nil {
		return hint.With(fmt.Errorf("opening %s: %w", r.URL, err), "open it yourself: "+r.URL)
	}
	return nil
}
