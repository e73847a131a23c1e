package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/timetest"
)

// patience bounds every wait of these tests. Nothing is expected to take a tenth of it.
const patience = 20 * time.Second

// builtProgram builds the program once for all tests of this run, as it is shipped: stripped, and without the race
// detector even where the tests have it, since the tray toolkit has a race of its own.
var builtProgram = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "cwbin")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "chatwright-tray")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, ".")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the program: %w\n%s", err, out)
	}
	return path, nil
})

// A user has a home, an environment and a PATH whose xdg-open writes down what it is asked to open.
type user struct {
	t      testing.TB
	home   string
	env    []string
	opened string // file: one URL a line
}

// newUser makes a user whose companion listens on a free port and talks to the demo model. env comes on top.
func newUser(t testing.TB, env ...string) *user {
	t.Helper()
	home, err := os.MkdirTemp("", "cw") // short: the path of a socket has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	u := &user{t: t, home: home, opened: filepath.Join(home, "opened")}
	bin := filepath.Join(home, "bin")
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" >> " + u.opened + "\n"
	if err := errorsOf(os.Mkdir(bin, 0o700), os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(script), 0o700)); err != nil {
		t.Fatal(err)
	}
	u.env = append([]string{
		"HOME=" + home, "TMPDIR=" + home, "CHATWRIGHT_HOME=" + filepath.Join(home, "c"),
		"PATH=" + bin + ":" + os.Getenv("PATH"),
		"CHATWRIGHT_SERVER_ADDR=127.0.0.1:0", "CHATWRIGHT_SERVER_UPSTREAM=demo",
		"CHATWRIGHT_RELEASE_URL=http://127.0.0.1:1/", // a companion that runs for long asks nobody
	}, env...)
	return u
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (u *user) command(args ...string) *exec.Cmd {
	u.t.Helper()
	program, err := builtProgram()
	if err != nil {
		u.t.Fatal(err)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = u.env
	cmd.Dir = u.home
	return cmd
}

// outcome is what a command printed and how it ended.
type outcome struct {
	stdout, stderr string
	code           int
}

// run runs a command to its end.
func (u *user) run(args ...string) outcome {
	u.t.Helper()
	cmd := u.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		u.t.Fatal(err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// A companion is a running chatwright-tray.
type companion struct {
	*user
	cmd    *exec.Cmd
	stderr *lockedBuffer
	ended  chan struct{} // closed once it has been waited for
	*client.Client
	status protocol.Status // when it was ready
}

// launch starts the program and waits until it answers on its socket. It is killed with the test if it still runs.
func (u *user) launch(args ...string) *companion {
	u.t.Helper()
	c := &companion{user: u, cmd: u.command(args...), stderr: &lockedBuffer{}, ended: make(chan struct{})}
	c.cmd.Stderr = c.stderr
	if err := c.cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	go func() { defer close(c.ended); _ = c.cmd.Wait() }()
	u.t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.ended
		if u.t.Failed() {
			u.t.Logf("the companion said:\n%s", c.stderr)
		}
	})
	c.Client, c.status = u.await(func(s protocol.Status) bool { return s.PID == c.cmd.Process.Pid && s.Phase != protocol.PhaseStarting })
	return c
}

// await waits until the daemon of this user has written daemon.json and answers with a status that is ok.
func (u *user) await(ok func(protocol.Status) bool) (*client.Client, protocol.Status) {
	u.t.Helper()
	daemon := client.New(filepath.Join(u.home, "c", "run", "control.sock"))
	discovery := filepath.Join(u.home, "c", "daemon.json")
	return daemon, timetest.Until(u.t, "a daemon that answers as it should", func() (protocol.Status, bool) {
		if _, err := os.Stat(discovery); err != nil {
			return protocol.Status{Detail: err.Error()}, false
		}
		s, err := daemon.Status(u.t.Context())
		if err != nil {
			return protocol.Status{Detail: err.Error()}, false
		}
		return s, ok(s)
	})
}

// awaitStatus waits until the status is as it should be.
func (c *companion) awaitStatus(what string, ok func(protocol.Status) bool) protocol.Status {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	var last protocol.Status
	err := c.StatusEvents(ctx, func(s protocol.Status) error {
		if last = s; ok(s) {
			return io.EOF
		}
		return nil
	}, nil)
	if err != io.EOF {
		c.t.Fatalf("the status does not show %s: %+v (%v)", what, last, err)
	}
	return last
}

func (c *companion) url(path string) string { return "http://" + c.status.Addr + path }

// exitCode waits for the end and returns the exit code.
func (c *companion) exitCode() int {
	c.t.Helper()
	select {
	case <-c.ended:
		return c.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		c.t.Fatal("the companion does not end")
		return -1
	}
}

func (c *companion) signal(s syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// chat makes one call and returns the status and the answer.
func (c *companion) chat(body string) (int, string) {
	c.t.Helper()
	resp, err := http.Post(c.url("/v1/chat/completions"), "application/json", strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

// aCall is the body of a plain call of the demo model.
const aCall = `{"model":"chatwright-demo","messages":[{"role":"user","content":"Hello"}]}`

// openedURLs waits until n URLs were opened and returns them.
func (u *user) openedURLs(n int) []string {
	u.t.Helper()
	return timetest.Until(u.t, fmt.Sprint(n, " URLs that are opened"), func() ([]string, bool) {
		text, _ := os.ReadFile(u.opened)
		urls := strings.Fields(string(text))
		return urls, len(urls) >= n
	})
}

// health asks whether an address answers as a companion.
func health(addr string) error {
	resp, err := http.Get("http://" + addr + "/health")
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	var h struct{ Name string }
	if err := json.NewDecoder(resp.Body).Decode(&h); err != nil {
		return err
	}
	if h.Name != "chatwright-server" {
		return fmt.Errorf("the name is %q", h.Name)
	}
	return nil
}

// lockedBuffer is a buffer that a process writes while the test reads.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// awaitText waits until a program has said a text.
func awaitText(t testing.TB, b *lockedBuffer, text string) {
	t.Helper()
	timetest.Until(t, strconv.Quote(text), func() (string, bool) { said := b.String(); return said, strings.Contains(said, text) })
}
