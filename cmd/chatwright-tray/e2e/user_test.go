//go:build unix

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/timetest"
)

// binaries is the folder of the program under test, for as long as the tests run.
var binaries string

// builtProgram builds the program once for all tests of this run.
var builtProgram = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binaries, "chatwright-tray")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "chatwright.dev/tray/cmd/chatwright-tray")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the program: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "cwe2e")
	if err != nil {
		panic(err)
	}
	binaries = folder
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// A user has a home that nothing else knows, a program, and a daemon once it is started.
type user struct {
	t       testing.TB
	home    string
	program string
	env     []string
	daemon  *client.Client
	pid     int
}

func newUser(t testing.TB) *user {
	t.Helper()
	program, err := builtProgram()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("", "cw") // short: the path of a socket has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	in := func(name string) string { return filepath.Join(home, name) }
	for _, folder := range []string{"t", "work", "r"} {
		if err := os.Mkdir(in(folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return &user{t: t, home: home, program: program, env: []string{
		"HOME=" + home, "TMPDIR=" + in("t"), "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8", "TZ=UTC",
		"XDG_CONFIG_HOME=" + in("config"), "XDG_STATE_HOME=" + in("state"), "XDG_CACHE_HOME=" + in("cache"),
		"XDG_DATA_HOME=" + in("data"), "XDG_RUNTIME_DIR=" + in("r"), "DBUS_SESSION_BUS_ADDRESS=", "DISPLAY=",
		"CHATWRIGHT_SERVER_ADDR=127.0.0.1:0", "CHATWRIGHT_SERVER_UPSTREAM=demo", "CHATWRIGHT_NO_BROWSER=1",
		"CHATWRIGHT_PARENT_PID=" + fmt.Sprint(os.Getpid()),
	}}
}

// as is the user for the time of another test.
func (u *user) as(t testing.TB) *user {
	v := *u
	v.t = t
	return &v
}

func (u *user) command(args ...string) *exec.Cmd {
	cmd := exec.Command(u.program, args...)
	cmd.Env = u.env
	cmd.Dir = filepath.Join(u.home, "work")
	return cmd
}

// run runs a command to its end.
func (u *user) run(args ...string) outcome {
	u.t.Helper()
	return outcomeOf(u.t, u.command(args...))
}

// must runs a command that has to succeed and returns what it printed.
func (u *user) must(args ...string) string {
	u.t.Helper()
	got := u.run(args...)
	if got.code != 0 {
		u.t.Fatalf("%v: exit %d, %s", args, got.code, got.stderr)
	}
	return got.stdout
}

// start starts a daemon. When the test ends it is asked to end, and has to do so by itself.
func (u *user) start() {
	u.t.Helper()
	u.must("start")
	u.meet()
	u.t.Cleanup(u.stop)
}

// meet finds the daemon that runs.
func (u *user) meet() {
	u.t.Helper()
	u.daemon = client.New(filepath.Join(u.home, "r", "chatwright", "control.sock"))
	status, err := u.daemon.Status(u.ctx())
	if err != nil {
		u.t.Fatal(err)
	}
	u.pid = status.PID
}

func (u *user) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	u.t.Cleanup(cancel)
	return ctx
}

// stop asks the daemon to end and waits for its process. One that has to be killed fails the test.
func (u *user) stop() {
	got := outcomeOf(u.t, u.command("stop"))
	if got.code != 0 {
		u.t.Errorf("stop: exit %d, %s", got.code, got.stderr)
	}
	if !gone(u.pid) {
		_ = syscall.Kill(u.pid, syscall.SIGKILL)
		u.t.Errorf("the daemon (pid %d) did not end when it was asked to: it was killed", u.pid)
	}
	if u.t.Failed() {
		log, _ := os.ReadFile(filepath.Join(u.home, "state", "chatwright", "server.log"))
		u.t.Logf("the daemon's log:\n%s", log)
	}
}

// gone waits for a process to be gone and reports whether it is.
func gone(pid int) bool {
	_, gone := timetest.Within(patience, func() (string, bool) {
		if err := syscall.Kill(pid, 0); err != nil {
			return "", true
		}
		state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return string(state), strings.Contains(string(state), ") Z ") // a zombie: somebody else is to wait for it
	})
	return gone
}

// upstream adds a named upstream.
func (u *user) upstream(name, baseURL string) {
	u.t.Helper()
	key := "key-of-" + name
	_, err := u.daemon.PutUpstream(u.ctx(), name, protocol.PutUpstreamRequest{BaseURL: baseURL, APIKey: &key, Model: "scripted-1"})
	if err != nil {
		u.t.Fatal(err)
	}
}

// session begins a session whose model is that of a scenario, and returns its id.
func (u *user) session(scenario string) string {
	u.t.Helper()
	var made struct{ Session string }
	out := u.must("session", "new", ".", "--upstream", scenario)
	if err := json.Unmarshal([]byte(out), &made); err != nil || made.Session == "" {
		u.t.Fatalf("session new printed %q", out)
	}
	return made.Session
}

// attach opens the terminal client.
func (u *user) attach(id string, columns, rows int) *terminal {
	u.t.Helper()
	return open(u.t, u.command("session", "attach", id), columns, rows)
}

// events are those that a session has.
func (u *user) events(id string) (all []protocol.Event) {
	u.t.Helper()
	for from := uint64(1); ; {
		page, err := u.daemon.Events(u.ctx(), id, from)
		if err != nil {
			u.t.Fatal(err)
		}
		if len(page.Events) == 0 {
			return all
		}
		all = append(all, page.Events...)
		from = page.Next
	}
}

// contiguous fails where an event is missing, or there twice.
func (u *user) contiguous(events []protocol.Event) {
	u.t.Helper()
	for i, e := range events {
		if e.Seq != uint64(i)+1 {
			u.t.Fatalf("event %d has the number %d", i+1, e.Seq)
		}
	}
}
