//go:build (linux && !android) || freebsd || openbsd || netbsd

package theme

import (
	"context"
	"os"
	"time"

	"github.com/godbus/dbus/v5"

	"chatwright.dev/tray/app/sessionbus"
)

const (
	portalName    = "org.freedesktop.portal.Desktop"
	portalPath    = "/org/freedesktop/portal/desktop"
	settings      = "org.freedesktop.portal.Settings"
	changed       = settings + ".SettingChanged"
	appearance    = "org.freedesktop.appearance"
	colourScheme  = "color-scheme"
	dialTimeout   = 2 * time.Second
	answerTimeout = 5 * time.Second // the portal may have to be started first
)

// Watch tells light, at once and at each change, whether the panel is light, until ctx ends. Without a session bus, or
// without a portal on it, it is told once, what files say. It returns nil.
func Watch(ctx context.Context, light func(bool)) error {
	look := now()
	dialling, cancel := context.WithTimeout(ctx, dialTimeout)
	conn, err := sessionbus.Dial(dialling)
	cancel()
	if err != nil {
		light(look.LightPanel())
		<-ctx.Done()
		return nil
	}
	defer func() { _ = conn.Close() }()
	signals := make(chan *dbus.Signal, 8)
	conn.Signal(signals)
	// Asked to be told before asked how it is, so that no change slips through between the two.
	_ = conn.AddMatchSignalContext(ctx, dbus.WithMatchInterface(settings), dbus.WithMatchMember("SettingChanged"), dbus.WithMatchArg(0, appearance))
	look.Scheme = askPortal(ctx, conn)
	light(look.LightPanel())
	for {
		select {
		case <-ctx.Done():
			return nil
		case signal, open := <-signals:
			if !open { // the desktop session is over
				<-ctx.Done()
				return nil
			}
			if scheme, ok := schemeIn(signal); ok {
				look = now()
				look.Scheme = scheme
				light(look.LightPanel())
			}
		}
	}
}

// now is what is known without asking anybody.
func now() Look {
	look := Look{Desktop: os.Getenv("XDG_CURRENT_DESKTOP")}
	if folder, err := os.UserConfigDir(); err == nil {
		look = look.fromFiles(folder)
	}
	return look
}

// askPortal asks for the person's preference. A portal that is not there, or does not know, has none.
func askPortal(ctx context.Context, conn *dbus.Conn) Scheme {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	portal := conn.Object(portalName, portalPath)
	var value dbus.Variant
	if portal.CallWithContext(ctx, settings+".ReadOne", 0, appearance, colourScheme).Store(&value) != nil {
		// The first version of the interface has no ReadOne, and wraps its answer twice.
		if portal.CallWithContext(ctx, settings+".Read", 0, appearance, colourScheme).Store(&value) != nil {
			return NoPreference
		}
	}
	return schemeOf(value)
}

func schemeIn(signal *dbus.Signal) (Scheme, bool) {
	if signal.Name != changed || len(signal.Body) != 3 || signal.Body[0] != appearance || signal.Body[1] != colourScheme {
		return NoPreference, false
	}
	value, ok := signal.Body[2].(dbus.Variant)
	return schemeOf(value), ok
}

func schemeOf(value dbus.Variant) Scheme {
	switch inner := value.Value().(type) {
	case dbus.Variant:
		return schemeOf(inner)
	case uint32:
		return Scheme(inner)
	}
	return NoPreference
}
