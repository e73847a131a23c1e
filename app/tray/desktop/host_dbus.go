//go:build (linux && !android) || freebsd || openbsd || netbsd

package desktop

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"fyne.io/systray"

	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/assets"
)

// title is the name that panels show, and from which the toolkit makes the ID under which they remember the icon.
const title = "Chatwright Tray"

const (
	// watcherPatience is how long a panel may take to appear before the person hears that there is none. Sessions
	// start their programs and their panel at the same time.
	watcherPatience = 5 * time.Second
	// endPatience bounds the end: a bus that stopped reading must not keep the daemon alive.
	endPatience = time.Second
)

// run keeps all that could block on the bus in one goroutine, so that ending never waits for a bus that is stuck.
//
// A session bus that is not there is not looked for again: its address is fixed when a program starts, so a later
// session is for a later start.
func (d *Driver) run(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.session(ctx)
	}()
	<-ctx.Done()
	select {
	case <-done:
	case <-time.After(endPatience):
		d.cfg.Log.Warn("the session bus does not let go of the tray icon")
	}
	return nil
}

// session is the life of the icon: probe, wait for a panel and for something to show, build, start, paint, end.
func (d *Driver) session(ctx context.Context) {
	bus, err := dialBus(ctx)
	if err != nil {
		if ctx.Err() == nil {
			d.unavailable(fmt.Sprintf("no session bus: %v", err),
				"start it from within a desktop session, or run it with --headless")
		}
		return
	}
	defer bus.close()

	late := func() {
		way := wayToAPanel(os.Getenv("XDG_CURRENT_DESKTOP"))
		if d.cfg.NoPanel != nil {
			d.cfg.NoPanel(way)
		}
		d.unavailable(noPanel, way)
	}
	if err := bus.awaitWatcher(ctx, watcherPatience, late); err != nil {
		d.lost(ctx, bus)
		return
	}
	select {
	case <-ctx.Done():
		return
	case <-d.newer:
	}

	d.holds = closesMenus(bus.host(ctx), os.Getenv("XDG_CURRENT_DESKTOP"))
	pool, end := d.open(*d.view.Load())
	// Asked even when ctx is over by now, since it decides how to end: a toolkit that reached no bus holds no
	// connection, and ending it would be a nil dereference.
	name := fmt.Sprintf("org.kde.StatusNotifierItem-%d-1", os.Getpid())
	if owned, err := bus.owned(context.WithoutCancel(ctx), name); err != nil || !owned {
		d.lost(ctx, bus)
		return
	}
	painting, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-bus.gone():
			stop()
		case <-painting.Done():
		}
	}()
	pool.paint(painting)
	if ctx.Err() == nil {
		d.lost(ctx, bus) // and no call to the toolkit any more
		return
	}
	end()
}

// open puts the view on the bus. Icon, title, tooltip and rows are set before the toolkit starts: set afterwards, it
// loses them in one start of twenty. Its start and end are called directly, not through its Run, since only so it is
// known when the start is over; until then a change of the icon would be lost.
func (d *Driver) open(v tray.View) (p *pool, end func()) {
	systray.SetTitle(title)
	p = d.build(v)
	systray.SetOnTapped(p.tap) // also tells panels that a left click is not for the menu
	start, end := systray.RunWithExternalLoop(nil, nil)
	start()
	return p, end
}

// lost says that the bus has ended, if that is why the session ends.
func (d *Driver) lost(ctx context.Context, b *bus) {
	if ctx.Err() != nil {
		return
	}
	select {
	case <-b.gone():
		d.unavailable("the session bus ended", "restart it in the new desktop session")
	default:
		d.unavailable("the session bus refused the tray icon", "restart it, or run it with --headless")
	}
}

// noPanel is why there is no icon when nobody shows icons. On Linux only the bus and the watcher on it count: a
// DISPLAY tells nothing.
const noPanel = "no panel that shows tray icons (nobody answers to " + watcherName + ")"

// wayToAPanel says what to install so that there is a place for the icon.
func wayToAPanel(desktop string) string {
	if strings.Contains(strings.ToLower(desktop), "gnome") {
		return "install gnome-shell-extension-appindicator and log in again"
	}
	return "add the status tray to your panel; on GNOME install gnome-shell-extension-appindicator"
}

// closesMenus says whether an open menu is closed there when a row changes: by the name of the program that shows icons,
// or by that of the desktop where the system does not tell of programs.
func closesMenus(host, desktop string) bool {
	switch host {
	case "lxqt-panel", "gnome-shell":
		return true
	case "":
		desktop = strings.ToLower(desktop)
		return strings.Contains(desktop, "lxqt") || strings.Contains(desktop, "gnome")
	}
	return false
}

// setIcon guards the one setter that panics when the bus has just ended and our own connection has not yet heard.
func setIcon(name assets.IconName, dark bool) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case runtime.Error: // a mistake, not the bus
			panic(cause)
		}
	}()
	systray.SetIcon(assets.Icon(name, dark))
}

// escape keeps underscores: in a D-Bus menu a single one marks the letter after it as a mnemonic.
func escape(label string) string { return strings.ReplaceAll(label, "_", "__") }
