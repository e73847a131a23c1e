package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/proxy"
	"chatwright.dev/tray/server/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds waiting for what must happen. Nothing waits this long when all is well.
const patience = 10 * time.Second

// front is a proxy that listens on a real socket, and what it recorded.
type front struct {
	t      testing.TB
	url    string
	client *http.Client
	proxy  *proxy.Proxy
	ended  chan protocol.Call

	mu    sync.Mutex
	begun []string
}

// startFront starts a proxy to target. The given function may change its configuration.
func startFront(t testing.TB, target *upstream.Target, change ...func(*proxy.Config)) *front {
	t.Helper()
	f := &front{t: t, ended: make(chan protocol.Call, 4096)}
	cfg := proxy.Config{
		Target: func() *upstream.Target { return target },
		Begin: func(model string) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.begun = append(f.begun, model)
		},
		End: func(c protocol.Call) { f.ended <- c },
	}
	for _, f := range change {
		f(&cfg)
	}
	p := proxy.New(cfg)
	f.proxy = p
	mux := http.NewServeMux()
	mux.Handle("/v1/chat/completions", p.ChatCompletions())
	mux.Handle("/v1/models", p.Models())
	server := httptest.NewServer(mux)
	f.url = server.URL + "/v1"
	f.client = &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 256}}
	t.Cleanup(func() {
		f.client.CloseIdleConnections()
		server.CloseClientConnections()
		server.Close()
		if pool, ok := target.Transport.(interface{ CloseIdleConnections() }); ok {
			pool.CloseIdleConnections()
		}
	})
	return f
}

// behind starts an upstream with handler, and a proxy to it.
func behind(t testing.TB, handler http.HandlerFunc, change ...func(*proxy.Config)) *front {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return startFront(t, parse(t, server.URL+"/v1"), change...)
}

func parse(t testing.TB, baseURL string) *upstream.Target {
	t.Helper()
	target, err := upstream.Parse(baseURL)
	if err != nil {
		t.Fatalf("parsing %s: %v", baseURL, err)
	}
	return target
}

// do sends one request and reads the whole answer.
func (f *front) do(method, path, body string, header ...string) (*http.Response, string) {
	f.t.Helper()
	answer, err := f.send(method, path, strings.NewReader(body), header...)
	if err != nil {
		f.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		f.t.Fatalf("%s %s: reading the answer: %v", method, path, err)
	}
	return answer, string(text)
}

// send sends one request; the header is given as names and values in turn.
func (f *front) send(method, path string, body io.Reader, header ...string) (*http.Response, error) {
	return f.sendWith(context.Background(), method, path, body, header...)
}

func (f *front) sendWith(ctx context.Context, method, path string, body io.Reader, header ...string) (*http.Response, error) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, f.url+path, body)
	if err != nil {
		f.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return f.client.Do(r)
}

// chat sends a chat completion and reads the whole answer.
func (f *front) chat(body string, header ...string) (*http.Response, string) {
	f.t.Helper()
	return f.do(http.MethodPost, "/chat/completions", body, header...)
}

// record waits for the record of the next call that ends.
func (f *front) record() protocol.Call {
	f.t.Helper()
	select {
	case c := <-f.ended:
		return c
	case <-time.After(patience):
		f.t.Fatal("no call was recorded")
		return protocol.Call{}
	}
}

// noRecord says that no call was recorded.
func (f *front) noRecord() {
	f.t.Helper()
	select {
	case c := <-f.ended:
		f.t.Errorf("got a record, want none: %+v", c)
	default:
	}
}

func (f *front) wantVerdict(status int, verdict protocol.Verdict) protocol.Call {
	f.t.Helper()
	c := f.record()
	if c.Status != status || c.Verdict != verdict {
		f.t.Errorf("record: got status %d, verdict %q (%s); want %d, %q", c.Status, c.Verdict, c.Error, status, verdict)
	}
	return c
}

// wantOpenAIError reads an error of ours: gateway.md 11.
func wantOpenAIError(t testing.TB, answer *http.Response, body string, status int, code string) string {
	t.Helper()
	if answer.StatusCode != status {
		t.Errorf("status: got %d, want %d", answer.StatusCode, status)
	}
	if got, want := answer.Header.Get("Content-Type"), "application/json; charset=utf-8"; got != want {
		t.Errorf("Content-Type: got %q, want %q", got, want)
	}
	if !strings.HasSuffix(body, "\n") {
		t.Error("the JSON answer has no final newline")
	}
	var got struct {
		Error map[string]any `json:"error"`
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(body)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil {
		t.Fatalf("the error is not the OpenAI object: %v in %s", err, body)
	}
	if got.Error["code"] != code {
		t.Errorf("code: got %v, want %q", got.Error["code"], code)
	}
	for _, name := range []string{"message", "type", "param", "code"} {
		if _, ok := got.Error[name]; !ok {
			t.Errorf("the error object has no %q: %s", name, body)
		}
	}
	if len(got.Error) != 4 || got.Error["param"] != nil {
		t.Errorf("error object: got %v, want message, type, param null and code", got.Error)
	}
	message, _ := got.Error["message"].(string)
	return message
}
