package servertest_test

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func post(t *testing.T, client *http.Client, base string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequest("POST", base+"/chat/completions?a=b", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer sk-1")
	return client.Do(req)
}

func TestProvider(t *testing.T) {
	next, never := make(chan struct{}), make(chan struct{})
	p := servertest.NewProvider(t, map[string]servertest.Scenario{
		"whole":   {Body: "{}", Header: http.Header{"X-Mine": {"1"}}},
		"fails":   {Status: 503, Body: "down"},
		"pieces":  {Pieces: []string{"data: 1\n\n", "data: 2\n\n"}, Next: next},
		"resets":  {Body: "half", End: servertest.EndReset},
		"cuts":    {Body: "half", End: servertest.EndCut},
		"stalls":  {Pieces: []string{"data: 1\n\n"}, End: servertest.EndStall},
		"waiting": {Before: never},
	})
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}

	for name, want := range map[string]struct {
		status int
		body   string
	}{"whole": {200, "{}"}, "fails": {503, "down"}} {
		resp, err := post(t, client, p.BaseURL(name))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != want.status || string(body) != want.body {
			t.Errorf("%s: got %d %q, %v", name, resp.StatusCode, body, err)
		}
	}
	got := p.Await(2)
	if len(p.Requests()) != 2 || got.Authorization() != "Bearer sk-1" || got.Path != "/v1/chat/completions" || got.Query != "a=b" || got.Body != "{}" {
		t.Errorf("got %+v", got)
	}

	resp, err := post(t, client, p.BaseURL("pieces"))
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 9)
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "data: 1\n\n" || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("got %q, %v", first, err)
	}
	close(next)
	rest, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || string(rest) != "data: 2\n\n" {
		t.Errorf("got %q, %v", rest, err)
	}

	for _, name := range []string{"resets", "cuts"} {
		if resp, err := post(t, client, p.BaseURL(name)); err == nil {
			if body, err := io.ReadAll(resp.Body); err == nil {
				t.Errorf("%s: got a clean end after %q", name, body)
			}
			resp.Body.Close()
		}
	}

	resp, err = post(t, client, p.BaseURL("stalls"))
	if err != nil {
		t.Fatal(err)
	}
	request := p.Await(6)
	resp.Body.Close() // the caller leaves
	select {
	case <-request.Left():
	case <-time.After(10 * time.Second):
		t.Error("the provider did not notice that the caller left")
	}
}

func TestStart(t *testing.T) {
	p := servertest.NewProvider(t, map[string]servertest.Scenario{"whole": {Body: "{}"}})
	r := servertest.Start(t, server.Config{UpstreamBaseURL: p.BaseURL("whole")})
	resp, err := post(t, r.Client, r.URL+"/v1")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 || len(p.Requests()) != 1 {
		t.Errorf("got %d, %d calls upstream", resp.StatusCode, len(p.Requests()))
	}
	r.End()
	if err := r.Wait(); err != nil {
		t.Error(err)
	}
}

func TestNeed(t *testing.T) {
	if got := servertest.Need(t, "go", "golang"); got == "" {
		t.Error("the program that runs this test was not found")
	}
	t.Setenv("CHATWRIGHT_TESTS", "")
	skipped := true
	t.Run("missing", func(t *testing.T) {
		servertest.Need(t, "no-such-program-at-all", "none")
		skipped = false
	})
	if !skipped {
		t.Error("a test went on without what it needs")
	}
}

func TestAnswerIsAStreamOfItsText(t *testing.T) {
	pieces := servertest.Answer("naïve 日本語", 4)
	var text, reason string
	for _, piece := range pieces {
		data, ok := strings.CutPrefix(piece, "data: ")
		if !ok || !strings.HasSuffix(data, "\n\n") {
			t.Fatalf("%q is no server-sent event", piece)
		}
		if piece == servertest.Done {
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta        struct{ Content string }
				FinishReason string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatal(err)
		}
		for _, c := range chunk.Choices {
			text += c.Delta.Content
			reason += c.FinishReason
		}
	}
	if text != "naïve 日本語" || reason != "stop" || pieces[len(pieces)-1] != servertest.Done {
		t.Errorf("got %q, %q, %q last", text, reason, pieces[len(pieces)-1])
	}
}

func TestModelsAreListedAtOnceInAnyScenario(t *testing.T) {
	p := servertest.NewProvider(t, map[string]servertest.Scenario{"held": {Before: make(chan struct{}), Models: `{"data":[{"id":"m"}]}`}})
	resp, err := http.Get(p.BaseURL("held") + "/models")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != `{"data":[{"id":"m"}]}` {
		t.Errorf("got %q, %v", body, err)
	}
}

func TestPicturesMakesTheirFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "some", "pictures")
	t.Setenv("CHATWRIGHT_SCREENSHOTS", folder)
	if got := servertest.Pictures(t); got != folder {
		t.Errorf("got %s, want %s", got, folder)
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		t.Errorf("it was not made: %v", err)
	}
	t.Setenv("CHATWRIGHT_SCREENSHOTS", "")
	if info, err := os.Stat(servertest.Pictures(t)); err != nil || !info.IsDir() {
		t.Errorf("without it there is no folder: %v", err)
	}
}

func TestAsNobodyAModeOfAFileApplies(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing there")
	}
	if servertest.AsNobody(t) {
		return
	}
	path := filepath.Join(t.TempDir(), "locked")
	if err := os.WriteFile(path, nil, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(path); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("reading what nobody may read: got %v, want it refused", err)
	}
}
