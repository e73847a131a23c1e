package proxy_test

import (
	"context"
	"crypto/sha256"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/proxy"
	"chatwright.dev/tray/server/upstream"
)

// seen is a request as the upstream got it.
type seen struct {
	method, uri, host, body string
	header                  http.Header
	length                  int64
}

// echoing returns an upstream that keeps what it gets and answers with a JSON completion.
func echoing(got chan seen) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- seen{r.Method, r.RequestURI, r.Host, string(body), r.Header.Clone(), r.ContentLength}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"model":"answered","choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":7}}`)
	}
}

// companion.md: body bytes verbatim, the query string is passed on; gateway.md 10: unknown fields and invalid JSON too.
func TestTheBodyGoesUpVerbatim(t *testing.T) {
	got := make(chan seen, 1)
	f := behind(t, echoing(got))
	for name, body := range map[string]string{
		"JSON with odd spacing":     "{ \"model\" :\t\"m\", \"x_unknown\": 1e5, \"model2\":\"é\\u00e9\" }\n\n",
		"invalid JSON":              `{"model": "m", broken`,
		"not text at all":           "\x00\xff\xfe\r\n\r\nGET / HTTP/1.1",
		"nothing":                   "",
		"more than is kept (1 MiB)": strings.Repeat("0123456789abcdef", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			f.chat(body)
			up := <-got
			if up.body != body {
				t.Errorf("the body differs: got %d bytes, want %d", len(up.body), len(body))
			}
			if up.length != int64(len(body)) {
				t.Errorf("Content-Length: got %d, want %d", up.length, len(body))
			}
			if c := f.record(); c.BytesIn != int64(len(body)) {
				t.Errorf("bytesIn: got %d, want %d", c.BytesIn, len(body))
			}
		})
	}
	t.Run("of unknown length", func(t *testing.T) {
		body := strings.Repeat("y", 3<<20)
		answer, err := f.send(http.MethodPost, "/chat/completions", struct{ io.Reader }{strings.NewReader(body)})
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if up := <-got; up.body != body {
			t.Errorf("got %d bytes, want %d", len(up.body), len(body))
		}
		f.record()
	})
}

func TestWhereACallGoes(t *testing.T) {
	got := make(chan seen, 1)
	f := behind(t, echoing(got))
	f.do(http.MethodPost, "/chat/completions?api-version=1&odd=%zz;x", `{}`, "Content-Type", "text/x-own")
	up := <-got
	if up.method != http.MethodPost || up.uri != "/v1/chat/completions?api-version=1&odd=%zz;x" {
		t.Errorf("got %s %s, want the path below the base URL and the query as it came", up.method, up.uri)
	}
	if got, want := up.header.Get("Content-Type"), "text/x-own"; got != want {
		t.Errorf("Content-Type: got %q, want the caller's %q", got, want)
	}
	if strings.Contains(f.url, up.host) {
		t.Errorf("Host: got %q, want the upstream's own", up.host)
	}

	f.chat(`{}`)
	if got := (<-got).header.Get("Content-Type"); got != "application/json" { // companion.md: only when there was none
		t.Errorf("Content-Type: got %q, want application/json", got)
	}

	f.do(http.MethodGet, "/models?x=1", "")
	if up := <-got; up.method != http.MethodGet || up.uri != "/v1/models?x=1" || up.header.Get("Content-Type") != "" {
		t.Errorf("models: got %s %s, Content-Type %q", up.method, up.uri, up.header.Get("Content-Type"))
	}
}

// companion.md "Not sent up"; gateway.md 15; security.md 8.
func TestWhatDoesNotGoUp(t *testing.T) {
	got := make(chan seen, 1)
	f := behind(t, echoing(got))
	f.chat(`{}`,
		"Authorization", "Bearer sk-callers-own", "X-Custom", "yes", "User-Agent", "own/1", "Accept-Encoding", "gzip, br",
		"Origin", "http://localhost:1", "Referer", "http://localhost:1/x", "Cookie", "a=b",
		"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors", "Sec-Ch-Ua", "x", "Sec-Gpc", "1",
		"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "x",
		"Access-Control-Request-Private-Network", "true",
		"Proxy-Authorization", "Basic x", "X-Forwarded-For", "1.2.3.4", "X-Forwarded-Host", "h", "X-Forwarded-Port", "5",
		"Forwarded", "for=1.2.3.4", "Te", "trailers", "Trailer", "X", "Upgrade", "h2c", "Keep-Alive", "timeout=5",
		"Proxy-Connection", "keep-alive", "Connection", "close, X-Named, Upgrade", "X-Named", "drop")
	want := []string{"Accept-Encoding", "Authorization", "Content-Length", "Content-Type", "User-Agent", "X-Custom"}
	up := <-got
	var names []string
	for name := range up.header {
		names = append(names, name)
	}
	slices.Sort(names)
	if !slices.Equal(names, want) {
		t.Errorf("headers: got %v, want %v", names, want)
	}
	if got := up.header.Get("Authorization"); got != "Bearer sk-callers-own" {
		t.Errorf("Authorization: got %q, want the caller's", got)
	}
	f.chat(`{}`)
	if got := (<-got).header.Get("Authorization"); got != "" {
		t.Errorf("Authorization: got %q where the caller sent none", got)
	}
}

// companion.md: status, headers and bytes back, upstream errors with their headers; gateway.md 11.
func TestAnswersComeBackAsTheyAre(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		ctype  string
		body   string
	}{
		"JSON error":   {429, "application/json", `{"error":{"message":"slow down","code":null}, "own":1}`},
		"HTML error":   {502, "text/html", "<html>Bad Gateway</html>"},
		"empty error":  {500, "", ""},
		"redirect":     {307, "text/plain", "elsewhere"},
		"no content":   {204, "", ""},
		"plain answer": {200, "application/json", `{"choices":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			f := behind(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.ctype)
				w.Header().Set("Retry-After", "7")
				w.Header().Set("X-Request-Id", "abc")
				if c.status == 307 {
					w.Header().Set("Location", "/v1/elsewhere")
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			f.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			answer, body := f.chat(`{"model":"m"}`)
			if answer.StatusCode != c.status || body != c.body {
				t.Errorf("got %d %q, want %d %q", answer.StatusCode, body, c.status, c.body)
			}
			if answer.Header.Get("Retry-After") != "7" || answer.Header.Get("X-Request-Id") != "abc" {
				t.Errorf("headers: got %v", answer.Header)
			}
			r := f.record()
			if r.Status != c.status || r.BytesOut != int64(len(c.body)) {
				t.Errorf("record: got status %d, %d bytes out; want %d, %d", r.Status, r.BytesOut, c.status, len(c.body))
			}
			if (r.Verdict == protocol.VerdictUpstreamError) != (c.status >= 400) || (r.Error != "") != (c.status >= 400) {
				t.Errorf("record: got verdict %q, error %q for status %d", r.Verdict, r.Error, c.status)
			}
			if name == "JSON error" && r.Error != "slow down" {
				t.Errorf("error: got %q, want the upstream's words", r.Error)
			}
		})
	}
}

// gateway.md 15: cookies and CORS headers of the upstream stay there; companion.md "a second
// Access-Control-Allow-Origin from the upstream breaks the page"; security.md 4.
func TestWhatDoesNotComeDown(t *testing.T) {
	target := parse(t, startServer(t, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Set("Access-Control-Expose-Headers", "*")
		h.Set("Vary", "Accept-Encoding")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Kept", "yes")
		h.Add("Set-Cookie", "a=b")
		if r.Header.Get("X-Hints") != "" {
			w.WriteHeader(http.StatusEarlyHints)
		}
		_, _ = io.WriteString(w, "{}")
	}))
	p := proxy.New(proxy.Config{Target: func() *upstream.Target { return target }})
	front := startServer(t, func(w http.ResponseWriter, r *http.Request) { // what the guard does
		w.Header().Set("Access-Control-Allow-Origin", "http://localhost:9")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Vary", "Origin")
		p.ChatCompletions().ServeHTTP(w, r)
	})
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for _, hints := range []string{"", "yes"} { // an informational answer must not cost the guard's headers
		r, _ := http.NewRequest(http.MethodPost, front, strings.NewReader("{}"))
		r.Header.Set("X-Hints", hints)
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		h := answer.Header
		for name, want := range map[string][]string{
			"Access-Control-Allow-Origin": {"http://localhost:9"}, "Access-Control-Allow-Credentials": nil,
			"Access-Control-Expose-Headers": nil, "Set-Cookie": nil, "X-Kept": {"yes"},
			"X-Content-Type-Options": {"nosniff"}, "Vary": {"Origin", "Accept-Encoding"},
		} {
			if !slices.Equal(h.Values(name), want) {
				t.Errorf("hints %q: %s: got %q, want %q", hints, name, h.Values(name), want)
			}
		}
	}
}

func startServer(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// gateway.md 16: HEAD and wrong methods answer as the contract says.
func TestMethods(t *testing.T) {
	got := make(chan seen, 1)
	f := behind(t, echoing(got))
	for path, allowed := range map[string]string{"/chat/completions": "POST", "/models": "GET"} {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH"} {
			if method == allowed {
				continue
			}
			answer, body := f.do(method, path, "")
			if message := wantOpenAIError(t, answer, body, 405, "method_not_allowed"); message != "method not allowed" {
				t.Errorf("%s %s: got %q", method, path, message)
			}
			if got := answer.Header.Get("Allow"); got != allowed {
				t.Errorf("%s %s: Allow: got %q, want %q", method, path, got, allowed)
			}
		}
	}
	answer, body := f.do(http.MethodHead, "/models", "")
	if up := <-got; up.method != http.MethodGet {
		t.Errorf("HEAD: the upstream was asked with %s, want GET, which all of them know", up.method)
	}
	if answer.StatusCode != 200 || body != "" || answer.Header.Get("Content-Type") != "application/json" || answer.ContentLength <= 0 {
		t.Errorf("HEAD: got %d, %q, %v; want the answer of GET without its body", answer.StatusCode, body, answer.Header)
	}
	f.noRecord() // companion.md: chat calls only
}

// companion.md: upstream down is 502; gateway.md 14: which address, and what usually listens there.
func TestUpstreamThatIsDown(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	f := startFront(t, parse(t, "http://"+addr+"/v1"))
	answer, body := f.chat(`{"model":"m","stream":true}`)
	message := wantOpenAIError(t, answer, body, 502, "upstream_unreachable")
	if want := "connection refused at " + addr; message != want {
		t.Errorf("message: got %q, want %q", message, want)
	}
	c := f.wantVerdict(0, protocol.VerdictUnreachable)
	if c.Error != message || c.Model != "m" || !c.Streamed {
		t.Errorf("record: got %+v", c)
	}
	answer, body = f.do(http.MethodGet, "/models", "")
	wantOpenAIError(t, answer, body, 502, "upstream_unreachable")
}

// gateway.md 14: a 503 of a server that loads its model passes through and is no error.
func TestLoadingModel(t *testing.T) {
	const loading = `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`
	text := loading
	f := behind(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, text)
	})
	if answer, body := f.chat(`{"model":"llama3.2"}`); answer.StatusCode != 503 || body != loading {
		t.Errorf("got %d %q, want it as it came", answer.StatusCode, body)
	}
	f.wantVerdict(503, protocol.VerdictLoading)
	text = "upstream connect error"
	f.chat(`{"model":"llama3.2"}`)
	f.wantVerdict(503, protocol.VerdictUpstreamError)
}

// gateway.md 10: what passes is byte-identical, by the hash of both sides.
func TestBytesOutAreBytesIn(t *testing.T) {
	var up, down [sha256.Size]byte
	answers := make(chan []byte, 1)
	hashes := make(chan [sha256.Size]byte, 1)
	f := behind(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		hashes <- sha256.Sum256(body)
		answer := <-answers
		w.Header().Set("Content-Type", []string{"text/event-stream", "application/json", "application/octet-stream"}[len(answer)%3])
		for len(answer) > 0 {
			n := 1 + len(answer)*7/11
			_, _ = w.Write(answer[:n])
			_ = http.NewResponseController(w).Flush()
			answer = answer[n:]
		}
	})
	random := newBytes(1)
	for range 60 {
		request, answer := random.next(2<<20), random.next(1<<20)
		up, down = sha256.Sum256(request), sha256.Sum256(answer)
		answers <- answer
		_, got := f.chat(string(request))
		if <-hashes != up || sha256.Sum256([]byte(got)) != down {
			t.Fatalf("the bytes differ: %d up, %d down", len(request), len(answer))
		}
		if c := f.record(); c.BytesIn != int64(len(request)) || c.BytesOut != int64(len(answer)) {
			t.Errorf("record: got %d in, %d out; want %d, %d", c.BytesIn, c.BytesOut, len(request), len(answer))
		}
	}
}

func TestBeginIsToldTheModelAndEndsOnce(t *testing.T) {
	got := make(chan seen, 10)
	f := behind(t, echoing(got))
	f.chat(`{"model":"asked","response_format":{"type":"json_schema"}}`)
	c := f.record()
	if !slices.Equal(f.begun, []string{"asked"}) {
		t.Errorf("begun: got %v, want the model that was asked for", f.begun)
	}
	if c.Model != "answered" || c.ResponseFormat != "json_schema" || c.PromptTokens != 12 || c.CompletionTokens != 7 ||
		c.Streamed || c.Status != 200 || c.Verdict != protocol.VerdictComplete || c.FinishReason != "stop" || !c.UsageKnown {
		t.Errorf("record: got %+v", c)
	}
	if c.FirstTokenMs != nil || c.TokensPerSecond != 0 {
		t.Errorf("an answer in one piece has no first token: got %v, %v", c.FirstTokenMs, c.TokensPerSecond)
	}
	if since := time.Since(c.Timestamp); since < 0 || since > patience || c.Timestamp.Location() != time.UTC {
		t.Errorf("timestamp: got %v", c.Timestamp)
	}
	f.noRecord()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.sendWith(ctx, http.MethodPost, "/chat/completions", strings.NewReader("{}")); err == nil {
		t.Error("a cancelled call was answered")
	}
}
