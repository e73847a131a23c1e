//go:build linux && !android

package notify_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"chatwright.dev/tray/app/notify"
	"chatwright.dev/tray/app/tray/desktop/dbustest"
)

const patience = 20 * time.Second

type choice struct{ cause, action string }

// onBus runs a notifier on a bus of the test's own.
func onBus(t *testing.T, bus *dbustest.Bus) (n *notify.Notifier, chosen chan choice) {
	t.Helper()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", bus.Address)
	chosen = make(chan choice, 8)
	n = notify.New(notify.Config{App: "Chatwright Tray", Entry: "chatwright-tray", Chosen: func(cause, action string) { chosen <- choice{cause, action} }})
	n.Hasten()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return n, chosen
}

func TestANotificationWithActions(t *testing.T) {
	bus := dbustest.StartBus(t)
	panel := bus.StartNotifications(t, "body", "actions", "body-markup")
	n, chosen := onBus(t, bus)
	n.Show([]notify.Notice{{Cause: "studio", Title: "Studio was not updated", Body: "a < b & c", Actions: []notify.Action{{ID: "update", Label: "Update"}, {ID: "log", Label: "Open log"}}}})
	got := panel.Next(t, patience)
	if got.App != "Chatwright Tray" || got.Summary != "Studio was not updated" || got.Body != "a &lt; b &amp; c" ||
		!slices.Equal(got.Actions, []string{"update", "Update", "log", "Open log"}) || got.Hints["desktop-entry"].Value() != "chatwright-tray" {
		t.Errorf("got %+v", got)
	}
	panel.Choose(t, 4711, "log") // of another program
	panel.Choose(t, got.ID, "update")
	if c := <-chosen; c != (choice{"studio", "update"}) {
		t.Errorf("got %+v", c)
	}
	n.Show([]notify.Notice{{Cause: "studio", Title: "Studio was not updated"}, {Cause: "port", Title: "The port is held"}})
	other := panel.Next(t, patience)
	n.Show(nil)
	if id := panel.Closed(t, patience); id != other.ID {
		t.Errorf("%d was taken back, want %d: the first was closed by the person", id, other.ID)
	}
}

func TestAPlainDesktopGetsPlainText(t *testing.T) {
	bus := dbustest.StartBus(t)
	panel := bus.StartNotifications(t, "body")
	n, _ := onBus(t, bus)
	n.Show([]notify.Notice{{Cause: "x", Title: "x", Body: "a < b", Actions: []notify.Action{{ID: "log", Label: "Open log"}}}})
	if got := panel.Next(t, patience); got.Body != "a < b" || len(got.Actions) != 0 {
		t.Errorf("got %+v, want plain text and no actions", got)
	}
}

func TestAtTheEndNotificationsAreTakenBack(t *testing.T) {
	bus := dbustest.StartBus(t)
	panel := bus.StartNotifications(t)
	var shown dbustest.Notification
	t.Run("run", func(t *testing.T) {
		n, _ := onBus(t, bus)
		n.Show([]notify.Notice{{Cause: "x", Title: "x"}})
		shown = panel.Next(t, patience)
	})
	if id := panel.Closed(t, patience); id != shown.ID {
		t.Errorf("got %d, want %d", id, shown.ID)
	}
}

func TestASessionThatEndsEndsNothing(t *testing.T) {
	bus := dbustest.StartBus(t)
	panel := bus.StartNotifications(t)
	n, _ := onBus(t, bus)
	n.Show([]notify.Notice{{Cause: "x", Title: "x"}})
	panel.Next(t, patience)
	bus.Kill()
	n.Show(nil)
}
