//go:build unix

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/servertest/timetest"
)

// startDaemon starts a daemon in the background and ends it with the test.
func (u *user) startDaemon(args ...string) protocol.Status {
	u.t.Helper()
	if got := u.run(append([]string{"start"}, args...)...); got.code != exitOK {
		u.t.Fatalf("start: %+v", got)
	}
	u.t.Cleanup(func() { u.run("stop") })
	return u.status()
}

func (u *user) status() (s protocol.Status) {
	u.t.Helper()
	if err := json.Unmarshal([]byte(u.run("status", "--json").stdout), &s); err != nil {
		u.t.Fatal(err)
	}
	return s
}

func wantSaid(t *testing.T, got outcome, code int, texts ...string) {
	t.Helper()
	if got.code != code {
		t.Errorf("exit code: got %d, want %d: %s", got.code, code, got.stderr)
	}
	for _, text := range texts {
		if !strings.Contains(got.stdout+got.stderr, text) {
			t.Errorf("it does not say %q:\n%s%s", text, got.stdout, got.stderr)
		}
	}
}

// As in "chatwright-tray --headless 2>&1 | head -1".
func TestDaemonOutlivesTheReaderOfItsOutput(t *testing.T) {
	u := newUser(t, "CHATWRIGHT_NO_BROWSER=1") // so that opening a page prints
	cmd := u.command("--headless")
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = writer
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	daemon, _ := u.await(func(s protocol.Status) bool { return s.Phase == protocol.PhaseRunning })
	_ = reader.Close()
	if _, err := daemon.Open(t.Context(), protocol.OpenConsole); err != nil {
		t.Errorf("open: %v", err)
	}
	if _, err := daemon.Status(t.Context()); err != nil {
		t.Errorf("after a write that nobody reads: %v", err)
	}
}

func TestCallsShowsTheNewestHoweverManyAreKept(t *testing.T) {
	u := newUser(t)
	s := u.startDaemon("--metrics-capacity=3000")
	var callers sync.WaitGroup
	for range 15 {
		callers.Go(func() {
			for range 70 {
				resp, err := http.Post("http://"+s.Addr+"/v1/chat/completions", "application/json", strings.NewReader(aCall))
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body) // so that the connection is kept
				_ = resp.Body.Close()
			}
		})
	}
	callers.Wait()
	if got := strings.Count(u.run("calls").stdout, "\n") - 1; got != 1050 {
		t.Errorf("got %d calls, want all 1050", got)
	}
}

func TestRestartWithBrokenSettingsLeavesTheDaemonRunning(t *testing.T) {
	u := newUser(t)
	before := u.startDaemon()
	for name, text := range map[string]string{"syntax": "addr = [", "a file that is missing": `datastate-fixtures = "none.json"`} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(u.home, "c", "tray.toml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := u.run("restart"); got.code == exitOK {
				t.Errorf("got %+v, want a failure", got)
			}
			if now := u.status(); now.InstanceID != before.InstanceID {
				t.Errorf("the daemon is another: got %s, want %s", now.InstanceID, before.InstanceID)
			}
		})
	}
}

// slowModel answers calls when release is closed.
func slowModel(t *testing.T) (url string, asked <-chan struct{}, release chan struct{}) {
	t.Helper()
	began := make(chan struct{}, 8)
	release = make(chan struct{})
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			began <- struct{}{}
			<-release
		}
		_, _ = w.Write([]byte(`{"object":"list","data":[]}`))
	}))
	t.Cleanup(model.Close)
	return model.URL + "/v1", began, release
}

func TestStartDuringAStopStartsTheNext(t *testing.T) {
	url, asked, release := slowModel(t)
	u := newUser(t, "CHATWRIGHT_SERVER_UPSTREAM="+url)
	before := u.startDaemon()
	go func() {
		resp, err := http.Post("http://"+before.Addr+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m"}`))
		if err == nil {
			_ = resp.Body.Close()
		}
	}()
	<-asked
	stopped := make(chan outcome, 1)
	go func() { stopped <- u.run("stop") }()
	u.await(func(s protocol.Status) bool { return s.Detail == "ending" })
	started := make(chan outcome, 1)
	go func() { started <- u.run("start") }()
	select {
	case got := <-started:
		t.Fatalf("start did not wait for the end of the one before: %+v", got)
	case <-time.After(300 * time.Millisecond):
	}
	close(release)
	wantSaid(t, <-stopped, exitOK)
	wantSaid(t, <-started, exitOK, "is ready on")
	if now := u.status(); now.InstanceID == before.InstanceID {
		t.Error("the daemon is still the one that was stopped")
	}
}

func TestStopsAtOnceAllSucceed(t *testing.T) {
	u := newUser(t)
	u.startDaemon()
	outcomes := make(chan outcome, 8)
	for range 8 {
		go func() { outcomes <- u.run("stop") }()
	}
	for range 8 {
		wantSaid(t, <-outcomes, exitOK)
	}
}

func TestStartStartsTheServerThatWasStopped(t *testing.T) {
	u := newUser(t)
	s := u.startDaemon()
	daemon, _ := u.await(func(protocol.Status) bool { return true })
	if err := daemon.Server(t.Context(), protocol.ServerStop); err != nil {
		t.Fatal(err)
	}
	wantSaid(t, u.run("start"), exitOK, "is ready on")
	if now := u.status(); now.Phase != protocol.PhaseRunning || now.InstanceID != s.InstanceID {
		t.Errorf("got %s, want the same daemon to run", now.Phase)
	}
}

// daemon.json is JSON, which holds no path that is not UTF-8.
func TestStateFolderThatIsNotUTF8(t *testing.T) {
	u := newUser(t)
	folder := u.home + "/\xff\xfe"
	if err := os.Mkdir(folder, 0o700); err != nil {
		servertest.Missing(t, "this file system takes only UTF-8: "+err.Error())
	}
	u.env = append(u.env, "CHATWRIGHT_HOME="+folder)
	if got := u.run("start"); got.code != exitOK {
		t.Fatalf("start: %+v", got)
	}
	wantSaid(t, u.run("status"), exitOK, "running")
	wantSaid(t, u.run("stop"), exitOK)
	wantSaid(t, u.run("status"), exitNotRunning)
}

func TestFoldersThatCannotBeUsedAreExplained(t *testing.T) {
	u := newUser(t)
	file := filepath.Join(u.home, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	long := filepath.Join(u.home, strings.Repeat("x", 120))
	for _, c := range []struct {
		name, folder, command string
		code                  int
		says                  string
	}{
		{"a file, status", file, "status", exitNotRunning, "is not running"},
		{"a file, stop", file, "stop", exitOK, "is not running"},
		{"too long, start", long, "start", exitFailed, "hint: choose a shorter one"},
		{"too long, status", long, "status", exitFailed, "hint: choose a shorter one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := u.run(c.command, "--state-dir="+c.folder)
			wantSaid(t, got, c.code, c.says)
			if strings.Contains(got.stderr, "may be running") {
				t.Errorf("there can be none:\n%s", got.stderr)
			}
		})
	}
}

// A daemon that hangs can only be ended by its process id, so that is named.
func TestDaemonThatHangsIsNamed(t *testing.T) {
	u := newUser(t)
	c := u.launch("--headless")
	c.signal(syscall.SIGSTOP)
	defer c.signal(syscall.SIGCONT)
	wantSaid(t, u.run("status"), exitFailed, "(pid "+strconv.Itoa(c.cmd.Process.Pid)+")")
}

func TestWatchSaysThatTheDaemonHasEnded(t *testing.T) {
	for _, command := range [][]string{{"status", "--watch"}, {"calls", "--follow"}} {
		t.Run(command[0], func(t *testing.T) {
			u := newUser(t)
			c := u.launch("--headless")
			watching := u.command(command...)
			var stderr, stdout lockedBuffer
			watching.Stderr, watching.Stdout = &stderr, &stdout
			if err := watching.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = watching.Process.Kill(); _ = watching.Wait() })
			c.chat(aCall)
			awaitText(t, &stdout, "2")
			c.signal(syscall.SIGKILL)
			awaitText(t, &stderr, "waiting for it to come back")
			next := u.launch("--headless")
			next.chat(aCall)
			next.chat(aCall)
			if command[0] == "calls" {
				timetest.Until(t, "the calls of the next daemon", func() (string, bool) {
					said := stdout.String()
					return said, strings.Count(said, "chatwright-demo") == 3
				})
			}
		})
	}
}

func TestOpenerThatFailsIsExplained(t *testing.T) {
	u := newUser(t)
	u.startDaemon()
	if err := os.WriteFile(filepath.Join(u.home, "bin", "xdg-open"), []byte("#!/bin/sh\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	wantSaid(t, u.run("open", "console"), exitFailed, "opening http://", "exit status 3", "hint: open the address yourself")
}

// Models and servers name themselves with what a terminal would obey.
func TestNothingForeignReachesTheTerminal(t *testing.T) {
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"error":{"message":"loading model \u001b[2J\u009b2J\u202e\u2028"}}`))
	}))
	t.Cleanup(model.Close)
	u := newUser(t, "CHATWRIGHT_SERVER_UPSTREAM="+model.URL+"/v1")
	s := u.startDaemon()
	body := `{"model":"m\u001b[31m\u009b2J\u202eX\u2028Y","messages":[]}`
	resp, err := http.Post("http://"+s.Addr+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	for _, args := range [][]string{{"calls"}, {"calls", "--json"}, {"status"}, {"status", "--json"}, {"\x1b[2J"}, {"start", "--addr=\x1b[2J"}} {
		got := u.run(args...)
		for _, bad := range []string{"\x1b", "\u009b", "\u202e", "\u2028"} {
			if strings.Contains(got.stdout+got.stderr, bad) {
				t.Errorf("%q prints %q:\n%q", args, bad, got.stdout+got.stderr)
			}
		}
	}
}

// Whoever starts the companion while the one before ends wants one that stays.
func TestSecondLaunchDuringTheEndTakesThePlace(t *testing.T) {
	url, asked, release := slowModel(t)
	u := newUser(t, "CHATWRIGHT_SERVER_UPSTREAM="+url, "DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere")
	first := u.launch("--headless")
	go func() {
		resp, err := http.Post(first.url("/v1/chat/completions"), "application/json", strings.NewReader(`{"model":"m"}`))
		if err == nil {
			_ = resp.Body.Close()
		}
	}()
	<-asked
	first.signal(syscall.SIGTERM)
	u.await(func(s protocol.Status) bool { return s.Detail == "ending" })
	time.AfterFunc(300*time.Millisecond, func() { close(release) }) // while the second waits
	second := u.launch()
	if got := first.exitCode(); got != exitOK {
		t.Errorf("the first: got exit code %d, want %d", got, exitOK)
	}
	if _, err := os.Stat(u.opened); err == nil {
		t.Error("a page was opened on a companion that is gone")
	}
	second.signal(syscall.SIGTERM)
	if got := second.exitCode(); got != exitOK {
		t.Errorf("the second: got exit code %d, want %d", got, exitOK)
	}
}
