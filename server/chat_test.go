package server_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/metrics"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
)

// companion.md, POST /v1/chat/completions: body bytes verbatim, status, headers and bytes back, the query passed on.
// What a browser adds does not go up. Package proxy holds the rest to its specification.
func TestChat(t *testing.T) {
	r, provider := withUpstream(t, "chat", server.Config{})
	const odd = "{\"model\" : \"m1\",\n \"unknown\":[1e400, \"\\u00e9<\"]}  "
	got := ask(t, r, "POST", chatPath+"?api-version=1&x=%20", odd, "Content-Type", "text/odd", "Authorization", "Bearer sk-1",
		"Origin", "http://localhost:3000", "Referer", "http://localhost:3000/x", "Cookie", "a=b", "Sec-Fetch-Site", "same-site",
		"Access-Control-Request-Method", "POST", "X-Forwarded-For", "1.2.3.4", "Connection", "X-Hop", "X-Hop", "1", "X-Mine", "kept")
	got.wants(t, 200, scenarios["chat"].Body)
	up := provider.Await(1)
	if up.Method != "POST" || up.Path != "/v1/chat/completions" || up.Query != "api-version=1&x=%20" || up.Body != odd {
		t.Errorf("upstream got %s %s?%s %q", up.Method, up.Path, up.Query, up.Body)
	}
	if up.Authorization() != "Bearer sk-1" || up.Header.Get("Content-Type") != "text/odd" || up.Header.Get("X-Mine") != "kept" {
		t.Errorf("upstream got headers %v", up.Header)
	}
	for _, name := range []string{"Origin", "Referer", "Cookie", "Sec-Fetch-Site", "Access-Control-Request-Method", "X-Forwarded-For", "X-Forwarded-Host", "X-Hop", "Proxy-Authorization"} {
		if up.Header.Get(name) != "" {
			t.Errorf("%s went upstream", name)
		}
	}
	models := ask(t, r, "GET", "/v1/models?a=b", "")
	models.wants(t, 200, scenarios["chat"].Body)
	if up := provider.Await(2); up.Method != "GET" || up.Path != "/v1/models" || up.Query != "a=b" {
		t.Errorf("upstream got %s %s?%s", up.Method, up.Path, up.Query)
	}
}

// companion.md: upstream errors pass through with their headers; redirects are not followed.
func TestChatUpstreamErrors(t *testing.T) {
	for name, header := range map[string]string{"limited": "Retry-After", "html": "Content-Type", "moved": "Location"} {
		want := scenarios[name]
		r, provider := withUpstream(t, name, server.Config{})
		got := ask(t, r, "POST", chatPath, chatBody)
		got.wants(t, want.Status, want.Body)
		got.wantsHeader(t, header, want.Header.Get(header))
		if n := len(provider.Requests()); n != 1 {
			t.Errorf("%s: the upstream got %d calls", name, n)
		}
	}
}

// companion.md: upstream down is 502, with CORS so that the page can read why.
func TestChatUpstreamDown(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	r := servertest.Start(t, server.Config{UpstreamBaseURL: "http://" + ln.Addr().String() + "/v1"})
	for _, c := range [][2]string{{"POST", chatPath}, {"GET", "/v1/models"}} {
		got := ask(t, r, c[0], c[1], chatBody, "Origin", "https://chatwright.dev")
		if got.Status != 502 || !strings.Contains(got.Body, ln.Addr().String()) || !strings.HasPrefix(got.Body, `{"error":{"message":`) {
			t.Errorf("%s: got %d %s, want 502 that names the address", c[1], got.Status, got.Body)
		}
		got.wantsHeader(t, "Access-Control-Allow-Origin", "https://chatwright.dev")
		got.wantsHeader(t, "Vary", "Origin")
	}
	calls := metricsOf(t, r)
	if len(calls) != 1 || calls[0].Status != 0 || calls[0].Error == "" {
		t.Errorf("got %+v, want the chat call alone, never reached", calls)
	}
}

// security.md 4.
func TestOriginalFault_SecondAllowOriginFromTheUpstream(t *testing.T) {
	r, _ := withUpstream(t, "cors", server.Config{})
	for _, c := range [][2]string{{"POST", chatPath}, {"GET", "/v1/models"}} {
		got := ask(t, r, c[0], c[1], chatBody, "Origin", "http://localhost:3000")
		got.wantsHeader(t, "Access-Control-Allow-Origin", "http://localhost:3000")
		got.wantsHeader(t, "Access-Control-Allow-Credentials")
		got.wantsHeader(t, "Set-Cookie")
		if vary := strings.Join(got.Header.Values("Vary"), ", "); !strings.Contains(vary, "Origin") || !strings.Contains(vary, "Accept-Encoding") {
			t.Errorf("Vary: got %q, want ours and theirs", vary)
		}
		alone := ask(t, r, c[0], c[1], chatBody)
		alone.wantsHeader(t, "Access-Control-Allow-Origin")
	}
}

// companion.md: headers before the first chunk, each chunk as it comes.
func TestOriginalFault_StreamHeadersWaitForTheFirstChunk(t *testing.T) {
	next := make(chan struct{})
	late := map[string]servertest.Scenario{"late": {Status: 200, Pieces: []string{"", sse(`{"model":"m2","choices":[{"delta":{"content":"a"}}]}`), sse("[DONE]")}, Next: next}}
	r, _ := withUpstream(t, "late", server.Config{}, late)
	got := soon(t, call(r), "the headers")
	if got.err != nil {
		t.Fatal(got.err)
	}
	defer got.resp.Body.Close()
	if kind := got.resp.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("got %q", kind)
	}
	lines := bufio.NewReader(got.resp.Body)
	for _, want := range late["late"].Pieces[1:] {
		next <- struct{}{}
		line, err := lines.ReadString('\n')
		if blank, _ := lines.ReadString('\n'); err != nil || line+blank != want {
			t.Errorf("got %q, %v, want %q", line, err, want)
		}
	}
}

// companion.md: an answer that is cut short after it began has broken framing.
func TestChatCutShort(t *testing.T) {
	r, _ := withUpstream(t, "cut", server.Config{})
	got := soon(t, call(r), "the headers")
	if got.err != nil {
		return // the reset may win over the headers; that is no clean end either
	}
	defer got.resp.Body.Close()
	if body, err := io.ReadAll(got.resp.Body); err == nil && got.resp.StatusCode == 200 {
		t.Errorf("got a clean end after %q", body)
	}
}

// A client with a timeout of its own bounds calls that are not streamed and never a stream.
func TestOriginalFault_ClientTimeoutEndsLongStreams(t *testing.T) {
	next := make(chan struct{})
	slow := map[string]servertest.Scenario{"slow": {Pieces: []string{sse(`{"choices":[]}`), sse("[DONE]")}, Next: next}}
	const timeout = 300e6 // 0.3 s
	r, _ := withUpstream(t, "slow", server.Config{HTTPClient: &http.Client{Timeout: timeout}}, slow)
	resp, err := r.Client.Post(r.URL+chatPath, "application/json", strings.NewReader(`{"model":"m1","stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	blocked, _ := withUpstream(t, "silent", server.Config{HTTPClient: &http.Client{Timeout: timeout}})
	if got := ask(t, blocked, "POST", chatPath, chatBody); got.Status < 500 { // takes the timeout, and a stream outlives it
		t.Errorf("a call without an answer: got %d, want an error", got.Status)
	}
	close(next)
	if body, err := io.ReadAll(resp.Body); err != nil || !strings.HasSuffix(string(body), sse("[DONE]")) {
		t.Errorf("the stream: got %q, %v, want all of it", body, err)
	}
}

func metricsOf(t *testing.T, r *servertest.Running) []protocol.Call {
	t.Helper()
	var calls []protocol.Call
	if err := json.Unmarshal([]byte(ask(t, r, "GET", "/metrics", "").Body), &calls); err != nil {
		t.Fatal(err)
	}
	return calls
}

// companion.md, GET /metrics: a bare array, oldest first, chat calls only, the contract's keys first and in its order.
func TestMetrics(t *testing.T) {
	r, _ := withUpstream(t, "chat", server.Config{MetricsCapacity: 2})
	empty := ask(t, r, "GET", "/metrics", "")
	empty.wants(t, 200, "[]\n")
	empty.wantsHeader(t, "Content-Type", jsonType)

	ask(t, r, "POST", chatPath, `{"model":"asked","response_format":{"type":"json_schema"}}`)
	ask(t, r, "GET", "/v1/models", "")
	got := ask(t, r, "GET", "/metrics", "").Body
	pattern := `^\[\{"timestamp":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z","model":"m1","latencyMs":\d+,"promptTokens":12,"completionTokens":7,` +
		`"responseFormat":"json_schema","streamed":false,"status":200,"`
	if !regexp.MustCompile(pattern).MatchString(got) {
		t.Errorf("got %s, want %s", got, pattern)
	}
	if !strings.Contains(got, `,"requestModel":"asked"}`) {
		t.Errorf("got %s, want the model that was asked for as well, since the answer names another", got)
	}
	for _, body := range []string{`{"model":"b"}`, `{"model":"c"}`} {
		ask(t, r, "POST", chatPath, body)
	}
	if calls := metricsOf(t, r); len(calls) != 2 || calls[0].Timestamp.After(calls[1].Timestamp) {
		t.Errorf("got %d calls, want the last 2, oldest first", len(calls))
	}
}

// Whoever records calls is told of each once, when /metrics already knows of it.
func TestRecordIsToldOfEveryCall(t *testing.T) {
	store := metrics.New(0)
	recorded := make(chan int, 1)
	r, _ := withUpstream(t, "chat", server.Config{Metrics: store, Record: func(c protocol.Call) {
		if c.Model != "m1" {
			t.Errorf("the call: got %+v", c)
		}
		recorded <- len(store.Calls())
	}})
	for want := range 2 {
		ask(t, r, "POST", chatPath, `{"model":"asked"}`)
		if got := <-recorded; got != want+1 {
			t.Errorf("calls that the metrics know: got %d, want %d", got, want+1)
		}
	}
}

// A secret that is sent through every surface is found in no log line, metric or error answer.
func TestSecretsStayOut(t *testing.T) {
	const secret = "s3cr3t-m4rk"
	var lines bytes.Buffer // slog and log write to it under locks of their own, and only one of them is told to
	for name, cfg := range map[string]server.Config{
		"slog at debug": {Slog: slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))},
		"log":           {Logger: log.New(&lines, "", 0)},
	} {
		lines.Reset()
		dir := uiFolder(t, map[string]string{"index.html": "studio"})
		for _, upstream := range []string{"chat", "html", "cut", "stream"} {
			cfg := cfg
			cfg.UIDir = dir
			r, _ := withUpstream(t, upstream, cfg)
			for _, path := range []string{"/health", "/metrics", chatPath, "/v1/models", "/v1/" + secret, "/datastate/query", "/datastate/" + secret, "/console/" + secret, "/" + secret + ".js", "/"} {
				for _, method := range []string{"GET", "POST", "OPTIONS", "DELETE"} {
					for _, extra := range [][]string{nil, {"Origin", "http://" + secret}, {"Host", secret}} {
						// A stream that is cut by the upstream ends with an error here, which says nothing more.
						answer := tryAsk(r, method, path+"?key="+secret, `{"model":"m1","messages":["`+secret+`"],"`+secret+`":1}`,
							append(extra, "Authorization", "Bearer "+secret, "Cookie", secret, "X-Api-Key", secret, "Referer", secret)...)
						if strings.Contains(answer, secret) {
							t.Errorf("%s: %s %s %q: the answer holds the secret: %s", name, method, path, extra, answer)
						}
					}
				}
			}
			if got := ask(t, r, "GET", "/metrics", "").Body; strings.Contains(got, secret) {
				t.Errorf("%s: the metrics hold the secret: %s", name, got)
			}
			r.End()
			if err := r.Wait(); err != nil {
				t.Error(err)
			}
		}
		if strings.Contains(lines.String(), secret) {
			t.Errorf("%s: the log holds the secret:\n%s", name, lines.String())
		}
		if !strings.Contains(lines.String(), "listening") {
			t.Errorf("%s: got no line that says where it listens:\n%s", name, lines.String())
		}
		if hasRequests := strings.Contains(lines.String(), "msg=request"); hasRequests != (name == "slog at debug") {
			t.Errorf("%s: got request lines %v", name, hasRequests)
		}
	}
}

// tryAsk returns headers and body of the answer, or nothing when there is none.
func tryAsk(r *servertest.Running, method, path, body string, headers ...string) string {
	req, err := http.NewRequest(method, r.URL+path, strings.NewReader(body))
	if err != nil {
		return ""
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := r.Client.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body) // what came before an error counts too
	var all strings.Builder
	_ = resp.Header.Write(&all) // a Builder takes everything
	return all.String() + string(data)
}
