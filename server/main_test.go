package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/servertest"
)

// childMode in the environment makes the test binary a process to start and stop.
const childMode = "SERVER_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childMode) {
	case "":
		goleak.VerifyTestMain(m)
	case "obedient":
		childUntil(syscall.SIGTERM)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		childUntil(syscall.SIGINT)
	}
}

// childUntil says that it is ready and ends at the signal, or when its test took far too long.
func childUntil(s os.Signal) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, s)
	fmt.Println("ready", os.Getpid(), strings.Join(os.Args[1:], " "))
	select {
	case <-c:
	case <-time.After(time.Minute):
	}
	fmt.Println("ended")
}

type answer struct {
	Status int
	Header http.Header
	Body   string
}

// ask sends one request to r. The headers come in pairs; Host sets the request's host.
func ask(t *testing.T, r *servertest.Running, method, path, body string, headers ...string) answer {
	t.Helper()
	// An answer that goes on for ever is one that was to be refused: that fails the test, and no more than it.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, r.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for pair := range slices.Chunk(headers, 2) {
		if pair[0] == "Host" {
			req.Host = pair[1]
			continue
		}
		req.Header.Add(pair[0], pair[1])
	}
	resp, err := r.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(got)}
}

// raw sends bytes as they are and returns the answer to them, and whether it said that the connection ends, which did.
func raw(t *testing.T, r *servertest.Running, request string) (got answer, closed bool) {
	t.Helper()
	conn, err := net.Dial("tcp", r.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, strings.ReplaceAll(request, "ADDR", r.Addr)); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	resp, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, err = reader.ReadByte()
	return answer{resp.StatusCode, resp.Header, string(body)}, resp.Close && err == io.EOF
}

func (a answer) wants(t *testing.T, status int, body string) {
	t.Helper()
	if a.Status != status || a.Body != body {
		t.Errorf("got %d %q, want %d %q", a.Status, a.Body, status, body)
	}
}

func (a answer) wantsHeader(t *testing.T, name string, want ...string) {
	t.Helper()
	if got := a.Header.Values(name); !slices.Equal(got, want) {
		t.Errorf("header %s: got %q, want %q", name, got, want)
	}
}

const jsonType = "application/json; charset=utf-8"

// scenarios are what most tests need of a model server.
var scenarios = map[string]servertest.Scenario{
	"chat":   {Body: `{"id":"c1","model":"m1","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":7}}`},
	"stream": {Pieces: []string{sse(`{"model":"m1","choices":[{"delta":{"content":"a"}}]}`), sse(`{"model":"m1","choices":[{"delta":{"content":"b"}}]}`), sse("[DONE]")}},
	"stall":  {Pieces: []string{sse(`{"model":"m1","choices":[{"delta":{"content":"a"}}]}`)}, End: servertest.EndStall},
	"silent": {Before: make(chan struct{})},
	"cors": {Body: `{"choices":[]}`, Header: http.Header{
		"Access-Control-Allow-Origin": {"*"}, "Access-Control-Allow-Credentials": {"true"}, "Vary": {"Accept-Encoding"}, "Set-Cookie": {"a=b"},
	}},
	"limited": {Status: 429, Body: `{"error":{"message":"slow down"}}`, Header: http.Header{"Retry-After": {"7"}}},
	"html":    {Status: 500, Body: "<h1>oops</h1>", Header: http.Header{"Content-Type": {"text/html"}}},
	"cut":     {Pieces: []string{sse(`{"model":"m1","choices":[{"delta":{"content":"a"}}]}`)}, End: servertest.EndReset},
	"moved":   {Status: 307, Header: http.Header{"Location": {"http://127.0.0.1:1/elsewhere"}}},
}

func sse(data string) string { return "data: " + data + "\n\n" }

// withUpstream serves a companion whose upstream plays one of scenarios, or of more.
func withUpstream(t *testing.T, scenario string, cfg server.Config, more ...map[string]servertest.Scenario) (*servertest.Running, *servertest.Provider) {
	t.Helper()
	all := maps.Clone(scenarios)
	for _, m := range more {
		maps.Copy(all, m)
	}
	provider := servertest.NewProvider(t, all)
	cfg.UpstreamBaseURL = provider.BaseURL(scenario)
	return servertest.Start(t, cfg), provider
}

const chatPath, chatBody = "/v1/chat/completions", `{"model":"m1","messages":[{"role":"user","content":"hi"}]}`

// inProcess asks a server without a connection.
func inProcess(s *server.Server, method, path, body string) answer {
	w := httptest.NewRecorder()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Host = "localhost"
	s.Handler().ServeHTTP(w, req)
	return answer{w.Code, w.Header(), w.Body.String()}
}
