//go:build unix

package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// socketPath returns a path in a short folder: socket paths are bounded, and t.TempDir is long.
func socketPath(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cli")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

// serve answers on path with h until the test ends or the returned func is called.
func serve(t testing.TB, path string, h http.HandlerFunc) (stop func()) {
	t.Helper()
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(ln)
	}()
	stop = func() { _ = srv.Close(); <-done }
	t.Cleanup(stop)
	return stop
}

// daemon answers on a socket of its own with h.
func daemon(t *testing.T, h http.HandlerFunc) *client.Client {
	t.Helper()
	path := socketPath(t)
	serve(t, path, h)
	return client.New(path)
}

// operations is everything that a client can ask, but for the stream.
func operations(c *client.Client) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"GET /health":    c.Health,
		"GET /version":   func(ctx context.Context) error { _, err := c.Version(ctx); return err },
		"GET /v1/status": func(ctx context.Context) error { _, err := c.Status(ctx); return err },
		"GET /v1/history": func(ctx context.Context) error {
			_, err := c.History(ctx, protocol.HistoryQuery{})
			return err
		},
		"GET /v1/calls": func(ctx context.Context) error { _, err := c.Calls(ctx, 0, 0); return err },
		"POST /v1/open": func(ctx context.Context) error { _, err := c.Open(ctx, protocol.OpenStudio); return err },
		"POST /v1/server/stop": func(ctx context.Context) error {
			return c.Server(ctx, protocol.ServerStop)
		},
		"POST /v1/shutdown": func(ctx context.Context) error { return c.Shutdown(ctx, "abc", nil) },
		"POST /v1/sessions": func(ctx context.Context) error {
			_, err := c.CreateSession(ctx, protocol.CreateSessionRequest{})
			return err
		},
		"GET /v1/sessions":       func(ctx context.Context) error { _, err := c.Sessions(ctx, true, ""); return err },
		"GET /v1/sessions/x":     func(ctx context.Context) error { _, err := c.Session(ctx, "x"); return err },
		"DELETE /v1/sessions/x":  func(ctx context.Context) error { return c.DeleteSession(ctx, "x", false) },
		"POST …/name":            func(ctx context.Context) error { return c.RenameSession(ctx, "x", "y") },
		"POST …/turns":           func(ctx context.Context) error { _, err := c.StartTurn(ctx, "x", protocol.TurnRequest{}); return err },
		"POST …/interrupt":       func(ctx context.Context) error { return c.Interrupt(ctx, "x") },
		"POST …/steer":           func(ctx context.Context) error { return c.Steer(ctx, "x", "y") },
		"POST …/undo":            func(ctx context.Context) error { _, err := c.Undo(ctx, "x"); return err },
		"POST …/approvals/a":     func(ctx context.Context) error { return c.Approve(ctx, "x", "a", protocol.DecisionDeny) },
		"GET /v1/specs":          func(ctx context.Context) error { _, err := c.Specs(ctx, "/"); return err },
		"GET …/events as a page": func(ctx context.Context) error { _, err := c.Events(ctx, "x", 1); return err },
	}
}

func TestOperationsAskWhatTheyShould(t *testing.T) {
	var got string
	c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = strings.TrimSpace(r.Method + " " + r.URL.RequestURI() + " " + string(body))
		switch r.URL.Path {
		case "/health":
			_, _ = io.WriteString(w, `{"status":"ok"}`)
		case "/v1/shutdown":
			w.WriteHeader(http.StatusAccepted)
		case "/v1/history":
			_, _ = io.WriteString(w, `{"calls":[{"id":"h"}],"next":"5.2"}`)
		case "/v1/server/restart":
			w.WriteHeader(http.StatusNoContent)
		default:
			_, _ = io.WriteString(w, `{"url":"http://x/","instance_id":"abc","addr":"a:1","calls":[{"id":"c"}],"next":9,"newer":true}`)
		}
	})
	ctx, grace := t.Context(), 1500*time.Millisecond
	check := func(want string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", want, err)
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	check("GET /health", c.Health(ctx))
	version, err := c.Version(ctx)
	check("GET /version", err)
	status, err := c.Status(ctx)
	check("GET /v1/status", err)
	page, err := c.Calls(ctx, 7, 50)
	check("GET /v1/calls?after=7&limit=50", err)
	at := time.Date(2026, 11, 30, 16, 0, 0, 1, time.FixedZone("UTC+1", 3600))
	past, err := c.History(ctx, protocol.HistoryQuery{Since: at, Until: at, Model: "a&b", Limit: 5, After: "5.1"})
	check("GET /v1/history?after=5.1&limit=5&model=a%26b&since=2026-11-30T15%3A00%3A00.000000001Z&until=2026-11-30T15%3A00%3A00.000000001Z", err)
	if past.Next != "5.2" || len(past.Calls) != 1 {
		t.Errorf("history: got %+v", past)
	}
	url, err := c.Open(ctx, protocol.OpenConsole)
	check(`POST /v1/open {"target":"console"}`, err)
	check(`POST /v1/shutdown {"instance_id":"abc"}`, c.Shutdown(ctx, "abc", nil))
	check(`POST /v1/shutdown {"instance_id":"abc","grace_ms":1500}`, c.Shutdown(ctx, "abc", &grace))
	check(`POST /v1/server/restart {}`, c.Server(ctx, protocol.ServerRestart))
	_, _ = c.Calls(ctx, 0, 0)
	check("GET /v1/calls?after=0", nil)
	if version.InstanceID != "abc" || status.Addr != "a:1" || page.Next != 9 || len(page.Calls) != 1 || url != "http://x/" {
		t.Errorf("answers: got %+v %+v %+v %q", version, status, page, url)
	}
}

func TestErrorAnswersKeepWhatTheDaemonSaid(t *testing.T) {
	c := daemon(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"code":"wrong_instance","message":"another one","hint":"ask again"}`)
	})
	for name, op := range operations(c) {
		err := op(t.Context())
		got, ok := errors.AsType[*client.Error](err)
		if !ok || got.Status != 409 || got.Code != protocol.CodeWrongInstance || got.Message != "another one" {
			t.Errorf("%s: got %#v, want the daemon's error", name, err)
		}
		if hint.Of(err) != "ask again" {
			t.Errorf("%s: hint: got %q, want the daemon's", name, hint.Of(err))
		}
	}
}

func TestAnswersThatAreNotOursAreErrorsAllTheSame(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"an error without our body": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusBadGateway) },
		"a redirect":                func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/version", http.StatusFound) },
		"no JSON":                   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") },
		"half an answer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"status":"ok"}`)
		},
		"not well":          func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"status":"tired"}`) },
		"more than it says": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.CopyN(w, zeros{}, 17<<20) },
	} {
		t.Run(name, func(t *testing.T) {
			c := daemon(t, h)
			if err := c.Health(t.Context()); err == nil {
				t.Error("got no error")
			} else if errors.Is(err, client.ErrNotRunning) {
				t.Errorf("got %v: but something runs there", err)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestNotRunningIsToldApartFromNotAnswering(t *testing.T) {
	t.Run("no socket", func(t *testing.T) {
		for name, op := range operations(client.New(socketPath(t))) {
			err := op(t.Context())
			if !errors.Is(err, client.ErrNotRunning) || err.Error() != "the daemon is not running" || hint.Of(err) == "" {
				t.Errorf("%s: got %v, hint %q, want ErrNotRunning with a way out", name, err, hint.Of(err))
			}
		}
	})
	t.Run("a socket that nobody listens on", func(t *testing.T) {
		path := socketPath(t)
		ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		ln.SetUnlinkOnClose(false)
		_ = ln.Close()
		if err := client.New(path).Health(t.Context()); !errors.Is(err, client.ErrNotRunning) {
			t.Errorf("got %v, want ErrNotRunning", err)
		}
	})
	t.Run("one that accepts and says nothing", func(t *testing.T) {
		c := daemon(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := c.Health(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, client.ErrNotRunning) {
			t.Errorf("got %v, want a deadline and not ErrNotRunning", err)
		}
	})
	t.Run("one that hangs up", func(t *testing.T) {
		c := daemon(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		if err := c.Health(t.Context()); err == nil || errors.Is(err, client.ErrNotRunning) {
			t.Errorf("got %v, want an error that is not ErrNotRunning", err)
		}
	})
	t.Run("a path that is too long", func(t *testing.T) {
		err := client.New("/" + strings.Repeat("x", 200)).Health(t.Context())
		if err == nil || errors.Is(err, client.ErrNotRunning) || !strings.Contains(err.Error(), "has 201 bytes") {
			t.Errorf("got %v, want an error that names the length", err)
		}
	})
}

// A lost answer says nothing about whether the daemon acted, so no request is ever sent twice.
func TestNothingIsSentTwice(t *testing.T) {
	var asked atomic.Int64
	c := daemon(t, func(http.ResponseWriter, *http.Request) {
		if asked.Add(1)%2 == 0 { // every other one is answered well, in case a connection would be kept for the next
			panic(http.ErrAbortHandler)
		}
	})
	n := int64(0)
	for range 3 {
		for _, op := range operations(c) {
			_ = op(t.Context())
			n++
			if got := asked.Load(); got != n {
				t.Fatalf("got %d requests after %d operations", got, n)
			}
		}
	}
}

func TestStatusEventsShowEachState(t *testing.T) {
	c := daemon(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "retry: 1000\n\n: ping\n\nid: 1\nevent: x\ndata: {\"phase\":\"starting\"}\n\ndata:{\"phase\":\ndata: \"running\"}\n\ndata: {\"phase\":\"cut")
	})
	var got []protocol.Phase
	enough := errors.New("enough")
	err := c.StatusEvents(t.Context(), func(s protocol.Status) error {
		if got = append(got, s.Phase); len(got) == 4 {
			return enough
		}
		return nil
	}, nil)
	if err != enough {
		t.Errorf("end: got %v, want the func's own error", err)
	}
	// The second pair is from a second connection: half an event is none, and the end of a stream is not the end.
	if want := "[starting running starting running]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestStatusEventsOutliveARestartOfTheDaemon(t *testing.T) {
	path := socketPath(t)
	state := func(phase string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "data: {\"phase\":\""+phase+"\"}\n\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}
	stop := serve(t, path, state("starting"))
	states := make(chan protocol.Phase)
	losses := make(chan error, 8)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- client.New(path).StatusEvents(ctx, func(s protocol.Status) error {
			states <- s.Phase
			return nil
		}, func(err error) { losses <- err })
	}()
	if got := <-states; got != "starting" {
		t.Fatalf("got %q, want starting", got)
	}
	stop() // for a while there is no socket at all
	serve(t, path, state("running"))
	if got := <-states; got != "running" {
		t.Errorf("got %q, want running", got)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("end: got %v, want context.Canceled", err)
	}
	if len(losses) != 1 {
		t.Errorf("losses told: got %d, want the one", len(losses))
	}
}

func TestStatusEventsSayAtOnceWhyThereAreNone(t *testing.T) {
	none := func(protocol.Status) error { t.Error("a state out of nowhere"); return nil }
	if err := client.New(socketPath(t)).StatusEvents(t.Context(), none, nil); !errors.Is(err, client.ErrNotRunning) {
		t.Errorf("no daemon: got %v, want ErrNotRunning", err)
	}
	c := daemon(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	if err := c.StatusEvents(t.Context(), none, nil); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("an older daemon: got %v, want its 404", err)
	}
	c = daemon(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "data: {]\n\n") })
	if err := c.StatusEvents(t.Context(), none, nil); err == nil || !strings.Contains(err.Error(), "decoding a status event") {
		t.Errorf("nonsense: got %v, want an error about it", err)
	}
}

func FuzzReadEvents(f *testing.F) {
	for _, seed := range []string{"", "data: x\n\n", "data: a\ndata: b\r\n\r\n", ": ping\n\n", "data", "data:\n\n", "id: 1\nretry: x\n\n\n\n", "\x00\n\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		total := 0
		err := client.ReadEvents(strings.NewReader(stream), func(_ string, data []byte) error {
			if len(data) == 0 || data[len(data)-1] != '\n' {
				t.Errorf("data %q, want at least one line", data)
			}
			total += len(data)
			return nil
		})
		if err == nil {
			t.Error("a stream that ended reports no end")
		}
		if total > len(stream) {
			t.Errorf("got %d bytes of data out of %d", total, len(stream))
		}
	})
}
