package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/metrics"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
)

// deeds is what a console was asked to do.
type deeds struct {
	mu   sync.Mutex
	done []string
}

func (d *deeds) act(_ context.Context, action protocol.ConsoleAction, req protocol.ConsoleActionRequest) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done = append(d.done, strings.TrimSpace(fmt.Sprint(action, " ", req.Upstream, req.Mode)))
	if req.Upstream == "gone" {
		return hint.With(errors.New("there is no such upstream"), "look again")
	}
	return nil
}

func (d *deeds) all() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.done, ", ")
}

// said is a capture that kept one call.
type said struct{}

func (said) State() protocol.CaptureState {
	return protocol.CaptureState{Mode: protocol.CaptureMemory, Kept: 1, Bytes: 12, LimitBytes: 64 << 20}
}

func (said) Call(id string) (protocol.CapturedCall, bool) {
	return protocol.CapturedCall{Request: "a secret question", Answer: "a secret answer"}, id == "call_1"
}

func (said) Cassette(id string) (string, []byte, bool, error) {
	if id == "call_2" {
		return "", nil, true, hint.With(errors.New("too large"), "record it")
	}
	return "call_1.json", []byte(`{"cassette":1}`), id == "call_1", nil
}

// withConsole serves a console that shows a little of everything.
func withConsole(t *testing.T, change ...func(*server.Config)) (*servertest.Running, *deeds) {
	t.Helper()
	d := &deeds{}
	cfg := server.Config{Console: &server.Console{
		Models: func(context.Context) protocol.OfferedModels {
			return protocol.OfferedModels{Upstream: protocol.Upstream{Name: "secret-host"}}
		},
		Upstreams: func(context.Context) protocol.Upstreams {
			return protocol.Upstreams{Active: "secret", Why: "used last"}
		},
		Doctor: func(context.Context) []protocol.Check {
			return []protocol.Check{{ID: "port", State: protocol.CheckOK, Detail: "secret"}}
		},
		Settings: func() []protocol.SettingValue {
			return []protocol.SettingValue{{Key: "addr", Value: "secret", Source: "default"}}
		},
		Act: d.act, Capture: said{},
	}}
	for _, c := range change {
		c(&cfg)
	}
	return servertest.Start(t, cfg), d
}

var tokenInPage = regexp.MustCompile(`<meta name="chatwright-token" content="([^"]*)">`)

// pageToken is the token in the page, as somebody with these headers gets it.
func pageToken(t *testing.T, r *servertest.Running, path string, headers ...string) string {
	t.Helper()
	got := ask(t, r, "GET", path, "", headers...)
	found := tokenInPage.FindStringSubmatch(got.Body)
	if found == nil {
		if got.Status == 200 {
			t.Fatalf("%s %q: the page has no place for a token", path, headers)
		}
		return ""
	}
	return found[1]
}

var consolePaths = []string{
	"/console/calls", "/console/models", "/console/upstreams", "/console/doctor", "/console/settings", "/console/capture",
	"/console/capture/call_1", "/console/capture/call_1/cassette",
}

// openedInATab are the headers of a browser that opens a page in a tab.
var openedInATab = []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}

func TestConsoleAnswers(t *testing.T) {
	r, _ := withConsole(t)
	token := []string{"X-Chatwright-Token", pageToken(t, r, "/console/", openedInATab...)}
	for path, want := range map[string]string{
		"/console/calls":                   `{"calls":[],"next":""}`,
		"/console/models":                  `{"upstream":{"name":"secret-host","baseURL":"","reach":""},"models":[]}`,
		"/console/upstreams":               `{"found":[],"named":[],"active":"secret","why":"used last"}`,
		"/console/doctor":                  `{"checks":[{"id":"port","name":"","state":"ok","detail":"secret"}]}`,
		"/console/settings":                `{"settings":[{"key":"addr","flag":"","env":"","value":"secret","source":"default","help":""}]}`,
		"/console/capture":                 `{"mode":"memory","kept":1,"bytes":12,"limitBytes":67108864}`,
		"/console/capture/call_1":          `{"request":"a secret question","answer":"a secret answer","requestTruncated":false,"answerTruncated":false}`,
		"/console/capture/call_1/cassette": `{"cassette":1}`,
	} {
		got := ask(t, r, "GET", path, "", token...)
		if got.Status != 200 || strings.TrimSpace(got.Body) != want {
			t.Errorf("%s: got %d %s, want %s", path, got.Status, got.Body, want)
		}
		got.wantsHeader(t, "Cache-Control", "no-store")
		got.wantsHeader(t, "Content-Type", jsonType)
		if got := ask(t, r, "POST", path, "{}", token...); got.Status != 405 {
			t.Errorf("POST %s: got %d, want 405", path, got.Status)
		}
	}
	ask(t, r, "GET", "/console/capture/call_1/cassette", "", token...).wantsHeader(t, "Content-Disposition", `attachment; filename="call_1.json"`)
	for _, path := range []string{"/console/capture/call_9", "/console/capture/call_9/cassette", "/console/capture/", "/console/capture/..%2f..%2fetc%2fpasswd"} {
		if got := ask(t, r, "GET", path, "", token...); got.Status != 404 {
			t.Errorf("%s: got %d %s, want 404", path, got.Status, got.Body)
		}
	}
	if got := ask(t, r, "GET", "/console/capture/call_2/cassette", "", token...); got.Status != 409 || !strings.Contains(got.Body, `"hint":"record it"`) {
		t.Errorf("a call that cannot be replayed: got %d %s", got.Status, got.Body)
	}
}

// What was said is read by the console alone: not even by other pages of its origin, of which Studio is one.
func TestWhatWasSaidWantsTheToken(t *testing.T) {
	r, _ := withConsole(t)
	token := pageToken(t, r, "/console/", openedInATab...)
	for _, path := range []string{"/console/capture/call_1", "/console/capture/call_1/cassette", "/console/capture/call_2/cassette", "/console/capture/call_9", "/console/capture/"} {
		for _, c := range []struct {
			headers []string
			want    string
		}{
			{nil, "came without its token"}, {[]string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"}, "came without its token"},
			{[]string{"X-Chatwright-Token", ""}, `"hint":"open http://` + r.Addr + `/console/ in a tab`}, {openedInATab, "came without its token"},
			{[]string{"X-Chatwright-Token", token[1:]}, "load the page again"}, {[]string{"Authorization", "Bearer " + token}, "came without its token"},
			{[]string{"X-Chatwright-Token", token, "Origin", "https://chatwright.dev"}, "only the console"},
		} {
			got := ask(t, r, "GET", path, "", c.headers...)
			if got.Status != 403 || !strings.Contains(got.Body, c.want) || strings.Contains(got.Body, "secret") || strings.Contains(got.Body, token) {
				t.Errorf("%s %q: got %d %s, want 403 and %s", path, c.headers, got.Status, got.Body, c.want)
			}
		}
	}
}

// Origins that may call models may not read what this machine is like, nor what was said to them; nor may rebound names.
func TestConsoleAnswersNoOtherOrigin(t *testing.T) {
	r, _ := withConsole(t)
	for _, path := range consolePaths {
		for _, headers := range [][]string{
			{"Origin", "https://chatwright.dev"}, {"Origin", "http://chatwright.localhost"}, {"Origin", "http://localhost:3000", "Sec-Fetch-Site", "same-site"},
			{"Origin", "http://evil.test"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"},
			{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Site", "same-site"},
			{"Host", "rebind.test:4319", "Origin", "http://rebind.test:4319", "Sec-Fetch-Site", "same-origin"}, {"Host", "rebind.test"},
		} {
			got := ask(t, r, "GET", path, "", headers...)
			if got.Status != 403 || strings.Contains(got.Body, "secret") {
				t.Errorf("%s %q: got %d %s, want 403 and nothing told", path, headers, got.Status, got.Body)
			}
		}
	}
}

func TestActionsWantTheTokenAndTheOwnOrigin(t *testing.T) {
	r, d := withConsole(t)
	token := pageToken(t, r, "/console/", openedInATab...)
	own := "http://" + r.Addr
	const path, body = "/console/actions/look-again", "{}"
	for _, headers := range [][]string{
		nil, {"X-Chatwright-Token", ""}, {"X-Chatwright-Token", "x"}, {"X-Chatwright-Token", token + "x"}, {"X-Chatwright-Token", token[1:]},
		{"X-Chatwright-Token", "x", "X-Chatwright-Token", token}, {"Authorization", "Bearer " + token}, {"Origin", own},
		{"X-Chatwright-Token", token, "Origin", "https://chatwright.dev"}, {"X-Chatwright-Token", token, "Origin", "http://chatwright.localhost"},
		{"X-Chatwright-Token", token, "Origin", "http://localhost:3000"}, {"X-Chatwright-Token", token, "Origin", "http://evil.test"},
		{"X-Chatwright-Token", token, "Origin", "null"}, {"X-Chatwright-Token", token, "Origin", "https://" + r.Addr},
		{"X-Chatwright-Token", token, "Origin", own, "Origin", "http://evil.test"}, {"X-Chatwright-Token", token, "Origin", own, "Sec-Fetch-Site", "cross-site"},
		{"X-Chatwright-Token", token, "Sec-Fetch-Site", "same-site"}, {"X-Chatwright-Token", token, "Host", "rebind.test", "Origin", "http://rebind.test"},
	} {
		got := ask(t, r, "POST", path, body, headers...)
		if got.Status != 403 || strings.Contains(got.Body, token) {
			t.Errorf("%q: got %d %s, want 403", headers, got.Status, got.Body)
		}
	}
	if got := d.all(); got != "" {
		t.Fatalf("refused requests did %s", got)
	}
	for _, headers := range [][]string{{"Origin", own, "Sec-Fetch-Site", "same-origin"}, nil} {
		ask(t, r, "POST", path, body, append(headers, "X-Chatwright-Token", token)...).wants(t, 204, "")
	}
	if got := d.all(); got != "look-again, look-again" {
		t.Errorf("got %s", got)
	}
}

func TestActions(t *testing.T) {
	r, d := withConsole(t)
	token := pageToken(t, r, "/console/", openedInATab...)
	for _, c := range []struct {
		action, body string
		status       int
		want         string
	}{
		{"studio-update", "{}", 204, ""}, {"studio-cancel", "", 204, ""}, {"studio-rollback", "{}", 204, ""},
		{"use-upstream", `{"upstream":"demo"}`, 204, ""}, {"capture", `{"mode":"disk"}`, 204, ""},
		{"use-upstream", `{"upstream":"gone"}`, 409, `{"error":"there is no such upstream","hint":"look again"}`},
		{"use-upstream", `{}`, 400, `"error":"upstream is missing"`}, {"capture", `{"mode":"everything"}`, 400, `"hint":"off, memory or disk"`},
		{"capture", `{"mode":`, 400, "error"}, {"capture", `{"mode":"off","more":1}`, 400, "more"},
		{"capture", `{"mode":"` + strings.Repeat("x", 65<<10) + `"}`, 413, "64 KiB"}, {"format-disk", "{}", 404, "not found"},
	} {
		got := ask(t, r, "POST", "/console/actions/"+c.action, c.body, "X-Chatwright-Token", token)
		if got.Status != c.status || !strings.Contains(got.Body, c.want) {
			t.Errorf("%s %.60s: got %d %s, want %d and %s", c.action, c.body, got.Status, got.Body, c.status, c.want)
		}
	}
	if got, want := d.all(), "studio-update, studio-cancel, studio-rollback, use-upstream demo, capture disk, use-upstream gone"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// security.md 5: no GET changes state.
func TestNoGetActs(t *testing.T) {
	r, d := withConsole(t)
	token := pageToken(t, r, "/console/", openedInATab...)
	for _, action := range []string{"studio-update", "studio-cancel", "studio-rollback", "use-upstream", "look-again", "capture"} {
		for _, method := range []string{"GET", "HEAD", "PUT", "DELETE"} {
			got := ask(t, r, method, "/console/actions/"+action+"?mode=disk&upstream=demo", "", "X-Chatwright-Token", token)
			if got.Status != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: got %d", method, action, got.Status)
			}
		}
	}
	for _, path := range consolePaths {
		ask(t, r, "GET", path, "")
	}
	if got := d.all(); got != "" {
		t.Errorf("they did %s", got)
	}
}

// A server that nobody gives a console, and one that other machines reach, shows the calls, holds no token and does
// nothing.
func TestConsoleElsewhere(t *testing.T) {
	remote := strings.Repeat("t", 32)
	bare := servertest.Start(t, server.Config{})
	far, d := withConsole(t, func(c *server.Config) { c.RemoteToken = []byte(remote) })
	for name, r := range map[string]*servertest.Running{"bare": bare, "remote": far} {
		auth := []string{"Authorization", "Bearer " + remote}
		if got := pageToken(t, r, "/console/", append(auth, openedInATab...)...); got != "" {
			t.Errorf("%s: the page holds a token", name)
		}
		ask(t, r, "GET", "/console/calls", "", auth...).wants(t, 200, `{"calls":[],"next":""}`+"\n")
		for _, path := range consolePaths[1:] {
			if got := ask(t, r, "GET", path, "", auth...); got.Status != 404 {
				t.Errorf("%s: GET %s: got %d, want 404", name, path, got.Status)
			}
		}
		for _, token := range []string{"", remote} {
			got := ask(t, r, "POST", "/console/actions/look-again", "{}", append(auth, "X-Chatwright-Token", token)...)
			if got.Status < 400 {
				t.Errorf("%s: got %d", name, got.Status)
			}
		}
	}
	if d.all() != "" {
		t.Errorf("they did %s", d.all())
	}
}

// Where no calls are recorded the pages are made of those in memory.
func TestCallsInMemoryPageByPage(t *testing.T) {
	store := metrics.New(5)
	for i, model := range strings.Split("a b a c a b a", " ") {
		store.Begin(model)
		call := protocol.Call{ID: fmt.Sprint(i + 1), Model: model, Verdict: protocol.VerdictComplete, Upstream: "Local"}
		if i == 5 {
			call.Verdict, call.Error = protocol.VerdictUpstreamError, "It is FULL"
		}
		store.End(call)
	}
	r := servertest.Start(t, server.Config{Metrics: store})
	read := func(query string) (string, protocol.RecordedCalls) {
		t.Helper()
		got := ask(t, r, "GET", "/console/calls?"+query, "")
		var page protocol.RecordedCalls
		if err := json.Unmarshal([]byte(got.Body), &page); err != nil {
			t.Fatalf("%s: %v", got.Body, err)
		}
		return ids(protocol.CallsPage{Calls: page.Calls}), page
	}
	for query, want := range map[string]string{
		"": "7 6 5 4 3", "limit=2": "7 6", "model=a": "7 5 3", "status=error": "6", "status=ok&limit=2": "7 5", "verdict=upstream-error": "6",
		"text=full": "6", "text=LOCAL": "7 6 5 4 3", "text=nowhere": "", "before=5": "4 3", "before=1": "",
	} {
		if got, _ := read(query); got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
	var all []string
	for next := ""; ; {
		got, page := read("limit=2&before=" + next)
		all = append(all, got)
		if next = page.Next; next == "" {
			break
		}
	}
	if got := strings.Join(all, " | "); got != "7 6 | 5 4 | 3" {
		t.Errorf("got %s", got)
	}
	for _, query := range []string{"limit=0", "limit=2001", "limit=x", "status=maybe", "before=x", "before=-1", "text=%zz"} {
		if got := ask(t, r, "GET", "/console/calls?"+query, ""); got.Status != 400 {
			t.Errorf("%q: got %d %s, want 400", query, got.Status, got.Body)
		}
	}
}

func TestRecordedCalls(t *testing.T) {
	var asked protocol.CallsQuery
	r, _ := withConsole(t, func(c *server.Config) {
		c.Console.Calls = func(_ context.Context, q protocol.CallsQuery) (protocol.RecordedCalls, error) {
			switch asked = q; q.Before {
			case "bad":
				return protocol.RecordedCalls{}, server.ErrCursor
			case "down":
				return protocol.RecordedCalls{}, hint.With(errors.New("the disk is full"), "make room")
			}
			return protocol.RecordedCalls{Calls: []protocol.Call{{ID: "x"}}, Next: "9.9"}, nil
		}
	})
	got := ask(t, r, "GET", "/console/calls?before=1.2&limit=2000&model=m%2F1&status=error&verdict=loading&text=a+b", "")
	want := protocol.CallsQuery{Before: "1.2", Limit: 2000, Model: "m/1", Status: protocol.CallsError, Verdict: protocol.VerdictLoading, Text: "a b"}
	if asked != want || got.Status != 200 || !strings.Contains(got.Body, `"id":"x"`) || !strings.Contains(got.Body, `"next":"9.9"`) {
		t.Errorf("asked for %+v, want %+v; got %d %s", asked, want, got.Status, got.Body)
	}
	if got := ask(t, r, "GET", "/console/calls?before=bad", ""); got.Status != 400 {
		t.Errorf("got %d %s, want 400", got.Status, got.Body)
	}
	if got := ask(t, r, "GET", "/console/calls?before=down", ""); got.Status != 503 || !strings.Contains(got.Body, `"hint":"make room"`) {
		t.Errorf("got %d %s, want 503 with the hint", got.Status, got.Body)
	}
}
