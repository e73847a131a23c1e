package control_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/control"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const instance = "abc"

// daemon is a control server on a real socket.
type daemon struct {
	path string
	http *http.Client
	stop context.CancelFunc
	done chan error // what Serve returned
}

// start serves cfg on a socket in a short private folder, and stops it when the test ends.
func start(t *testing.T, cfg control.Config) *daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "ctl")
	if err != nil {
		t.Fatal(err)
	}
	cfg.SocketPath = filepath.Join(dir, "control.sock")
	cfg.InstanceID, cfg.Version = instance, "0.1.0"
	if cfg.Status == nil {
		cfg.Status = watch.New(protocol.Status{Phase: protocol.PhaseRunning, Addr: "127.0.0.1:4319"})
	}
	s := control.New(cfg)
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	d := &daemon{path: cfg.SocketPath, stop: cancel, done: make(chan error, 1)}
	go func() { d.done <- s.Serve(ctx) }()
	d.http = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", d.path)
	}}}
	t.Cleanup(func() {
		cancel()
		if err := <-d.done; err != nil {
			t.Errorf("Serve: got %v, want a clean end", err)
		}
		d.http.CloseIdleConnections()
		_ = os.RemoveAll(dir)
	})
	return d
}

// answer is what came back, whole.
type answer struct {
	status int
	header http.Header
	body   string
}

func (d *daemon) do(t *testing.T, method, path, body string, header ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://daemon"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return d.send(t, req)
}

func (d *daemon) send(t *testing.T, req *http.Request) answer {
	t.Helper()
	resp, err := d.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(data)}
}

// wantError asserts an error answer in the one form that all have.
func wantError(t *testing.T, got answer, status int, code protocol.ErrorCode, message string) protocol.Error {
	t.Helper()
	var body protocol.Error
	if err := json.Unmarshal([]byte(got.body), &body); err != nil {
		t.Fatalf("body %q: %v", got.body, err)
	}
	if got.status != status || body.Code != code || !strings.Contains(body.Message, message) {
		t.Errorf("got %d %q %q, want %d %q and a message with %q", got.status, body.Code, body.Message, status, code, message)
	}
	if ct := got.header.Get("Content-Type"); ct != "application/json; charset=utf-8" {
		t.Errorf("Content-Type: got %q", ct)
	}
	if !strings.HasSuffix(got.body, "\n") {
		t.Errorf("body %q does not end with a newline", got.body)
	}
	return body
}

// sessions.md, Routes: /health and /version; Control of the app: /v1/status and /v1/calls.
func TestReadingRoutesAnswer(t *testing.T) {
	d := start(t, control.Config{Calls: func(after uint64, limit int) protocol.CallsPage {
		return protocol.CallsPage{Calls: []protocol.Call{{ID: "c", LatencyMs: int64(limit)}}, Next: after + 1}
	}})
	for _, c := range []struct{ path, want string }{
		{"/health", `{"status":"ok"}`},
		{"/version", `{"version":"0.1.0","protocol":"v1","instance_id":"abc"}`},
		{"/v1/status", `"phase":"running"`},
		{"/v1/calls", `"latencyMs":200`},
		{"/v1/calls", `"next":1}`},
		{"/v1/calls?after=41&limit=1000", `"latencyMs":1000`},
		{"/v1/calls?after=41&limit=1000", `"next":42}`},
		{"/v1/calls?after=18446744073709551615&limit=1", `"latencyMs":1,`},
	} {
		got := d.do(t, http.MethodGet, c.path, "")
		if got.status != http.StatusOK || !strings.Contains(got.body, c.want) {
			t.Errorf("GET %s: got %d %q, want 200 with %q", c.path, got.status, got.body, c.want)
		}
		if got := d.do(t, http.MethodHead, c.path, ""); got.status != http.StatusOK || got.body != "" {
			t.Errorf("HEAD %s: got %d %q, want 200 without a body", c.path, got.status, got.body)
		}
	}
}

func TestCallsWithoutASourceAreAnEmptyPage(t *testing.T) {
	d := start(t, control.Config{})
	got := d.do(t, http.MethodGet, "/v1/calls?after=7", "")
	if want := `{"calls":[],"next":7}` + "\n"; got.body != want {
		t.Errorf("got %q, want %q", got.body, want)
	}
}

func TestBadCursorsAreRefused(t *testing.T) {
	d := start(t, control.Config{})
	for _, query := range []string{"after=-1", "after=x", "after=18446744073709551616", "limit=0", "limit=-1", "limit=1001", "limit=x", "after=%zz"} {
		wantError(t, d.do(t, http.MethodGet, "/v1/calls?"+query, ""), 400, protocol.CodeInvalidInput, "")
	}
}

func TestHistoryIsAskedAsTheQuerySays(t *testing.T) {
	var asked protocol.HistoryQuery
	d := start(t, control.Config{History: func(_ context.Context, q protocol.HistoryQuery) (protocol.HistoryPage, error) {
		if asked = q; q.After == "bad" {
			return protocol.HistoryPage{}, control.Refuse(protocol.CodeInvalidInput, "no such cursor")
		}
		return protocol.HistoryPage{Calls: []protocol.Call{{ID: "c"}}, Next: "7.1"}, nil
	}})
	day := time.Date(2026, 11, 30, 15, 43, 53, 764717246, time.UTC)
	for query, want := range map[string]protocol.HistoryQuery{
		"": {Limit: 200},
		"?since=2026-11-30T15:43:53.764717246Z&until=2026-11-30T16:43:53.764717246%2B01:00": {Since: day, Until: day, Limit: 200},
		"?model=a%26b%3Dc&limit=1000&after=5.2":                                             {Model: "a&b=c", Limit: 1000, After: "5.2"},
	} {
		got := d.do(t, http.MethodGet, "/v1/history"+query, "")
		if got.status != http.StatusOK || !strings.Contains(got.body, `"next":"7.1"`) {
			t.Errorf("%q: got %d %s", query, got.status, got.body)
		}
		if !asked.Since.Equal(want.Since) || !asked.Until.Equal(want.Until) || asked.Model != want.Model || asked.Limit != want.Limit || asked.After != want.After {
			t.Errorf("%q: asked for %+v, want %+v", query, asked, want)
		}
	}
	for _, query := range []string{"since=yesterday", "until=2026-11-30", "limit=0", "limit=1001", "after=bad", "model=%zz"} {
		wantError(t, d.do(t, http.MethodGet, "/v1/history?"+query, ""), 400, protocol.CodeInvalidInput, "")
	}
	wantError(t, start(t, control.Config{}).do(t, http.MethodGet, "/v1/history", ""), 404, protocol.CodeNotFound, "keeps no history")
}

// Unknown routes are a JSON 404.
func TestUnknownRoutesAreAJSON404(t *testing.T) {
	d := start(t, control.Config{})
	for _, path := range []string{"/", "/v1", "/v1/", "/v1//status", "/v1/status/", "/health/x", "/v1/server/explode", "/metrics"} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions} {
			wantError(t, d.do(t, method, path, ""), 404, protocol.CodeNotFound, "no such route")
		}
	}
}

func TestWrongMethodIs405WithAllow(t *testing.T) {
	d := start(t, control.Config{})
	for path, allow := range map[string]string{
		"/health": "GET", "/version": "GET", "/v1/status": "GET", "/v1/status/events": "GET", "/v1/calls": "GET", "/v1/history": "GET",
		"/v1/shutdown": "POST", "/v1/open": "POST", "/v1/server/start": "POST", "/v1/server/stop": "POST", "/v1/server/restart": "POST",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, "BREW"} {
			if method == allow {
				continue
			}
			got := d.do(t, method, path, "")
			wantError(t, got, 405, protocol.CodeMethod, "method not allowed")
			if got := got.header.Get("Allow"); got != allow {
				t.Errorf("%s %s: Allow: got %q, want %q", method, path, got, allow)
			}
		}
	}
	if got := d.do(t, http.MethodHead, "/v1/status/events", ""); got.status != 405 {
		t.Errorf("HEAD on a stream: got %d, want 405", got.status)
	}
}

// security.md 12: a request on it with Origin, Referer or Sec-Fetch-* is refused.
func TestRequestsOfABrowserAreRefusedBeforeTheyDoAnything(t *testing.T) {
	d := start(t, control.Config{
		Shutdown: func(*time.Duration) { t.Error("shut down") },
		Server:   func(context.Context, protocol.ServerAction) error { t.Error("acted"); return nil },
	})
	for _, header := range []string{"Origin", "Referer", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Anything"} {
		for _, value := range []string{"null", "http://127.0.0.1:4319", "same-origin", ""} {
			for _, path := range []string{"/health", "/v1/status/events", "/no/such"} {
				wantError(t, d.do(t, http.MethodGet, path, "", header, value), 403, protocol.CodeForbidden, header)
			}
			wantError(t, d.do(t, http.MethodPost, "/v1/server/stop", "", header, value), 403, protocol.CodeForbidden, header)
			wantError(t, d.do(t, http.MethodPost, "/v1/shutdown", `{"instance_id":"abc"}`, header, value), 403, protocol.CodeForbidden, header)
		}
	}
}

// security.md 13: stop addresses the instance; another instance answers 409 and nothing happens.
func TestShutdownIsForTheInstanceThatIsMeant(t *testing.T) {
	asked := make(chan *time.Duration, 1)
	d := start(t, control.Config{Shutdown: func(grace *time.Duration) { asked <- grace }})
	for _, c := range []struct {
		body    string
		status  int
		code    protocol.ErrorCode
		message string
	}{
		{`{"instance_id":"other"}`, 409, protocol.CodeWrongInstance, "abc"},
		{``, 400, protocol.CodeInvalidInput, "instance_id is required"},
		{`null`, 400, protocol.CodeInvalidInput, "instance_id is required"},
		{`{"instance_id":"abc","grace_ms":-1}`, 400, protocol.CodeInvalidInput, "grace_ms"},
		{`{"instance_id":"abc","grace_ms":9223372036854775807}`, 400, protocol.CodeInvalidInput, "grace_ms"},
		{`{"instance_id":"abc","force":true}`, 400, protocol.CodeInvalidInput, `unknown field "force"`},
		{`{"instance_id":"abc"} {}`, 400, protocol.CodeInvalidInput, "unexpected text"},
		{`{"instance_id":`, 400, protocol.CodeInvalidInput, "decoding request body"},
	} {
		wantError(t, d.do(t, http.MethodPost, "/v1/shutdown", c.body), c.status, c.code, c.message)
	}
	if len(asked) != 0 {
		t.Fatal("a refused request shut it down")
	}

	if got := d.do(t, http.MethodPost, "/v1/shutdown", `{"instance_id":"abc"}`); got.status != http.StatusAccepted || got.body != "" {
		t.Errorf("got %d %q, want an empty 202", got.status, got.body)
	}
	if grace := <-asked; grace != nil {
		t.Errorf("grace: got %v, want the daemon's own", grace)
	}
	d.do(t, http.MethodPost, "/v1/shutdown", `{"instance_id":"abc","grace_ms":0}`)
	if grace := <-asked; grace == nil || *grace != 0 {
		t.Errorf("grace: got %v, want 0", grace)
	}
}

// A shutdown that ends Serve still answers the one who asked.
func TestTheOneWhoShutsDownHearsTheAnswer(t *testing.T) {
	var d *daemon
	d = start(t, control.Config{Shutdown: func(*time.Duration) { d.stop() }})
	if got := d.do(t, http.MethodPost, "/v1/shutdown", `{"instance_id":"abc"}`); got.status != http.StatusAccepted {
		t.Errorf("got %d, want 202", got.status)
	}
}

func TestOpenAnswersTheURLOrWhyNot(t *testing.T) {
	d := start(t, control.Config{Open: func(_ context.Context, target protocol.OpenTarget) (string, error) {
		if target == protocol.OpenConsole {
			return "", hint.With(errors.New("no program opens pages"), "install xdg-utils")
		}
		return "http://127.0.0.1:4319/?a&b", nil
	}})
	if got := d.do(t, http.MethodPost, "/v1/open", `{"target":"studio"}`); got.body != `{"url":"http://127.0.0.1:4319/?a&b"}`+"\n" {
		t.Errorf("got %d %q, want the URL", got.status, got.body)
	}
	body := wantError(t, d.do(t, http.MethodPost, "/v1/open", `{"target":"console"}`), 500, protocol.CodeInternal, "no program opens pages")
	if body.Hint != "install xdg-utils" {
		t.Errorf("hint: got %q, want what to do", body.Hint)
	}
	for _, bad := range []string{``, `{}`, `{"target":"http://evil.test"}`, `{"target":1}`, `[]`} {
		wantError(t, d.do(t, http.MethodPost, "/v1/open", bad), 400, protocol.CodeInvalidInput, "")
	}
}

func TestServerActionsAreDoneBeforeTheyAreAnswered(t *testing.T) {
	var did []protocol.ServerAction
	d := start(t, control.Config{Server: func(_ context.Context, action protocol.ServerAction) error {
		did = append(did, action)
		if action == protocol.ServerStart {
			return control.Refuse(protocol.CodeConflict, "the server runs already")
		}
		return nil
	}})
	for _, c := range []struct{ action, body string }{{"stop", ""}, {"restart", "{}"}} {
		if got := d.do(t, http.MethodPost, "/v1/server/"+c.action, c.body); got.status != http.StatusNoContent || got.body != "" {
			t.Errorf("%s: got %d %q, want an empty 204", c.action, got.status, got.body)
		}
	}
	wantError(t, d.do(t, http.MethodPost, "/v1/server/start", ""), 409, protocol.CodeConflict, "the server runs already")
	wantError(t, d.do(t, http.MethodPost, "/v1/server/stop", `{"now":true}`), 400, protocol.CodeInvalidInput, "unknown field")
	if len(did) != 3 {
		t.Errorf("got %v, want stop, restart, start and nothing for the bad request", did)
	}
}

func TestRoutesWithoutAFuncAreNotThere(t *testing.T) {
	d := start(t, control.Config{})
	for path, body := range map[string]string{
		"/v1/shutdown": `{"instance_id":"abc"}`, "/v1/open": `{"target":"studio"}`, "/v1/server/stop": ``,
	} {
		wantError(t, d.do(t, http.MethodPost, path, body), 404, protocol.CodeNotFound, "this daemon")
	}
}

// sessions.md: bodies at most 64 KiB; 413 names the cap.
func TestBodiesAreBounded(t *testing.T) {
	d := start(t, control.Config{Shutdown: func(*time.Duration) {}})
	long := func(n int) string {
		return `{"instance_id":"` + strings.Repeat("x", n-len(`{"instance_id":""}`)) + `"}`
	}
	wantError(t, d.do(t, http.MethodPost, "/v1/shutdown", long(64<<10)), 409, protocol.CodeWrongInstance, "")
	wantError(t, d.do(t, http.MethodPost, "/v1/shutdown", long(64<<10+1)), 413, protocol.CodeTooLarge, "64 KiB")

	t.Run("also when the length is not said", func(t *testing.T) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://daemon/v1/shutdown", io.MultiReader(strings.NewReader(long(64<<10+1))))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := d.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		wantError(t, answer{resp.StatusCode, resp.Header, string(data)}, 413, protocol.CodeTooLarge, "64 KiB")
	})
}

func TestOnlyOurOwnFaultsAreLoggedAndNeverABody(t *testing.T) {
	var log bytes.Buffer
	d := start(t, control.Config{
		Log:      func(line string) { log.WriteString(line + "\n") },
		Shutdown: func(*time.Duration) {},
		Open:     func(context.Context, protocol.OpenTarget) (string, error) { return "", errors.New("no browser") },
	})
	d.do(t, http.MethodPost, "/v1/shutdown", `{"instance_id":"marked-secret"}`)
	d.do(t, http.MethodPost, "/v1/shutdown", `{"marked-secret":1}`)
	d.do(t, http.MethodGet, "/marked-secret?key=marked-secret", ``)
	d.do(t, http.MethodPost, "/v1/open?key=marked-secret", `{"target":"studio"}`)
	if got, want := log.String(), "POST /v1/open: no browser\n"; got != want {
		t.Errorf("log: got %q, want %q", got, want)
	}
}

func TestLaunchSaysHowTheDaemonWasStarted(t *testing.T) {
	want := protocol.Launch{Args: []string{"--headless", "--datastate=shop=sqlite:shop.db"}, Dir: "/home"}
	d := start(t, control.Config{Launch: &want})
	got, err := client.New(d.path).Launch(t.Context())
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v and %v, want %+v", got, err, want)
	}
	wantError(t, start(t, control.Config{}).do(t, http.MethodGet, "/v1/launch", ""), 404, protocol.CodeNotFound, "this daemon does not say how it was started")
}
