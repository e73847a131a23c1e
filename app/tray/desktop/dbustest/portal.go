package dbustest

import (
	"sync/atomic"
	"testing"

	"github.com/godbus/dbus/v5"
)

const (
	portalName      = "org.freedesktop.portal.Desktop"
	portalPath      = "/org/freedesktop/portal/desktop"
	portalInterface = "org.freedesktop.portal.Settings"
	appearance      = "org.freedesktop.appearance"
	colourScheme    = "color-scheme"
)

// Portal stands for the desktop portal that tells whether a person prefers dark or light.
type Portal struct {
	conn   *dbus.Conn
	scheme atomic.Uint32
}

// StartPortal brings up a portal on the bus with that preference: 1 is dark, 2 light, 0 none. An old one has the first
// version of the interface, without ReadOne.
func (b *Bus) StartPortal(t testing.TB, scheme uint32, old bool) *Portal {
	t.Helper()
	p := &Portal{conn: b.connect(t)}
	p.scheme.Store(scheme)
	read := func(namespace, key string) (dbus.Variant, *dbus.Error) {
		if namespace != appearance || key != colourScheme {
			return dbus.Variant{}, dbus.NewError("org.freedesktop.portal.Error.NotFound", nil)
		}
		return dbus.MakeVariant(p.scheme.Load()), nil
	}
	methods := map[string]any{"Read": func(namespace, key string) (dbus.Variant, *dbus.Error) {
		value, err := read(namespace, key)
		return dbus.MakeVariant(value), err
	}}
	if !old {
		methods["ReadOne"] = read
	}
	if err := p.conn.ExportMethodTable(methods, portalPath, portalInterface); err != nil {
		t.Fatal(err)
	}
	takeName(t, p.conn, portalName)
	return p
}

// Set changes the preference and tells everybody.
func (p *Portal) Set(t testing.TB, scheme uint32) {
	t.Helper()
	p.scheme.Store(scheme)
	for _, change := range []struct{ namespace, key string }{{"org.gnome.desktop.interface", "clock-format"}, {appearance, colourScheme}} {
		if err := p.conn.Emit(portalPath, portalInterface+".SettingChanged", change.namespace, change.key, dbus.MakeVariant(scheme)); err != nil {
			t.Fatal(err)
		}
	}
}

// takeName comes last in making a service: who sees the name may call at once.
func takeName(t testing.TB, conn *dbus.Conn, name string) {
	t.Helper()
	reply, err := conn.RequestName(name, dbus.NameFlagDoNotQueue)
	if err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		t.Fatalf("taking the name %s: reply %v, error %v", name, reply, err)
	}
}
