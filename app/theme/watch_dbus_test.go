//go:build linux && !android

package theme_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"chatwright.dev/tray/app/theme"
	"chatwright.dev/tray/app/tray/desktop/dbustest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is for a machine under load.
const patience = 20 * time.Second

// watch follows the panel on that bus; next waits for what is told next.
func watch(t *testing.T, address, desktop, configFolder string) (next func() bool) {
	t.Helper()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", address)
	t.Setenv("XDG_CURRENT_DESKTOP", desktop)
	t.Setenv("XDG_CONFIG_HOME", configFolder)
	told := make(chan bool, 16)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- theme.Watch(ctx, func(light bool) { told <- light }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return func() bool {
		t.Helper()
		select {
		case light := <-told:
			return light
		case <-time.After(patience):
			t.Fatal("nothing was told")
			return false
		}
	}
}

func want(t *testing.T, got, light bool) {
	t.Helper()
	if got != light {
		t.Fatalf("light panel: got %v, want %v", got, light)
	}
}

func TestTheThemeIsFollowedAsItChanges(t *testing.T) {
	for name, old := range map[string]bool{"today's portal": false, "the first version": true} {
		t.Run(name, func(t *testing.T) {
			bus := dbustest.StartBus(t)
			portal := bus.StartPortal(t, 1, old)
			next := watch(t, bus.Address, "KDE", t.TempDir())
			want(t, next(), false)
			portal.Set(t, 2)
			want(t, next(), true)
			portal.Set(t, 1)
			want(t, next(), false)
		})
	}
}

func TestWithoutAPortalFilesTell(t *testing.T) {
	for _, c := range []struct {
		name, desktop, file, text string
		light                     bool
	}{
		{"KDE", "KDE", "kdeglobals", "[Colors:Window]\nBackgroundNormal=239,240,241\n", true},     //nolint:misspell // KDE's spelling
		{"KDE, dark", "KDE", "kdeglobals", "[Colors:Window]\nBackgroundNormal=42,46,50\n", false}, //nolint:misspell // KDE's spelling
		{"GTK", "MATE", "gtk-3.0/settings.ini", "[Settings]\ngtk-theme-name=Menta\n", true},
		{"GTK, dark", "MATE", "gtk-3.0/settings.ini", "[Settings]\ngtk-theme-name=Menta\ngtk-application-prefer-dark-theme=1\n", false},
		{"GNOME, whose panel is dark", "GNOME", "gtk-4.0/settings.ini", "[Settings]\ngtk-theme-name=Adwaita\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, filepath.FromSlash(c.file))
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(c.text), 0o600)); err != nil {
				t.Fatal(err)
			}
			want(t, watch(t, dbustest.StartBus(t).Address, c.desktop, folder)(), c.light)
		})
	}
}

// What a portal says counts more than files, and one that comes later is heard too.
func TestAPortalThatComesLaterIsHeard(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "kdeglobals"), []byte("[Colors:Window]\nBackgroundNormal=239,240,241\n"), 0o600); err != nil { //nolint:misspell // KDE's spelling
		t.Fatal(err)
	}
	bus := dbustest.StartBus(t)
	next := watch(t, bus.Address, "KDE", folder)
	want(t, next(), true)
	bus.StartPortal(t, 1, false).Set(t, 1)
	want(t, next(), false)
}

func TestWithoutABusFilesTell(t *testing.T) {
	want(t, watch(t, "unix:path=/nowhere", "KDE", t.TempDir())(), false)
}

func TestASessionThatEndsEndsNothing(t *testing.T) {
	bus := dbustest.StartBus(t)
	next := watch(t, bus.Address, "KDE", t.TempDir())
	want(t, next(), false)
	bus.Kill()
}
