package main

import (
	"bufio"
	"io"
	"net/http"
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

func TestHeadlessOnAHeldPort(t *testing.T) {
	t.Parallel()
	t.Run("a stranger's: exit 1, with program and pid", func(t *testing.T) {
		t.Parallel()
		stranger := listen(t)
		got := newUser(t, "CHATWRIGHT_SERVER_ADDR="+stranger.Addr().String()).run("--headless")
		if got.code != exitFailed {
			t.Errorf("exit code: got %d, want %d", got.code, exitFailed)
		}
		for _, want := range []string{"error: listening on " + stranger.Addr().String(), "(pid ", "hint: "} {
			if !strings.Contains(got.stderr, want) {
				t.Errorf("it says %q, without %q", got.stderr, want)
			}
		}
	})
	t.Run("another companion's: exit 4", func(t *testing.T) {
		t.Parallel()
		first := newUser(t).launch("--headless")
		got := newUser(t, "CHATWRIGHT_SERVER_ADDR="+first.status.Addr).run("--headless")
		if got.code != exitAlreadyRunning || !strings.Contains(got.stderr, "another Chatwright server is running on "+first.status.Addr) {
			t.Errorf("got exit %d, %q", got.code, got.stderr)
		}
	})
	t.Run("start says why, and leaves nothing behind", func(t *testing.T) {
		t.Parallel()
		stranger := listen(t)
		u := newUser(t, "CHATWRIGHT_SERVER_ADDR="+stranger.Addr().String())
		got := u.run("start")
		if got.code != exitFailed || !strings.Contains(got.stderr, "error: listening on "+stranger.Addr().String()) || strings.Contains(got.stderr, "ready") {
			t.Errorf("got exit %d, %q", got.code, got.stderr)
		}
		if got := u.run("status").code; got != exitNotRunning {
			t.Errorf("status afterwards: exit %d, want %d", got, exitNotRunning)
		}
	})
}

// Named after the original's fault: concurrent starts leave an orphan.
func TestFourConcurrentStartsMakeOneDaemon(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	var starts sync.WaitGroup
	outcomes := make([]outcome, 4)
	for i := range outcomes {
		starts.Go(func() { outcomes[i] = u.run("start") })
	}
	starts.Wait()
	_, status := u.await(func(protocol.Status) bool { return true })
	t.Cleanup(func() { u.run("stop") })
	started := 0
	for _, got := range outcomes {
		switch got.code {
		case exitOK:
			started++
		case exitAlreadyRunning:
		default:
			t.Errorf("a start ended with %d: %s", got.code, got.stderr)
		}
	}
	if started != 1 {
		t.Errorf("starts that say they started one: got %d, want 1: %+v", started, outcomes)
	}
	if err := health(status.Addr); err != nil {
		t.Error(err)
	}
	if others := daemonsOf(t, u.home, status.PID); len(others) > 0 {
		t.Errorf("daemons besides pid %d: %v", status.PID, others)
	}
}

// daemonsOf lists the processes, besides pid, whose environment has that home.
func daemonsOf(t *testing.T, home string, pid int) (found []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(files) == 0 {
		servertest.Missing(t, "the system does not list processes under /proc: mount it (mount -t proc proc /proc)")
	}
	for _, file := range files {
		environ, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(environ), "CHATWRIGHT_HOME="+home) {
			if other := filepath.Base(filepath.Dir(file)); other != strconv.Itoa(pid) {
				found = append(found, other)
			}
		}
	}
	return found
}

func TestGracefulEnd(t *testing.T) {
	t.Parallel()
	// The three shutdown tests: a stream that is open and a call that is slow, each way to end.
	for name, test := range map[string]struct {
		end  func(t *testing.T, c *companion, finish func())
		code int
		// whole says whether the calls in flight get their whole answer.
		whole bool
	}{
		"a signal: calls in flight finish": {
			end: func(t *testing.T, c *companion, finish func()) {
				c.signal(syscall.SIGTERM)
				refusesNew(t, c)
				finish()
			}, code: exitOK, whole: true,
		},
		"stop: calls in flight finish": {
			end: func(t *testing.T, c *companion, finish func()) {
				stopped := make(chan outcome, 1)
				go func() { stopped <- c.run("stop") }()
				refusesNew(t, c)
				finish()
				if got := <-stopped; got.code != exitOK {
					t.Errorf("stop: exit %d, %s", got.code, got.stderr)
				}
			}, code: exitOK, whole: true,
		},
		"a second signal: at once, with broken framing": {
			end: func(t *testing.T, c *companion, _ func()) {
				c.signal(syscall.SIGTERM)
				refusesNew(t, c)
				c.signal(syscall.SIGTERM)
			}, code: exitInterrupted,
		},
		"a stop during the grace: at once, with broken framing": {
			end: func(t *testing.T, c *companion, _ func()) {
				c.signal(syscall.SIGTERM)
				refusesNew(t, c)
				if got := c.run("stop"); got.code != exitOK {
					t.Errorf("stop: exit %d, %s", got.code, got.stderr)
				}
			}, code: exitInterrupted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSlowProvider(t)
			c := newUser(t).launch("--headless", "--upstream", p.BaseURL("slow"))
			stream, plain := openCall(t, c, true), openCall(t, c, false)
			events := openEvents(t, c)
			p.Await(2)
			test.end(t, c, p.finish)
			if _, err := io.ReadAll(events); err != nil {
				t.Logf("our own event stream ended with %v", err)
			}
			for kind, call := range map[string]<-chan error{"stream": stream, "plain call": plain} {
				select {
				case err := <-call:
					if (err == nil) != test.whole {
						t.Errorf("%s: got %v, want whole: %v", kind, err, test.whole)
					}
				case <-time.After(patience):
					t.Errorf("%s: it does not end", kind)
				}
			}
			if code := c.exitCode(); code != test.code {
				t.Errorf("exit code: got %d, want %d", code, test.code)
			}
			if left, _ := filepath.Glob(filepath.Join(c.home, "c", "run", "*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// slowProvider answers with a first piece, and the rest when it is told to finish.
type slowProvider struct {
	*servertest.Provider
	finish func()
}

func newSlowProvider(t *testing.T) slowProvider {
	next := make(chan struct{})
	p := servertest.NewProvider(t, map[string]servertest.Scenario{"slow": {
		Pieces: []string{"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n", "data: [DONE]\n\n"}, Next: next,
	}})
	return slowProvider{p, sync.OnceFunc(func() { close(next) })}
}

// openCall begins a call and returns once its first piece has come; the channel then says how it ended.
func openCall(t *testing.T, c *companion, stream bool) <-chan error {
	t.Helper()
	body := `{"model":"m"}`
	if stream {
		body = `{"model":"m","stream":true}`
	}
	resp, err := http.Post(c.url("/v1/chat/completions"), "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	rest := bufio.NewReader(resp.Body)
	if _, err := rest.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		defer func() { _ = resp.Body.Close() }()
		_, err := io.ReadAll(rest)
		ended <- err
	}()
	return ended
}

// openEvents opens the console's event stream.
func openEvents(t *testing.T, c *companion) io.Reader {
	t.Helper()
	resp, err := http.Get(c.url("/console/events"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	first := bufio.NewReader(resp.Body)
	if _, err := first.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return first
}

// refusesNew waits until no new connection is taken: the end has begun.
func refusesNew(t *testing.T, c *companion) {
	t.Helper()
	timetest.Until(t, "the companion to take no more calls", func() (error, bool) { err := health(c.status.Addr); return err, err != nil })
}
