//go:build (linux && !android) || freebsd || openbsd || netbsd

package doctor

import (
	"context"

	"chatwright.dev/tray/app/sessionbus"
	"chatwright.dev/tray/server/protocol"
)

// screen: whether there is a place for the icon. Only the session bus and the watcher on it count; a DISPLAY does not.
func screen(ctx context.Context, cfg Config) []protocol.Check {
	const bus, panel = "Session bus", "Panel"
	if cfg.Headless {
		return append(skipped("not needed without a tray").as("bus", bus), skipped("not needed without a tray").as("panel", panel)...)
	}
	conn, err := sessionbus.Dial(ctx)
	if err != nil {
		return append(failed(err.Error(), "start it from within a desktop session, or run it with --headless").as("bus", bus),
			skipped("there is no session bus").as("panel", panel)...)
	}
	defer func() { _ = conn.Close() }()
	checks := ok("it answers").as("bus", bus)
	var watched bool
	if err := conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.NameHasOwner", 0, "org.kde.StatusNotifierWatcher").Store(&watched); err != nil {
		return append(checks, unknown(err.Error()).as("panel", panel)...)
	}
	if !watched {
		return append(checks, failed("no panel shows tray icons (nobody answers to org.kde.StatusNotifierWatcher)",
			"add the status tray to your panel; on GNOME install gnome-shell-extension-appindicator and log in again").as("panel", panel)...)
	}
	return append(checks, ok("it shows tray icons").as("panel", panel)...)
}
