// Package desktop puts a tray.View on the screen: the icon in the panel and its menu. It is the only importer of
// fyne.io/systray and knows that toolkit's traps, each named where it is avoided. It copies differences and decides
// nothing: what a row says is tray.Render's, when it may change is tray.Pacer's.
//
// The toolkit allows one tray in the life of a process, so a process makes one Driver and calls Run once.
package desktop

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"chatwright.dev/tray/app/tray"
)

// clickQueue is how many clicks may wait for the app; a person does not click that fast.
const clickQueue = 64

// Config configures a Driver.
type Config struct {
	// Log receives what goes wrong. Nil: nothing is logged.
	Log *slog.Logger
	// Unavailable is called when there is no icon on the screen, with why and what to do about it, at most once in the
	// life of the Driver and never after Run returned. The icon may still come: on D-Bus desktops it does as soon as a
	// panel takes icons. Nil: nobody is told.
	Unavailable func(text, way string)
	// NoPanel is called, once at most and before Unavailable, when there is a desktop and only a panel that shows icons
	// is missing, with what to do about it: a person who is told on the desktop can read it. Nil: nobody is told.
	NoPanel func(way string)
}

// Driver owns the tray of this process. Make one with New.
type Driver struct {
	cfg    Config
	view   atomic.Pointer[tray.View]
	newer  chan struct{} // there is a newer view
	light  atomic.Bool   // the panel is light
	relit  chan struct{} // it has become light, or dark
	clicks chan tray.Action
	holds  bool      // the panel closes an open menu when a row changes; set before the icon is on the screen
	once   sync.Once // guards cfg.Unavailable
}

// New returns a driver; nothing appears before Run.
func New(cfg Config) *Driver {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Driver{cfg: cfg, newer: make(chan struct{}, 1), relit: make(chan struct{}, 1), clicks: make(chan tray.Action, clickQueue)}
}

// Show says what the tray is to show. The newest view wins; Show never blocks and may be called from anywhere, before
// Run too. The icon appears with the first view.
func (d *Driver) Show(v tray.View) {
	d.view.Store(&v)
	select {
	case d.newer <- struct{}{}:
	default: // the screen has not yet looked at an older one, and will find this
	}
}

// SetLightPanel says that the panel is light, so that the dark drawing of the icon is used. Until it is called the panel
// is taken to be dark, which most are. It never blocks and may be called from anywhere. macOS asks for neither: it
// colours the icon itself.
func (d *Driver) SetLightPanel(light bool) {
	if d.light.Swap(light) == light {
		return
	}
	select {
	case d.relit <- struct{}{}:
	default: // the screen has not yet looked, and will find this
	}
}

// Clicks carries what the person chose. It is never closed.
func (d *Driver) Clicks() <-chan tray.Action { return d.clicks }

// Run shows the tray until ctx ends. It must be called on the main goroutine, which macOS asks for. A desktop without
// a tray is no error: Run tells Config.Unavailable and waits for ctx all the same, since the daemon lives on.
func (d *Driver) Run(ctx context.Context) error {
	return d.run(ctx)
}

// click hands an action to the app. It does not wait, since it is called by what also moves the menu; a queue that is
// full means an app that hangs, and then the log should say so.
func (d *Driver) click(action tray.Action) {
	if action == "" {
		return
	}
	select {
	case d.clicks <- action:
	default:
		d.cfg.Log.Error("click lost, the app does not take any", "action", action)
	}
}

// unavailable says why there is no icon: to the app once, after that to the log.
func (d *Driver) unavailable(text, way string) {
	told := false
	d.once.Do(func() {
		if d.cfg.Unavailable != nil {
			d.cfg.Unavailable(text, way)
			told = true
		}
	})
	if !told {
		d.cfg.Log.Warn("no tray icon", "reason", text, "way", way)
	}
}
