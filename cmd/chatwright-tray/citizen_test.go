//go:build unix

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"chatwright.dev/tray/app/tray/desktop/dbustest"
	"chatwright.dev/tray/server/protocol"
)

// The truth is the system's.
func TestStartAtLoginIsARowOfTheMenu(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c, item := d.launchOn(t, "XDG_CURRENT_DESKTOP=XFCE", "XDG_CONFIG_DIRS=/nowhere")
	entry := filepath.Join(c.home, ".config", "autostart", "dev.chatwright.tray.desktop")
	checked := func(want bool) {
		t.Helper()
		item.Await(t, patience, "the row as it should be", func(m dbustest.Menu) bool {
			row, found := m.Find("Start at login")
			return found && row.Enabled && row.Checked == want
		})
	}
	checked(false)
	if _, err := os.Stat(entry); err == nil {
		t.Error("it was switched on unasked")
	}
	item.Click(t, "Start at login")
	checked(true)
	text, err := os.ReadFile(entry)
	if err != nil || !strings.Contains(string(text), "--state-dir="+filepath.Join(c.home, "c")+"\n") {
		t.Errorf("the entry: got\n%s%v", text, err)
	}
	// The desktop's own settings switch it off; it is seen when the menu is opened.
	if err := os.WriteFile(entry, append(text, "Hidden=true\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	item.Open(t)
	checked(false)
	if got := c.run("autostart", "on"); got.code != exitOK { // and the command tells the companion
		t.Fatalf("autostart on: %+v", got)
	}
	checked(true)
	item.Click(t, "Start at login")
	checked(false)
	if _, err := os.Stat(entry); err == nil {
		t.Error("the entry is still there")
	}
}

// A model server that is down is told of on the desktop once, with what to do; a click on the notification opens the
// console, and it goes when the cause does.
func TestWhatNeedsTheUserIsANotification(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	notifications := d.bus.StartNotifications(t, "actions", "body")
	addr := freeAddr(t)
	c, _ := d.launchOn(t, "CHATWRIGHT_SERVER_UPSTREAM=http://"+addr+"/v1")
	c.awaitStatus("the upstream that is down", func(s protocol.Status) bool { return s.Upstream.Reach == protocol.ReachDown })
	caused := time.Now()
	shown := notifications.Next(t, patience)
	if took := time.Since(caused); took > 10*time.Second { // it waits for two, in case that the cause is over by then
		t.Errorf("it was told of %v after its cause", took)
	}
	if !strings.Contains(shown.Summary, addr) || !strings.Contains(shown.Body, "demo model") {
		t.Errorf("got %q, %q, want which server it is, and the way out", shown.Summary, shown.Body)
	}
	if want := []string{"default", "Open console", "log", "Open log"}; !slices.Equal(shown.Actions, want) {
		t.Errorf("actions: got %q, want %q", shown.Actions, want)
	}
	if shown.App != "Chatwright Tray" || shown.Icon != "chatwright-tray" || shown.Hints["desktop-entry"].Value() != "dev.chatwright.tray" {
		t.Errorf("got %q with icon %q and hints %v", shown.App, shown.Icon, shown.Hints)
	}
	if status, _ := c.chat(aCall); status != http.StatusBadGateway { // the same cause again
		t.Errorf("a call: got status %d", status)
	}
	notifications.None(t, 500*time.Millisecond)
	notifications.Choose(t, shown.ID, "log")
	if got, want := c.openedURLs(1)[0], filepath.Join(c.home, "c", "server.log"); got != want {
		t.Errorf("opened %s, want %s", got, want)
	}
}

// A click that failed has its answer in the menu, and whoever wants none gets none.
func TestNotificationsCanBeOff(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	notifications := d.bus.StartNotifications(t, "actions")
	addr := freeAddr(t)
	u := newUser(t, busEnv(d.bus.Address), "CHATWRIGHT_SERVER_UPSTREAM=http://"+addr+"/v1")
	config := filepath.Join(u.home, "c", "tray.toml")
	write := func(text string) {
		t.Helper()
		if err := errorsOf(os.MkdirAll(filepath.Dir(config), 0o700), os.WriteFile(config, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("notifications = false\n")
	c := u.launch()
	d.watcher.Item(t, patience)
	c.awaitStatus("the upstream that is down", func(s protocol.Status) bool { return s.Upstream.Reach == protocol.ReachDown })
	notifications.None(t, 3*time.Second) // what lasts two seconds would be told
	write("notifications = true\n")
	c.signal(syscall.SIGHUP)
	if shown := notifications.Next(t, patience); !strings.Contains(shown.Summary, addr) {
		t.Errorf("got %q", shown.Summary)
	}
	write("notifications = false\n")
	c.signal(syscall.SIGHUP)
	notifications.Closed(t, patience)
}

func TestANewReleaseIsToldOfOnce(t *testing.T) {
	t.Parallel()
	const known = `{"release": {"asked": "2999-01-01T00:00:00Z", "version": "99.0.0", "url": "https://releases.test/99"}}`
	d := newDesk(t)
	notifications := d.bus.StartNotifications(t, "actions")
	u := newUser(t, busEnv(d.bus.Address))
	if err := errorsOf(os.Mkdir(filepath.Join(u.home, "c"), 0o700), os.WriteFile(filepath.Join(u.home, "c", "state.json"), []byte(known), 0o600)); err != nil {
		t.Fatal(err)
	}
	c := u.launch()
	item := d.watcher.Item(t, patience)
	shown := notifications.Next(t, patience)
	if shown.Summary != "Chatwright Tray 99.0.0 is available" {
		t.Errorf("got %q", shown.Summary)
	}
	notifications.Choose(t, shown.ID, "default")
	item.Click(t, "Version 99.0.0 is available")
	if got := c.openedURLs(2); got[0] != "https://releases.test/99" || got[1] != got[0] {
		t.Errorf("opened %q", got)
	}
	c.signal(syscall.SIGINT)
	c.exitCode()

	u.launch()
	d.watcher.Item(t, patience).AwaitLabel(t, patience, "Version 99.0.0 is available")
	notifications.None(t, 3*time.Second)
}

// On a desktop without a place for the icon, whoever started it from a menu has no terminal in which to be told why.
func TestAMissingPanelIsToldOfOnce(t *testing.T) {
	t.Parallel()
	bus := dbustest.StartBus(t)
	notifications := bus.StartNotifications(t)
	u := newUser(t, busEnv(bus.Address), "XDG_CURRENT_DESKTOP=ubuntu:GNOME")
	c := u.launch()
	if shown := notifications.Next(t, patience); !strings.Contains(shown.Body, "nstall gnome-shell-extension-appindicator") {
		t.Errorf("got %q, %q", shown.Summary, shown.Body)
	}
	c.signal(syscall.SIGINT)
	notifications.Closed(t, patience)
	c.exitCode()
	c = u.launch()
	notifications.None(t, 8*time.Second) // five for the panel, two for what might pass
	if !strings.Contains(c.stderr.String(), "gnome-shell-extension-appindicator") {
		t.Errorf("it is still said where it was started; got %q", c.stderr)
	}
}
