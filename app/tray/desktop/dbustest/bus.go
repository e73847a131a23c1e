// Package dbustest drives a tray icon over D-Bus the way a panel does, without a screen: a bus of the test's own, a
// StatusNotifierWatcher to register with, the menu as a person reads it, clicks, and a monitor that counts signals.
// It is for tests of package desktop and of programs that use it.
package dbustest

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"

	"chatwright.dev/tray/server/servertest"
)

// addressVariable tells a program where its session bus is.
const addressVariable = "DBUS_SESSION_BUS_ADDRESS"

// config is a session bus that starts no services: whatever is on it was put there by the test.
const config = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path=SOCKET</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`

// Bus is a session bus of the test's own.
type Bus struct {
	Address string
	process *exec.Cmd
}

// StartBus starts a dbus-daemon that ends with the test. Without one installed the test is skipped, or fails in CI.
func StartBus(t testing.TB) *Bus {
	t.Helper()
	program := servertest.Need(t, "dbus-daemon", "dbus")
	folder := shortFolder(t)
	file := filepath.Join(folder, "bus.conf")
	text := strings.Replace(config, "SOCKET", filepath.Join(folder, "s"), 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	process := exec.Command(program, "--config-file="+file, "--nofork", "--nopidfile", "--print-address=1")
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	b := &Bus{process: process}
	t.Cleanup(b.Kill)
	if b.Address, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("dbus-daemon did not say its address: %v", err)
	}
	b.Address = strings.TrimSpace(b.Address)
	return b
}

// Env is the environment for a program on this bus.
func (b *Bus) Env() []string { return EnvFor(b.Address) }

// Kill ends the bus at once, as the end of a desktop session does. It may be called twice.
func (b *Bus) Kill() {
	if b.process.ProcessState == nil {
		_ = b.process.Process.Kill() // gone already: that is what was wanted
		_ = b.process.Wait()
	}
}

// PID is the process of the bus, for tests that stop it for a while.
func (b *Bus) PID() int { return b.process.Process.Pid }

// connect opens a connection that ends with the test.
func (b *Bus) connect(t testing.TB) *dbus.Conn {
	t.Helper()
	conn, err := dbus.Connect(b.Address)
	if err != nil {
		t.Fatalf("connecting to the test's bus: %v", err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// EnvFor is the environment of this process with another address of the session bus; "" leaves it unset.
func EnvFor(address string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, addressVariable+"=") })
	if address == "" {
		return env
	}
	return append(env, addressVariable+"="+address)
}

// SilentBus returns the address of a socket that takes connections and never says a word.
func SilentBus(t testing.TB) string {
	t.Helper()
	socket := filepath.Join(shortFolder(t), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return "unix:path=" + socket // nobody accepts: the kernel has taken the connection all the same
}

// shortFolder is a folder whose path leaves room for a socket's name: 108 bytes are the limit, which t.TempDir can
// pass.
func shortFolder(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "bus")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

// HasOwner reports whether a name, or a connection, is on the bus.
func (b *Bus) HasOwner(t testing.TB, name string) (owned bool) {
	t.Helper()
	if err := b.connect(t).BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, name).Store(&owned); err != nil {
		t.Fatalf("asking for the owner of %s: %v", name, err)
	}
	return owned
}
