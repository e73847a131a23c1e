package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

// causeSettings is the cause of the notice that the settings could not be read again.
const causeSettings = "settings"

// reload reads the settings again at each hangup. What cannot be read changes nothing and is shown; the server is
// restarted only for settings that differ.
func (a *app) reload(ctx context.Context) error {
	if a.cfg.Reload == nil {
		return nil
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.cfg.Hangup:
			a.reloadOnce(ctx)
		}
	}
}

func (a *app) reloadOnce(ctx context.Context) {
	before := a.settings.Load()
	next, err := a.cfg.Reload()
	if err == nil {
		err = a.check(&next, before)
	}
	if err != nil {
		a.log.Warn("settings not reloaded", "err", err)
		a.board.notify(protocol.Notice{Cause: causeSettings, Text: "Settings not reloaded: " + err.Error(),
			Hint: sentence(hint.Of(err)), Since: time.Now()})
		return
	}
	a.board.clear(causeSettings)
	a.settings.Store(&next)
	a.logLevel.Set(next.LogLevel)
	if next.Notifications != before.Notifications {
		wake(a.retell)
	}
	if next.OTLPEndpoint != before.OTLPEndpoint {
		a.telemeter.Renew()
	}
	if next.Capture != before.Capture {
		a.captureAsSet(next.Capture)
	}
	if next.Upstream != before.Upstream && next.Replay == "" {
		if err := a.choice.Use(upstream.ConfiguredName); err != nil { // whoever changed it wants it now
			a.tell(err)
			return
		}
	}
	if !sameServer(next, *before) || !a.sameHolders(&next) {
		a.engine.Store(a.newEngine(&next))
		if err := a.supervisor.Do(ctx, protocol.ServerRestart); err != nil && ctx.Err() == nil {
			a.tell(err)
		}
	}
	if next.UIDir != before.UIDir {
		a.serves(a.page(&next))
	}
	a.log.Info("settings reloaded")
	if names := nextStartOnly(next, *before); len(names) > 0 {
		a.say(hint.With(fmt.Errorf("settings reloaded, but %s counts from the next start on", strings.Join(names, ", ")),
			"chatwright-tray restart"))
	}
}

// check makes a server of the new settings, to throw it away: a mistake in them must not cost the server that runs.
func (a *app) check(next, before *settings.Settings) error {
	if sameServer(*next, *before) && a.sameHolders(next) {
		return nil
	}
	if err := next.CheckFiles(); err != nil {
		return err
	}
	_, err := a.prepareFrom(next, nil)
	return err
}

// page is what is served at "/" with these settings.
func (a *app) page(now *settings.Settings) protocol.UI {
	if now.UIDir != "" {
		return protocol.UI{Source: protocol.UIFolder}
	}
	return a.ui.Info()
}

// nextStartOnly names the settings that differ and are only looked at when the app starts.
func nextStartOnly(a, b settings.Settings) (names []string) {
	for _, s := range []struct {
		name    string
		differs bool
	}{{"release-check", a.ReleaseCheck != b.ReleaseCheck}, {"release-url", a.ReleaseURL != b.ReleaseURL}, {"ui", a.UI != b.UI}, {"ui-url", a.UIURL != b.UIURL}, {"ui-key", a.UIKey != b.UIKey}, {"ui-check", a.UICheck != b.UICheck}} {
		if s.differs {
			names = append(names, s.name)
		}
	}
	if a.MetricsCapacity != b.MetricsCapacity {
		names = append(names, "metrics-capacity")
	}
	if a.MaxSessions != b.MaxSessions {
		names = append(names, "max-sessions")
	}
	return names
}

// sameServer reports whether a server made from a would be one made from b: what is left out is asked each time.
func sameServer(a, b settings.Settings) bool {
	return a.Addr == b.Addr && a.DatastateFixtures == b.DatastateFixtures && a.UIDir == b.UIDir &&
		slices.Equal(a.AllowOrigins, b.AllowOrigins) && slices.Equal(a.AllowHosts, b.AllowHosts) &&
		a.AllowRemote == b.AllowRemote && a.RemoteTokenFile == b.RemoteTokenFile &&
		a.UpstreamTimeout == b.UpstreamTimeout && a.MaxBody == b.MaxBody && a.MeterUsage == b.MeterUsage && a.Grace == b.Grace &&
		a.ConsoleSessions == b.ConsoleSessions
}
