package app

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"chatwright.dev/tray/server/protocol"
)

// page is the console as a browser has it open.
type page struct {
	l     *living
	base  string
	token string
}

var tokenInPage = regexp.MustCompile(`<meta name="chatwright-token" content="([^"]+)">`)

// browse opens the console.
func (l *living) browse() page {
	l.t.Helper()
	p := page{l: l, base: "http://" + l.discovery().Addr}
	found := tokenInPage.FindStringSubmatch(p.get("/console/", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"))
	if found == nil {
		l.t.Fatal("the page holds no token")
	}
	p.token = found[1]
	return p
}

// get reads as the page does, with its token where it has one; more headers come in pairs.
func (p page) get(path string, headers ...string) string {
	p.l.t.Helper()
	req, err := http.NewRequestWithContext(p.l.t.Context(), http.MethodGet, p.base+path, nil)
	if err != nil {
		p.l.t.Fatal(err)
	}
	req.Header.Set("X-Chatwright-Token", p.token)
	for pair := range slices.Chunk(headers, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.l.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.l.t.Fatal(err)
	}
	return string(body)
}

// act returns the status and the body of an action.
func (p page) act(action, body string) string {
	p.l.t.Helper()
	req, err := http.NewRequestWithContext(p.l.t.Context(), http.MethodPost, p.base+"/console/actions/"+action, strings.NewReader(body))
	if err != nil {
		p.l.t.Fatal(err)
	}
	req.Header.Set("X-Chatwright-Token", p.token)
	req.Header.Set("Origin", p.base)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.l.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, _ := io.ReadAll(resp.Body)
	return fmt.Sprint(resp.StatusCode, " ", string(answer))
}

func read[T any](p page, path string) (value T) {
	p.l.t.Helper()
	if text := p.get(path); json.Unmarshal([]byte(text), &value) != nil {
		p.l.t.Fatalf("%s: got %s", path, text)
	}
	return value
}

func TestConsoleReadsTheHistoryOfEarlierRunsToo(t *testing.T) {
	where := pathsIn(t)
	t.Run("one life", func(t *testing.T) { live(t, func(c *Config) { c.Paths = where }).chat() })
	l := live(t, func(c *Config) { c.Paths = where })
	l.chat()
	p := l.browse()
	first := read[protocol.RecordedCalls](p, "/console/calls?limit=1")
	second := read[protocol.RecordedCalls](p, "/console/calls?limit=1&before="+first.Next)
	if len(first.Calls) != 1 || len(second.Calls) != 1 || !second.Calls[0].Timestamp.Before(first.Calls[0].Timestamp) || second.Next != "" {
		t.Errorf("got %+v and %+v", first, second)
	}
	if got := p.get("/console/calls?before=x"); !strings.Contains(got, "before: it is not the cursor of a page") {
		t.Errorf("got %s", got)
	}
}

func TestConsoleReadsTheMemoryWhereNoHistoryIsKept(t *testing.T) {
	l := live(t, func(c *Config) { c.Settings = settingsWith(t, "history=off") })
	l.chat()
	if got := read[protocol.RecordedCalls](l.browse(), "/console/calls"); len(got.Calls) != 1 {
		t.Errorf("got %+v", got)
	}
}

// The banner, the row of the menu and the status come and go with it; what was said is there for the console.
func TestCaptureIsSwitchedByTheConsoleAndSeenEverywhere(t *testing.T) {
	l := live(t, func(*Config) {})
	p := l.browse()
	const hello = `"content":"Hello"`
	l.chat()
	if got := p.act("capture", `{"mode":"memory"}`); got != "204 " {
		t.Fatalf("got %s", got)
	}
	l.awaitMenu("⚠ Recording what is said")
	l.awaitStatus("the capture", func(s protocol.Status) bool { return s.Capture == protocol.CaptureMemory })
	l.chat()
	calls := read[protocol.RecordedCalls](p, "/console/calls").Calls
	said := read[protocol.CapturedCall](p, "/console/capture/"+calls[0].ID)
	if !strings.Contains(said.Request, hello) || said.Answer == "" {
		t.Errorf("got %+v", said)
	}
	if got := p.get("/console/capture/" + calls[1].ID); !strings.Contains(got, "was not kept") {
		t.Errorf("what was said before: got %s", got)
	}
	if got := p.get("/console/settings"); !strings.Contains(got, `"value":"memory","source":"console"`) {
		t.Errorf("the settings do not say so: %s", got)
	}
	if got := p.act("capture", `{"mode":"disk"}`); got != "204 " {
		t.Fatalf("got %s", got)
	}
	l.awaitMenu("Recording what is said to disk")
	l.chat()
	if state := read[protocol.CaptureState](p, "/console/capture"); state.Kept != 2 || state.Mode != protocol.CaptureDisk {
		t.Errorf("got %+v", state)
	}
	files, _ := filepath.Glob(filepath.Join(l.cfg.Paths.Capture, "call_*.json"))
	if len(files) != 1 {
		t.Fatalf("got files %v, want one", files)
	}
	if data, _ := os.ReadFile(files[0]); !strings.Contains(string(data), `"content": "Hello"`) {
		t.Errorf("got %s", data)
	}
	if got := p.act("capture", `{"mode":"off","forget":true}`); got != "204 " {
		t.Fatalf("got %s", got)
	}
	l.awaitView("no mark", func(menu string) bool { return !strings.Contains(menu, "Recording") })
	if state := read[protocol.CaptureState](p, "/console/capture"); state.Kept != 0 {
		t.Errorf("got %+v", state)
	}
}

// The setting counts from the start, a change of it at once; turns of sessions are calls like any other.
func TestCaptureIsASetting(t *testing.T) {
	l, hangup := hangups(t)
	hangup("capture=memory")
	l.awaitMenu("Recording what is said")
	c := l.client()
	s, err := c.CreateSession(t.Context(), protocol.CreateSessionRequest{Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if reason := turnReason(t, c, s.ID); reason != protocol.TurnDone {
		t.Errorf("the turn ended with %s", reason)
	}
	if state := read[protocol.CaptureState](l.browse(), "/console/capture"); state.Kept != 1 {
		t.Errorf("got %+v, want the turn kept", state)
	}
	hangup()
	l.awaitView("no mark", func(menu string) bool { return !strings.Contains(menu, "Recording") })
}

func TestCaptureOnADiskThatTakesNothingIsANoticeAndNoMore(t *testing.T) {
	l := live(t, func(c *Config) {
		c.Settings = settingsWith(t, "capture=disk")
		if err := os.WriteFile(c.Paths.Capture, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	menu := l.awaitMenu("What is said in calls is not kept")
	if strings.Contains(menu, "Recording") {
		t.Errorf("the menu says that it is:\n%s", menu)
	}
	l.chat()
}

func TestConsoleChoosesAmongUpstreamsThatThereAre(t *testing.T) {
	models := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/props":
			_, _ = io.WriteString(w, `{"total_slots":1}`)
		case "/v1/models":
			_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"qwen3"}]}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(models.Close)
	found := protocol.FoundServer{Kind: "llama.cpp", Name: "llama.cpp", BaseURL: models.URL + "/v1", Reach: protocol.ReachOK}
	l := live(t, func(c *Config) {
		c.Detect.Timeout = patience
		c.Detect.Address = func(port int) string {
			if port == 8080 {
				return models.Listener.Addr().String()
			}
			return ""
		}
	})
	p := l.browse()
	before := read[protocol.Upstreams](p, "/console/upstreams")
	if len(before.Found) != 1 || before.Found[0] != found || before.Active != "configured" || len(before.Named) != 2 {
		t.Errorf("got %+v", before)
	}
	if got := p.act("use-upstream", `{"upstream":"http://elsewhere.test/v1"}`); !strings.HasPrefix(got, "409 ") || !strings.Contains(got, "look again") {
		t.Errorf("a page sends calls where nobody knows: got %s", got)
	}
	for _, upstream := range []string{found.BaseURL, "demo", found.BaseURL} {
		if got := p.act("use-upstream", `{"upstream":"`+upstream+`"}`); got != "204 " {
			t.Fatalf("%s: got %s", upstream, got)
		}
	}
	if got := read[protocol.OfferedModels](p, "/console/models"); got.Upstream.BaseURL != found.BaseURL || len(got.Models) != 1 || got.Models[0].ID != "qwen3" {
		t.Errorf("got %+v", got)
	}
	if got := p.act("look-again", ""); got != "204 " {
		t.Errorf("got %s", got)
	}
}

func TestConsoleAsksAboutStudioWhereACopyIsKept(t *testing.T) {
	p := live(t, func(*Config) {}).browse()
	for _, action := range []string{"studio-update", "studio-cancel", "studio-rollback"} {
		if got := p.act(action, "{}"); !strings.HasPrefix(got, "409 ") || !strings.Contains(got, "restart --ui") {
			t.Errorf("%s: got %s", action, got)
		}
	}
}

func TestConsoleExaminesThisMachine(t *testing.T) {
	l := live(t, func(c *Config) {
		c.Settings = settingsWith(t, "datastate=shop=sqlite:"+filepath.Join(t.TempDir(), "none.db"))
		c.Opener = func() error { return nil }
	})
	got := map[string]protocol.Check{}
	for _, c := range read[protocol.Checks](l.browse(), "/console/doctor").Checks {
		got[c.ID] = c
	}
	if c := got["port"]; c.State != protocol.CheckOK || !strings.Contains(c.Detail, "is served") {
		t.Errorf("got %+v", c)
	}
	if c := got["datastate.shop"]; c.State != protocol.CheckFailed || c.Fix == "" {
		t.Errorf("got %+v", c)
	}
	if c := got["upstream"]; c.State != protocol.CheckOK {
		t.Errorf("got %+v", c)
	}
}

// A page that was open when the server was restarted goes on; one of an earlier process does not.
func TestTokenHoldsForTheProcess(t *testing.T) {
	l := live(t, func(c *Config) { c.Settings = settingsWith(t, "addr="+closedAddr(t)) }) // which it has after a restart too
	p := l.browse()
	if err := l.client().Server(t.Context(), protocol.ServerRestart); err != nil {
		t.Fatal(err)
	}
	again := l.browse()
	if again.token != p.token {
		t.Error("a restart of the server changed the token")
	}
	other := live(t, func(*Config) {}).browse()
	other.token = p.token
	if got := other.act("look-again", "{}"); !strings.HasPrefix(got, "403 ") {
		t.Errorf("the token of another process: got %s", got)
	}
}

// No password of a DSN comes back through the console, its doctor included.
func TestConsoleTellsNoPassword(t *testing.T) {
	const secret = "planted0secret"
	l := live(t, func(c *Config) {
		c.Settings = settingsWith(t, "datastate=shop=postgres://ada:"+secret+"@"+closedAddr(t)+"/shop")
	})
	p := l.browse()
	for _, path := range []string{"/console/settings", "/console/doctor", "/console/upstreams", "/console/models"} {
		if got := p.get(path); strings.Contains(got, secret) {
			t.Errorf("%s: %s", path, got)
		}
	}
}
