//go:build linux && !android

package theme_test

import (
	"context"
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
func watch(t *testing.T, address, configFolder string) (next func() bool) {
	t.Helper()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", address)
	t.Setenv("XDG_CURRENT_DESKTOP", "KDE")
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
			next := watch(t, bus.Address, t.TempDir())
			want(t, next(), false)
			portal.Set(t, 2)
			want(t, next(), true)
			portal.Set(t, 1)
			want(t, next(), false)
		})
	}
}

func TestWithoutAPortalFilesTell(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "kdeglobals"), []byte("[Colors:Window]\nBackgroundNormal=239,240,241\n"), 0o600); err != nil { //nolint:misspell // KDE's spelling
		t.Fatal(err)
	}
	bus := dbustest.StartBus(t)
	next := watch(t, bus.Address, folder)
	want(t, next(), true)
	bus.StartPortal(t, 1, false).Set(t, 1) // one that comes later is heard too
	want(t, next(), false)
}

func TestWithoutABusFilesTell(t *testing.T) {
	want(t, watch(t, "unix:path=/nowhere", t.TempDir())(), false)
}

func TestASessionThatEndsEndsNothing(t *testing.T) {
	bus := dbustest.StartBus(t)
	next := watch(t, bus.Address, t.TempDir())
	want(t, next(), false)
	bus.Kill()
}
