// Package notify shows notices on the desktop: once for each cause, and taken back when the cause ends. A person who
// is told twice of the same thing stops reading.
package notify

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"chatwright.dev/tray/server/watch"
)

const (
	// settle is how long a cause must last before anybody is told: what is over by then was nothing to them.
	settle = 2 * time.Second
	// quiet is how long after a cause was told of it is not told of again, however often it comes and goes.
	quiet = 10 * time.Minute
)

// Notice is what a notification says.
type Notice struct {
	Cause   string // what it is about; at most one of each is shown
	Title   string
	Body    string // plain text; may be empty
	Actions []Action
}

// Action is what a person can choose in a notification, where the desktop offers that.
type Action struct {
	ID    string // DefaultAction is a click on the notification itself
	Label string
}

// DefaultAction is the ID of the action that a click on the notification itself chooses.
const DefaultAction = "default"

// Config configures a Notifier.
type Config struct {
	// App is the program's name as a person reads it, Entry that of its desktop entry, Icon that of its icon in themes.
	App, Entry, Icon string
	// Chosen is called when a person chose an action, on a goroutine of the Notifier: it must return soon. Nil: nobody
	// is told.
	Chosen func(cause, action string)
	// Log hears of what could not be shown. Nil: nothing is logged.
	Log *slog.Logger
}

// A Notifier shows what stands, newest wins.
type Notifier struct {
	cfg    Config
	stands *watch.Value[[]Notice]
	settle time.Duration
	dial   func(context.Context, Config) (desktop, error)
}

// desktop is where notifications appear.
type desktop interface {
	// post shows a notice and returns how it is known from now on.
	post(ctx context.Context, n Notice) (id uint32, err error)
	// withdraw takes one back, where the desktop can.
	withdraw(ctx context.Context, id uint32)
	// events carries what people did. It is closed when the desktop is gone. A desktop that tells nothing returns nil.
	events() <-chan event
	close()
}

// event is what a person did to a notification: they chose an action, or, when that is empty, closed it.
type event struct {
	id     uint32
	action string
}

// New returns a Notifier; nothing is shown before Run.
func New(cfg Config) *Notifier {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Chosen == nil {
		cfg.Chosen = func(string, string) {}
	}
	return &Notifier{cfg: cfg, stands: watch.New[[]Notice](nil), settle: settle, dial: dial}
}

// Show says which notices stand now. It never blocks and may be called from anywhere.
func (n *Notifier) Show(notices []Notice) { n.stands.Set(slices.Clone(notices)) }

// Run shows notices until ctx ends, and then takes back those that are up: nobody would answer their actions. It
// returns nil; a desktop without notifications is no error, since the menu shows the same.
func (n *Notifier) Run(ctx context.Context) error {
	b := &bulletin{notifier: n, told: map[string]*told{}}
	defer b.end(ctx)
	due := time.NewTimer(0)
	defer due.Stop()
	for {
		stands, changed := n.stands.Watch()
		if wait := b.catchUp(ctx, stands); wait > 0 {
			due.Reset(wait)
		} else {
			due.Stop()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-due.C:
		case e, open := <-b.events():
			b.heard(e, open)
		}
	}
}
