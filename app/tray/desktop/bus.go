//go:build (linux && !android) || freebsd || openbsd || netbsd

package desktop

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"

	"chatwright.dev/tray/app/sessionbus"
)

// probeTimeout is how long the session bus may take for all of connect, handshake and the first question.
const probeTimeout = 2 * time.Second

const (
	watcherName  = "org.kde.StatusNotifierWatcher"
	busName      = "org.freedesktop.DBus"
	ownerChanged = busName + ".NameOwnerChanged"
)

// bus is a connection of our own to the session bus. The toolkit shares and closes the connection of godbus that
// dbus.SessionBus returns, cannot bear a bus that is missing, and does not notice one that ends; so it is not let near
// a bus before this connection has seen it answer, nor after this connection has seen it end.
type bus struct {
	conn    *dbus.Conn
	signals chan *dbus.Signal
	watched bool // a panel takes icons, as of the last look
}

// dialBus connects to the session bus that is there, within probeTimeout.
func dialBus(ctx context.Context) (*bus, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := sessionbus.Dial(ctx)
	if err != nil {
		return nil, err
	}
	b := &bus{conn: conn, signals: make(chan *dbus.Signal, 8)}
	if err := b.greet(ctx); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// greet asks to be told of a watcher before it asks whether there is one, so that none slips through between the two.
func (b *bus) greet(ctx context.Context) error {
	b.conn.Signal(b.signals)
	if err := b.conn.AddMatchSignalContext(ctx, watcherRule()...); err != nil {
		return fmt.Errorf("asking for news of panels: %w", err)
	}
	watched, err := b.owned(ctx, watcherName)
	b.watched = watched
	return err
}

func watcherRule() []dbus.MatchOption {
	return []dbus.MatchOption{
		dbus.WithMatchSender(busName), dbus.WithMatchInterface(busName),
		dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, watcherName),
	}
}

func (b *bus) owned(ctx context.Context, name string) (owned bool, err error) {
	err = b.conn.BusObject().CallWithContext(ctx, busName+".NameHasOwner", 0, name).Store(&owned)
	if err != nil {
		return false, fmt.Errorf("asking for %s: %w", name, err)
	}
	return owned, nil
}

// host is the name of the program that answers to the watcher's name; "" where that cannot be told.
func (b *bus) host(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var pid uint32
	if err := b.conn.BusObject().CallWithContext(ctx, busName+".GetConnectionUnixProcessID", 0, watcherName).Store(&pid); err != nil {
		return ""
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}

// gone is closed when the bus has ended.
func (b *bus) gone() <-chan struct{} { return b.conn.Context().Done() }

// awaitWatcher returns nil once a panel takes icons. late is called if that takes longer than patience.
func (b *bus) awaitWatcher(ctx context.Context, patience time.Duration, late func()) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for !b.watched {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-b.gone():
			return dbus.ErrClosed
		case <-timer.C:
			late()
		case signal, open := <-b.signals:
			if !open {
				return dbus.ErrClosed
			}
			b.watched = signal.Name == ownerChanged && len(signal.Body) == 3 && signal.Body[2] != ""
		}
	}
	// From here on the toolkit watches for itself; signals that nobody reads would pile up.
	b.conn.RemoveSignal(b.signals)
	return b.conn.RemoveMatchSignalContext(ctx, watcherRule()...)
}

func (b *bus) close() { b.conn.Close() }
