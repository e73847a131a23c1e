//go:build linux

package desktop_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"chatwright.dev/tray/app/tray/desktop/dbustest"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/servertest/timetest"
)

// desktop-facts.md: no bus, a bus that is none, and a bus that is silent. The daemon runs on, hears why there is no
// icon, and ends when it is told to.
func TestWithoutABusTheProgramRunsOnAndSaysWhy(t *testing.T) {
	for _, c := range []struct{ name, address string }{
		{"the address is garbage", "garbage"},
		{"the transport is unknown", "carrier-pigeon:loft=3"},
		{"it would have to be started", "autolaunch:"},
		{"nobody is there", "unix:path=/nonexistent/bus"},
		{"nobody listens on the port", "tcp:host=127.0.0.1,port=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.address == "autolaunch:" {
				mustHaveNoUserBus(t)
			}
			child := startChild(t, dbustest.EnvFor(c.address))
			child.show(running())
			got := child.says("unavailable", soon)
			if !strings.Contains(got, "no session bus: ") || !strings.Contains(got, "--headless") {
				t.Errorf("got %q, want the reason and the way out", got)
			}
			child.ends(soon)
		})
	}
}

func TestASilentBusIsGivenTwoSeconds(t *testing.T) {
	t.Parallel()
	child := startChild(t, dbustest.EnvFor(dbustest.SilentBus(t)))
	start := time.Now()
	child.show(running())
	child.says("unavailable no session bus: it does not answer | ", soon)
	if took := time.Since(start); took < 1500*time.Millisecond || took > 4*time.Second {
		t.Errorf("it was given up after %v, want about 2 s", took)
	}
	child.ends(soon)
}

func TestEndingDoesNotWaitForASilentBus(t *testing.T) {
	t.Parallel()
	child := startChild(t, dbustest.EnvFor(dbustest.SilentBus(t)))
	child.show(running())
	child.ends(1500 * time.Millisecond)
}

// desktop-facts.md: with dbus-launch on PATH and no address, godbus would start a stray bus daemon.
func TestNoStrayBusIsStarted(t *testing.T) {
	mustHaveNoUserBus(t)
	t.Parallel()
	folder := t.TempDir()
	trace := filepath.Join(folder, "started")
	script := fmt.Sprintf("#!/bin/sh\n: >%s\n", trace)
	if err := os.WriteFile(filepath.Join(folder, "dbus-launch"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	child := startChild(t, append(dbustest.EnvFor(""), "PATH="+folder+":"+os.Getenv("PATH")))
	child.show(running())
	child.says("unavailable no session bus: ", soon)
	child.ends(soon)
	if _, err := os.Stat(trace); err == nil {
		t.Error("dbus-launch was run")
	}
}

// mustHaveNoUserBus skips a test that would put an icon on the bus of the person who runs it.
func mustHaveNoUserBus(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(fmt.Sprintf("/run/user/%d/bus", os.Getuid())); err == nil {
		servertest.Missing(t, "this user has a session bus at its usual place, which is found without an address")
	}
}

// tray.md: no watcher within 5 s: one line says what to install, and the icon appears when a watcher does.
func TestALatePanelGetsTheIcon(t *testing.T) {
	for _, c := range []struct{ desktop, way string }{
		{"ubuntu:GNOME", "install gnome-shell-extension-appindicator"},
		{"XFCE", "add the status tray to your panel"},
	} {
		t.Run(c.desktop, func(t *testing.T) {
			t.Parallel()
			bus := dbustest.StartBus(t)
			child := startChild(t, append(bus.Env(), "XDG_CURRENT_DESKTOP="+c.desktop))
			start := time.Now()
			child.show(running())
			got := child.says("unavailable", soon)
			if took := time.Since(start); took < 4500*time.Millisecond {
				t.Errorf("it was said after %v; sessions start their programs and their panel at the same time", took)
			}
			if !strings.Contains(got, "no panel") || !strings.Contains(got, c.way) {
				t.Errorf("got %q, want the reason and %q", got, c.way)
			}
			watcher := bus.StartWatcher(t)
			item := watcher.Item(t, soon)
			item.Click(t, "Open Studio")
			child.says("click OpenStudio", soon)
			child.ends(soon)
		})
	}
}

func TestAPanelThatIsALittleLateIsNoTrouble(t *testing.T) {
	t.Parallel()
	bus := dbustest.StartBus(t)
	child := startChild(t, bus.Env())
	child.show(running())
	timetest.Pause(300*time.Millisecond, "the panel takes its time")
	watcher := bus.StartWatcher(t)
	watcher.Item(t, soon).AwaitLabel(t, soon, "Open Studio")
	child.ends(soon) // and it has said nothing of an icon that is not there
}

// The icon appears with the first view, not before there is something to show.
func TestWithoutAViewThereIsNoIcon(t *testing.T) {
	t.Parallel()
	bus := dbustest.StartBus(t)
	watcher := bus.StartWatcher(t)
	child := startChild(t, bus.Env())
	watcher.NoItem(t, 500*time.Millisecond)
	child.show(running())
	watcher.Item(t, soon)
	child.ends(soon)
}

// desktop-facts.md: once the bus is gone systray.SetIcon panics; the daemon must live on and ending must still work.
// The bus dies in the middle of changes to everything, many times, since it is a race.
func TestTheProgramOutlivesItsBus(t *testing.T) {
	for n := range 6 {
		t.Run(fmt.Sprint("death ", n+1), func(t *testing.T) {
			c, _, bus := started(t, running())
			c.send(order{Flood: time.Second})
			timetest.Pause(time.Duration(n)*130*time.Millisecond, "somewhere in the flood")
			bus.Kill()
			if got := c.says("unavailable", soon); !strings.Contains(got, "the session bus ended") {
				t.Errorf("got %q, want the reason", got)
			}
			c.says("flooded", soon) // it still shows views, to nobody
			c.ends(soon)
		})
	}
}

func TestABusThatDiesBeforeThereIsAPanelIsNoTrouble(t *testing.T) {
	t.Parallel()
	// On a busy machine the bus dies before the program has come to wait for a panel, and then it is given longer.
	for wait := 200 * time.Millisecond; wait < soon; wait *= 2 {
		bus := dbustest.StartBus(t)
		child := startChild(t, bus.Env())
		child.show(running())
		timetest.Pause(wait, "nothing tells when the program has come to wait for a panel")
		bus.Kill()
		got := child.says("unavailable", soon)
		child.ends(soon)
		if strings.HasPrefix(got, "unavailable the session bus ended") {
			return
		}
	}
	t.Error("the program never said that the bus ended")
}

// A bus that stops reading blocks whoever writes to it: the end must not wait for it.
func TestEndingDoesNotWaitForABusThatIsStuck(t *testing.T) {
	c, _, bus := started(t, running())
	if err := syscall.Kill(bus.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	c.send(order{Flood: time.Second})
	c.says("flooded", soon)
	start := time.Now()
	c.in.Close()
	c.says("ended <nil>", soon)
	if took := time.Since(start); took > 2500*time.Millisecond {
		t.Errorf("ending took %v, want about 1 s", took)
	}
}

func TestEndingAtAnyMomentOfTheStartIsClean(t *testing.T) {
	t.Parallel()
	bus := dbustest.StartBus(t)
	bus.StartWatcher(t)
	for n := range 20 {
		child := startChild(t, bus.Env())
		child.show(running())
		timetest.Pause(time.Duration(n)*time.Millisecond, "the whole start takes about ten")
		child.ends(soon)
	}
}
