package dbustest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	notificationsName = "org.freedesktop.Notifications"
	notificationsPath = "/org/freedesktop/Notifications"
)

// Notification is one that a program showed.
type Notification struct {
	ID                       uint32
	App, Icon, Summary, Body string
	Actions                  []string // key, label, key, label …
	Hints                    map[string]dbus.Variant
}

// Notifications stands for the part of a desktop that shows notifications.
type Notifications struct {
	conn   *dbus.Conn
	last   atomic.Uint32
	shown  chan Notification
	closed chan uint32
}

// StartNotifications brings one up on the bus that can do what capabilities name.
func (b *Bus) StartNotifications(t testing.TB, capabilities ...string) *Notifications {
	t.Helper()
	n := &Notifications{conn: b.connect(t), shown: make(chan Notification, 64), closed: make(chan uint32, 64)}
	methods := map[string]any{
		"GetCapabilities":   func() ([]string, *dbus.Error) { return capabilities, nil },
		"Notify":            n.notify,
		"CloseNotification": func(id uint32) *dbus.Error { n.closed <- id; return nil },
	}
	if err := n.conn.ExportMethodTable(methods, notificationsPath, notificationsName); err != nil {
		t.Fatal(err)
	}
	takeName(t, n.conn, notificationsName)
	return n
}

func (n *Notifications) notify(app string, replaces uint32, icon, summary, body string, actions []string, hints map[string]dbus.Variant, _ int32) (uint32, *dbus.Error) {
	id := replaces
	if id == 0 {
		id = n.last.Add(1)
	}
	n.shown <- Notification{ID: id, App: app, Icon: icon, Summary: summary, Body: body, Actions: actions, Hints: hints}
	return id, nil
}

// Next waits for the next notification.
func (n *Notifications) Next(t testing.TB, timeout time.Duration) Notification {
	t.Helper()
	select {
	case shown := <-n.shown:
		return shown
	case <-time.After(timeout):
		t.Fatalf("no notification came within %v", timeout)
		return Notification{}
	}
}

// None fails the test when a notification comes within the given time.
func (n *Notifications) None(t testing.TB, within time.Duration) {
	t.Helper()
	select {
	case shown := <-n.shown:
		t.Fatalf("a notification came: %+v", shown)
	case <-time.After(within):
	}
}

// Closed waits until a notification is taken back, and returns its ID.
func (n *Notifications) Closed(t testing.TB, timeout time.Duration) uint32 {
	t.Helper()
	select {
	case id := <-n.closed:
		return id
	case <-time.After(timeout):
		t.Fatalf("no notification was taken back within %v", timeout)
		return 0
	}
}

// Choose is a person who chooses an action of a notification, which closes it.
func (n *Notifications) Choose(t testing.TB, id uint32, action string) {
	t.Helper()
	if err := n.conn.Emit(notificationsPath, notificationsName+".ActionInvoked", id, action); err != nil {
		t.Fatal(err)
	}
	n.Dismiss(t, id)
}

// Dismiss is a person who closes a notification.
func (n *Notifications) Dismiss(t testing.TB, id uint32) {
	t.Helper()
	if err := n.conn.Emit(notificationsPath, notificationsName+".NotificationClosed", id, uint32(2)); err != nil {
		t.Fatal(err)
	}
}
