//go:build (linux && !android) || freebsd || openbsd || netbsd

package notify

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/godbus/dbus/v5"

	"chatwright.dev/tray/app/sessionbus"
)

// The Desktop Notifications Specification of freedesktop.org.
const (
	busName = "org.freedesktop.Notifications"
	busPath = "/org/freedesktop/Notifications"
)

// noExpiry leaves it to the desktop how long a notification stays up.
const noExpiry = int32(-1)

type busDesktop struct {
	cfg     Config
	conn    *dbus.Conn
	signals chan *dbus.Signal
	heard   chan event
	done    chan struct{}

	actions, markup bool // what the desktop can do
}

func dial(ctx context.Context, cfg Config) (desktop, error) {
	conn, err := sessionbus.Dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("connecting to the session bus: %w", err)
	}
	d := &busDesktop{cfg: cfg, conn: conn, signals: make(chan *dbus.Signal, 16), heard: make(chan event), done: make(chan struct{})}
	if err := d.greet(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	go d.listen()
	return d, nil
}

func (d *busDesktop) greet(ctx context.Context) error {
	d.conn.Signal(d.signals)
	if err := d.conn.AddMatchSignalContext(ctx, dbus.WithMatchInterface(busName)); err != nil {
		return fmt.Errorf("asking for what people choose: %w", err)
	}
	var can []string
	if err := d.object().CallWithContext(ctx, busName+".GetCapabilities", 0).Store(&can); err != nil {
		return fmt.Errorf("asking the desktop for notifications: %w", err)
	}
	d.actions, d.markup = slices.Contains(can, "actions"), slices.Contains(can, "body-markup")
	return nil
}

func (d *busDesktop) object() dbus.BusObject { return d.conn.Object(busName, busPath) }

func (d *busDesktop) post(ctx context.Context, n Notice) (id uint32, err error) {
	body := n.Body
	if d.markup {
		body = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(body)
	}
	actions := []string{}
	if d.actions {
		for _, a := range n.Actions {
			actions = append(actions, a.ID, a.Label)
		}
	}
	hints := map[string]dbus.Variant{"desktop-entry": dbus.MakeVariant(d.cfg.Entry), "urgency": dbus.MakeVariant(byte(1))}
	call := d.object().CallWithContext(ctx, busName+".Notify", 0, d.cfg.App, uint32(0), d.cfg.Icon, n.Title, body, actions, hints, noExpiry)
	if err := call.Store(&id); err != nil {
		return 0, fmt.Errorf("showing a notification: %w", err)
	}
	return id, nil
}

// withdraw does not say when there was none any more: a person may have closed it at this moment.
func (d *busDesktop) withdraw(ctx context.Context, id uint32) {
	d.object().CallWithContext(ctx, busName+".CloseNotification", 0, id)
}

// listen takes signals as fast as they come: the bus drops what waits for a reader.
func (d *busDesktop) listen() {
	defer close(d.heard)
	for {
		var e event
		select {
		case <-d.done:
			return
		case signal, open := <-d.signals:
			if !open {
				return
			}
			if e = read(signal); e.id == 0 {
				continue
			}
		}
		select {
		case d.heard <- e:
		case <-d.done:
			return
		}
	}
}

// read is the event that a signal tells of; the zero event when it tells of none.
func read(signal *dbus.Signal) event {
	if len(signal.Body) != 2 {
		return event{}
	}
	id, _ := signal.Body[0].(uint32)
	switch signal.Name {
	case busName + ".NotificationClosed":
		return event{id: id}
	case busName + ".ActionInvoked":
		if action, _ := signal.Body[1].(string); action != "" {
			return event{id: id, action: action}
		}
	}
	return event{}
}

func (d *busDesktop) events() <-chan event { return d.heard }

func (d *busDesktop) close() {
	_ = d.conn.Close()
	close(d.done)
	for range d.heard { // until listen has ended
		continue
	}
}
