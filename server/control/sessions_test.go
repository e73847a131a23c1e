package control_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"chatwright.dev/tray/server/control"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/policy"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/session"
)

// A model is what a test makes the model do.
type model func(ctx context.Context, req session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error)

func (m model) Stream(ctx context.Context, req session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
	return m(ctx, req, emit)
}

// echo answers with what was said last.
func echo(_ context.Context, req session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
	emit(session.Delta{Text: "You said: " + req.Messages[len(req.Messages)-1].Text})
	return session.ModelResult{FinishReason: "stop", Model: "echo", Usage: &protocol.Usage{InputTokens: 3, OutputTokens: 5}}, nil
}

// stall answers nothing until it is interrupted.
func stall(ctx context.Context, _ session.ModelRequest, _ func(session.Delta)) (session.ModelResult, error) {
	<-ctx.Done()
	return session.ModelResult{}, ctx.Err()
}

// manage returns a manager whose turns are over when the test is.
func manage(t testing.TB, answer model) *session.Manager {
	t.Helper()
	m, err := session.Open(session.Config{Dir: filepath.Join(t.TempDir(), "sessions"), Model: answer})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = m.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return m
}

// decodeAs reads an answer that has this status.
func decodeAs[T any](t *testing.T, got answer, status int) T {
	t.Helper()
	var v T
	if got.status != status {
		t.Fatalf("got %d %s, want %d", got.status, got.body, status)
	}
	if err := json.Unmarshal([]byte(got.body), &v); err != nil {
		t.Fatalf("body %q: %v", got.body, err)
	}
	return v
}

func (d *daemon) create(t *testing.T, workspace string) protocol.Session {
	t.Helper()
	body := fmt.Sprintf(`{"workspace":%q}`, workspace)
	return decodeAs[protocol.Session](t, d.do(t, http.MethodPost, "/v1/sessions", body), http.StatusCreated)
}

// awaitEnd waits for the end of the newest turn and returns all events.
func awaitEnd(t *testing.T, m *session.Manager, id string) []protocol.Event {
	t.Helper()
	var events []protocol.Event
	for cursor := (session.Cursor{}); ; {
		page, err := m.After(id, cursor, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range page.Entries {
			var e protocol.Event
			if err := json.Unmarshal(entry.JSON, &e); err != nil {
				t.Fatal(err)
			}
			events = append(events, e)
		}
		if cursor = page.Next; page.Changed != nil {
			if events[len(events)-1].Type == protocol.EventTurnCompleted {
				return events
			}
			<-page.Changed
		}
	}
}

func TestASessionFromItsBeginningToItsPurge(t *testing.T) {
	m := manage(t, echo)
	d := start(t, control.Config{Manager: m})
	workspace := t.TempDir()
	made := decodeAs[protocol.Session](t, d.do(t, http.MethodPost, "/v1/sessions",
		fmt.Sprintf(`{"workspace":%q,"model":"llama3.2","upstream":"work","sandbox_mode":"workspace-write"}`, workspace)), http.StatusCreated)
	path := "/v1/sessions/" + made.ID
	if made.State != protocol.SessionIdle || !made.Live || made.Workspace != workspace || made.Model != "llama3.2" || made.Upstream != "work" ||
		made.SandboxMode != "workspace-write" || made.LastSeq != 1 || made.FirstSeq != 1 {
		t.Errorf("created: got %+v", made)
	}
	turn := decodeAs[protocol.TurnResponse](t, d.do(t, http.MethodPost, path+"/turns", `{"text":"hello","submission_id":"one"}`), http.StatusAccepted)
	again := decodeAs[protocol.TurnResponse](t, d.do(t, http.MethodPost, path+"/turns", `{"text":"hello","submission_id":"one"}`), http.StatusAccepted)
	if turn.TurnID == "" || turn != again {
		t.Errorf("the same submission: got %v and %v", turn, again)
	}
	events := awaitEnd(t, m, made.ID)
	page := decodeAs[protocol.EventsPage](t, d.do(t, http.MethodGet, path+"/events?from=2", "", "Accept", "application/json"), http.StatusOK)
	if len(page.Events) != len(events)-1 || page.Next != uint64(len(events))+1 || page.Events[0].Seq != 2 {
		t.Errorf("a page: got %+v", page)
	}
	if got := d.do(t, http.MethodPost, path+"/name", `{"name":"Greetings"}`); got.status != http.StatusNoContent {
		t.Errorf("rename: got %d %s", got.status, got.body)
	}
	if got := d.do(t, http.MethodPost, path+"/interrupt", ""); got.status != http.StatusNoContent {
		t.Errorf("interrupt: got %d %s", got.status, got.body)
	}
	shown := decodeAs[protocol.Session](t, d.do(t, http.MethodGet, path, ""), http.StatusOK)
	if shown.Title != "Greetings" || shown.LastSeq != uint64(len(events))+1 {
		t.Errorf("shown: got %+v", shown)
	}
	if got := d.do(t, http.MethodDelete, path, ""); got.status != http.StatusNoContent {
		t.Errorf("delete: got %d %s", got.status, got.body)
	}
	if list := decodeAs[protocol.SessionList](t, d.do(t, http.MethodGet, "/v1/sessions", ""), http.StatusOK); list.Sessions == nil || len(list.Sessions) != 0 {
		t.Errorf("live: got %+v, want []", list)
	}
	query := "/v1/sessions?recorded=1&workspace=" + url.QueryEscape(workspace)
	list := decodeAs[protocol.SessionList](t, d.do(t, http.MethodGet, query, ""), http.StatusOK)
	if len(list.Sessions) != 1 || list.Sessions[0].Live || list.Sessions[0].Title != "Greetings" || list.Sessions[0].State != protocol.SessionClosed {
		t.Errorf("recorded: got %+v", list)
	}
	if got := d.do(t, http.MethodPost, path+"/name", `{"name":""}`); got.status != http.StatusNoContent {
		t.Errorf("rename of a recorded one: got %d %s", got.status, got.body)
	}
	resumed := decodeAs[protocol.Session](t, d.do(t, http.MethodPost, "/v1/sessions", fmt.Sprintf(`{"resume":%q}`, made.ID)), http.StatusCreated)
	if resumed.ID == made.ID || resumed.Title != "hello" || resumed.Model != "llama3.2" {
		t.Errorf("resumed: got %+v", resumed)
	}
	if got := d.do(t, http.MethodDelete, path+"?purge=1", ""); got.status != http.StatusNoContent {
		t.Errorf("purge: got %d %s", got.status, got.body)
	}
	wantError(t, d.do(t, http.MethodGet, path, ""), 404, protocol.CodeSessionNotFound, "no such session")
}

// The table of routes and errors of sessions.md, as far as there are no tools yet.
func TestSessionErrorsAreTheOnesThatClientsDecideOn(t *testing.T) {
	m := manage(t, stall)
	d := start(t, control.Config{Manager: m})
	workspace := t.TempDir()
	live := "/v1/sessions/" + d.create(t, workspace).ID
	running := "/v1/sessions/" + d.create(t, workspace).ID
	if got := d.do(t, http.MethodPost, running+"/turns", `{"text":"hello"}`); got.status != http.StatusAccepted {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	ended := "/v1/sessions/" + d.create(t, workspace).ID
	d.do(t, http.MethodDelete, ended, "")
	const gone = "/v1/sessions/20200101-000000000-none"
	big := `{"text":"` + strings.Repeat("x", 64<<10) + `"}`
	for _, c := range []struct {
		method, path, body string
		status             int
		code               protocol.ErrorCode
	}{
		{"POST", "/v1/sessions", `{"workspace":"relative"}`, 400, protocol.CodeWorkspace},
		{"POST", "/v1/sessions", `{"workspace":"/no/such/folder"}`, 400, protocol.CodeWorkspace},
		{"POST", "/v1/sessions", `{}`, 400, protocol.CodeWorkspace},
		{"POST", "/v1/sessions", `{"workspace":"/","sandbox_mode":"none"}`, 400, protocol.CodeInvalidInput},
		{"POST", "/v1/sessions", `{"workspace":"/","colour":"red"}`, 400, protocol.CodeInvalidInput},
		{"POST", "/v1/sessions", big, 413, protocol.CodeTooLarge},
		{"POST", "/v1/sessions", `{"resume":"20200101-000000000-none"}`, 404, protocol.CodeSessionNotFound},
		{"POST", "/v1/sessions", `{"resume":"../../etc/passwd"}`, 404, protocol.CodeSessionNotFound},
		{"GET", "/v1/sessions?recorded=maybe", "", 400, protocol.CodeInvalidInput},
		{"GET", gone, "", 404, protocol.CodeSessionNotFound},
		{"DELETE", gone, "", 404, protocol.CodeSessionNotFound},
		{"DELETE", live + "?purge=perhaps", "", 400, protocol.CodeInvalidInput},
		{"GET", gone + "/events", "", 404, protocol.CodeSessionNotFound},
		{"GET", live + "/events?from=0", "", 400, protocol.CodeInvalidInput},
		{"GET", live + "/events?from=x", "", 400, protocol.CodeInvalidInput},
		{"GET", live + "/events?from=99999999999999999999", "", 400, protocol.CodeInvalidInput},
		{"POST", gone + "/name", `{"name":"x"}`, 404, protocol.CodeSessionNotFound},
		{"POST", live + "/name", `{"name":"` + strings.Repeat("é", 121) + `"}`, 400, protocol.CodeInvalidInput},
		{"POST", live + "/name", `{"name":"a\nb"}`, 400, protocol.CodeInvalidInput},
		{"POST", live + "/name", `{"title":"x"}`, 400, protocol.CodeInvalidInput},
		{"POST", gone + "/turns", `{"text":"x"}`, 404, protocol.CodeSessionNotFound},
		{"POST", ended + "/turns", `{"text":"x"}`, 409, protocol.CodeConflict},
		{"POST", live + "/turns", `{}`, 400, protocol.CodeInvalidInput},
		{"POST", live + "/turns", `{"text":"x"`, 400, protocol.CodeInvalidInput},
		{"POST", live + "/turns", `{"text":"x","tool":"y"}`, 400, protocol.CodeInvalidInput},
		{"POST", live + "/turns", `{"text":"x","images":[{"media_type":"image/png","data":"%"}]}`, 400, protocol.CodeInvalidInput},
		{"POST", live + "/turns", big, 413, protocol.CodeTooLarge},
		{"POST", running + "/turns", `{"text":"x"}`, 409, protocol.CodeTurnActive},
		{"POST", "/v1/sessions", fmt.Sprintf(`{"resume":%q}`, filepath.Base(running)), 409, protocol.CodeTurnActive},
		{"POST", gone + "/interrupt", "", 404, protocol.CodeSessionNotFound},
		{"POST", live + "/interrupt", `{"now":true}`, 400, protocol.CodeInvalidInput},
		{"POST", live + "/steer", `{"text":"x"}`, 409, protocol.CodeNoActiveTurn},
		{"POST", ended + "/steer", `{"text":"x"}`, 409, protocol.CodeConflict},
		{"POST", running + "/steer", `{"text":" "}`, 400, protocol.CodeInvalidInput},
		{"POST", live + "/undo", "", 404, protocol.CodeNotFound},
		{"POST", gone + "/undo", "", 404, protocol.CodeSessionNotFound},
		{"POST", live + "/approvals/a1", `{"decision":"allow"}`, 404, protocol.CodeNotFound},
		{"POST", live + "/approvals/a1", `{"decision":"perhaps"}`, 400, protocol.CodeInvalidInput},
		{"POST", gone + "/approvals/a1", `{"decision":"deny"}`, 404, protocol.CodeSessionNotFound},
		{"POST", live + "/approvals/", `{"decision":"deny"}`, 404, protocol.CodeNotFound},
		{"GET", "/v1/specs", "", 400, protocol.CodeWorkspace},
		{"GET", "/v1/specs?workspace=here", "", 400, protocol.CodeWorkspace},
		{"GET", live + "/", "", 404, protocol.CodeNotFound},
		{"GET", live + "/secrets", "", 404, protocol.CodeNotFound},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			wantError(t, d.do(t, c.method, c.path, c.body), c.status, c.code, "")
		})
	}
	for path, allow := range map[string]string{"": "DELETE, GET", "/name": "POST", "/events": "GET", "/turns": "POST", "/interrupt": "POST", "/steer": "POST", "/undo": "POST", "/approvals/a": "POST"} {
		got := d.do(t, "PATCH", live+path, "")
		wantError(t, got, 405, protocol.CodeMethod, "")
		if got.header.Get("Allow") != allow {
			t.Errorf("%s: Allow: got %q, want %q", path, got.header.Get("Allow"), allow)
		}
	}
}

// sessions.md: anything else in a path is 404 and touches no file.
func TestIDsThatAreNoneTouchNoFile(t *testing.T) {
	m := manage(t, echo)
	d := start(t, control.Config{Manager: m})
	d.create(t, t.TempDir())
	for _, id := range []string{"..%2F..%2Fetc", "..%2f..%2fetc%2fpasswd", "%2e%2e%2f%2e%2e%2fetc", "..", ".", "...", "%2e%2e", "a%00aaaaaaaa",
		"short", "UPPERCASE-ID", strings.Repeat("a", 41), "20261130%2d154353764-k7ra", "a.jsonl.", "..%5c..%5cetc", "%C3%BCmlautid"} {
		for _, rest := range []string{"", "/events", "/name", "/turns", "/interrupt", "/../x"} {
			for _, method := range []string{"GET", "POST", "DELETE"} {
				wantError(t, d.raw(t, method, "/v1/sessions/"+id+rest), 404, protocol.CodeSessionNotFound, "no such session")
			}
		}
	}
}

// raw asks for a path as it is written.
func (d *daemon) raw(t *testing.T, method, path string) answer {
	t.Helper()
	req, err := http.NewRequest(method, "http://daemon/", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.URL.Opaque = path
	return d.send(t, req)
}

func TestImagesMayTakeMoreThanTextAlone(t *testing.T) {
	m := manage(t, echo)
	d := start(t, control.Config{Manager: m})
	s := d.create(t, t.TempDir())
	picture := func(size int) string {
		return fmt.Sprintf(`{"text":"see","images":[{"media_type":"image/png","data":%q}]}`, base64.StdEncoding.EncodeToString(append([]byte("\x89PNG"), make([]byte, size)...)))
	}
	if got := d.do(t, http.MethodPost, "/v1/sessions/"+s.ID+"/turns", picture(3<<20)); got.status != http.StatusAccepted {
		t.Fatalf("3 MiB: got %d %s", got.status, got.body)
	}
	awaitEnd(t, m, s.ID)
	wantError(t, d.do(t, http.MethodPost, "/v1/sessions/"+s.ID+"/turns", picture(25<<20)), 413, protocol.CodeTooLarge, "32 MiB")
}

// What is too long for one message can be said in several, and whoever typed it is told so.
func TestATextThatIsTooLongNamesAWayOut(t *testing.T) {
	d := start(t, control.Config{Manager: manage(t, echo)})
	s := d.create(t, t.TempDir())
	long := `{"text":"` + strings.Repeat("x", 64<<10) + `"}`
	got := wantError(t, d.do(t, http.MethodPost, "/v1/sessions/"+s.ID+"/turns", long), 413, protocol.CodeTooLarge, "64 KiB")
	if got.Hint != "say it in parts" {
		t.Errorf("the way out: got %q", got.Hint)
	}
}

func TestThereIsAMostOfSessionsEvenForThoseWhoComeAtOnce(t *testing.T) {
	m := manage(t, echo)
	d := start(t, control.Config{Manager: m, MaxSessions: 3})
	workspace := t.TempDir()
	var mu sync.Mutex
	count := make(map[int]int)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			got := d.do(t, http.MethodPost, "/v1/sessions", fmt.Sprintf(`{"workspace":%q}`, workspace))
			mu.Lock()
			defer mu.Unlock()
			if count[got.status]++; got.status != http.StatusCreated {
				if body := wantError(t, got, 503, protocol.CodeMaxSessions, "3 live sessions"); body.Hint == "" {
					t.Error("no hint")
				}
			}
		})
	}
	wg.Wait()
	if count[201] != 3 || count[503] != 7 {
		t.Errorf("got %v, want 3 made and 7 refused", count)
	}
	d.do(t, http.MethodDelete, "/v1/sessions/"+m.Live()[0].ID(), "")
	d.create(t, workspace)
}

func TestBuildMakesTheSessionsAndSaysWhyNot(t *testing.T) {
	m := manage(t, echo)
	d := start(t, control.Config{Manager: m, DefaultMode: policy.WorkspaceWrite, Build: func(req protocol.CreateSessionRequest) (*session.Session, error) {
		if req.Upstream == "nowhere" {
			return nil, hint.With(control.Refuse(protocol.CodeInvalidInput, "there is no upstream nowhere"), "list them")
		}
		if req.Upstream == "broken" {
			return nil, errors.New("it broke")
		}
		req.Model = "chosen"
		return m.Create(req)
	}})
	workspace := t.TempDir()
	if got := d.create(t, workspace); got.Model != "chosen" || got.SandboxMode != "workspace-write" {
		t.Errorf("got %+v, want what Build chose and the default mode", got)
	}
	body := wantError(t, d.do(t, http.MethodPost, "/v1/sessions", `{"workspace":"/","upstream":"nowhere"}`), 400, protocol.CodeInvalidInput, "no upstream")
	if body.Hint != "list them" {
		t.Errorf("hint: got %q", body.Hint)
	}
	wantError(t, d.do(t, http.MethodPost, "/v1/sessions", `{"workspace":"/","upstream":"broken"}`), 500, protocol.CodeInternal, "it broke")
}

func TestWithoutAManagerThereAreOnlyRecords(t *testing.T) {
	d := start(t, control.Config{})
	if got := d.do(t, http.MethodGet, "/v1/sessions?recorded=1", ""); got.body != `{"sessions":[]}`+"\n" {
		t.Errorf("got %d %s", got.status, got.body)
	}
	wantError(t, d.do(t, http.MethodPost, "/v1/sessions", `{"workspace":"/"}`), 404, protocol.CodeNotFound, "holds no sessions")
	wantError(t, d.do(t, http.MethodGet, "/v1/sessions/20200101-000000000-none", ""), 404, protocol.CodeSessionNotFound, "")

	dir := t.TempDir()
	const id = "20261130-154353764-k7ra"
	record := `{"seq":1,"session_id":"` + id + `","type":"session.created","at":"2026-11-30T15:43:53Z","payload":{"workspace":"/w"}}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	d = start(t, control.Config{RecordDir: dir})
	if got := decodeAs[protocol.Session](t, d.do(t, http.MethodGet, "/v1/sessions/"+id, ""), http.StatusOK); got.Workspace != "/w" || got.Live {
		t.Errorf("got %+v", got)
	}
	wantError(t, d.do(t, http.MethodPost, "/v1/sessions", `{"workspace":"/"}`), 404, protocol.CodeNotFound, "holds no sessions")
}

func TestSpecsAreListed(t *testing.T) {
	workspace := t.TempDir()
	d := start(t, control.Config{})
	if got := d.do(t, http.MethodGet, "/v1/specs?workspace="+url.QueryEscape(workspace), ""); got.body != `{"folders":[]}`+"\n" {
		t.Errorf("without a source: got %d %s", got.status, got.body)
	}
	d = start(t, control.Config{Specs: func(_ context.Context, asked string) []protocol.SpecFolder {
		return []protocol.SpecFolder{{Path: asked, Pending: []string{"a.md"}}}
	}})
	got := decodeAs[protocol.SpecList](t, d.do(t, http.MethodGet, "/v1/specs?workspace="+url.QueryEscape(workspace), ""), http.StatusOK)
	if len(got.Folders) != 1 || got.Folders[0].Path != workspace {
		t.Errorf("got %+v", got)
	}
}

// sessions.md: the one combination that leaves nothing between an agent and the machine is warned of once, at boot.
func TestTheUnguardedCombinationIsWarnedOfOnce(t *testing.T) {
	for _, mode := range append(policy.SandboxModes(), "") {
		for _, when := range append(policy.ApprovalPolicies(), "") {
			warned := 0
			control.New(control.Config{DefaultMode: mode, DefaultPolicy: when, Log: func(string) { warned++ }})
			want := 0
			if mode == policy.FullAccess && when == policy.AskNever {
				want = 1
			}
			if warned != want {
				t.Errorf("%q and %q: got %d warnings, want %d", mode, when, warned, want)
			}
		}
	}
}

// security.md 12, on the routes of sessions too.
func TestBrowsersReachNoSession(t *testing.T) {
	m := manage(t, echo)
	d := start(t, control.Config{Manager: m})
	wantError(t, d.do(t, http.MethodPost, "/v1/sessions", `{"workspace":"/"}`, "Origin", "null"), 403, protocol.CodeForbidden, "Origin")
	if len(m.Live()) != 0 {
		t.Error("a session was made")
	}
}
