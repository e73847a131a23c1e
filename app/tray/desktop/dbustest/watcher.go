package dbustest

import (
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"
)

const (
	watcherName = "org.kde.StatusNotifierWatcher"
	watcherPath = "/StatusNotifierWatcher"
)

// Watcher stands for a panel: programs register their icon with it.
type Watcher struct {
	conn       *dbus.Conn
	registered chan registration
}

// registration is what one RegisterStatusNotifierItem call named: who, and under which path.
type registration struct {
	owner string
	path  dbus.ObjectPath
	at    time.Time
}

// StartWatcher brings up a panel on the bus.
func (b *Bus) StartWatcher(t testing.TB) *Watcher {
	t.Helper()
	w := &Watcher{conn: b.connect(t), registered: make(chan registration, 16)}
	methods := map[string]any{"RegisterStatusNotifierItem": w.register, "RegisterStatusNotifierHost": func(string) *dbus.Error { return nil }}
	if err := w.conn.ExportMethodTable(methods, watcherPath, watcherName); err != nil {
		t.Fatal(err)
	}
	_, err := prop.Export(w.conn, watcherPath, prop.Map{watcherName: {
		"IsStatusNotifierHostRegistered": {Value: true, Emit: prop.EmitTrue},
		"RegisteredStatusNotifierItems":  {Value: []string{}, Emit: prop.EmitTrue},
		"ProtocolVersion":                {Value: int32(0), Emit: prop.EmitTrue},
	}})
	if err != nil {
		t.Fatal(err)
	}
	takeName(t, w.conn, watcherName)
	return w
}

// register takes a path, as our toolkit sends it, or a bus name, as others do.
func (w *Watcher) register(service string, sender dbus.Sender) *dbus.Error {
	r := registration{owner: string(sender), path: dbus.ObjectPath(service), at: time.Now()}
	if !r.path.IsValid() {
		r.owner, r.path = service, "/StatusNotifierItem"
	}
	select {
	case w.registered <- r:
	default: // a test that does not look at so many registrations
	}
	return nil
}

// Stop takes the panel off the bus. Icons stay registered with nobody.
func (w *Watcher) Stop(t testing.TB) {
	t.Helper()
	if _, err := w.conn.ReleaseName(watcherName); err != nil {
		t.Fatal(err)
	}
}

// Registered waits for the next icon to register, and asks it nothing.
func (w *Watcher) Registered(t testing.TB, timeout time.Duration) *Item {
	t.Helper()
	select {
	case r := <-w.registered:
		return &Item{conn: w.conn, registration: r}
	case <-time.After(timeout):
		t.Fatalf("no icon was registered within %v", timeout)
		return nil
	}
}

// Item waits for the next icon to register and returns it, its menu read once. The toolkit cuts the first answer
// after the top level and announces the rest a little later; Item has waited for that too.
func (w *Watcher) Item(t testing.TB, timeout time.Duration) *Item {
	t.Helper()
	item := w.Registered(t, timeout)
	item.settle(t)
	return item
}

// ItemAt waits for the next icon like Item, and returns when it registered.
func (w *Watcher) ItemAt(t testing.TB, timeout time.Duration) time.Time {
	t.Helper()
	return w.Item(t, timeout).at
}

// NoItem fails the test when an icon registers within the given time.
func (w *Watcher) NoItem(t testing.TB, within time.Duration) {
	t.Helper()
	select {
	case r := <-w.registered:
		t.Fatalf("an icon was registered by %s", r.owner)
	case <-time.After(within):
	}
}
