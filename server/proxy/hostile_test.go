package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/proxy"
)

// answering is an upstream that answers every request with these bytes, where REQUEST stands for the request's head,
// and ends the connection. It reads the body after that, or the system would reset the connection.
func answering(t *testing.T, answer string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			r, err := http.ReadRequest(bufio.NewReader(conn))
			if err == nil {
				var head bytes.Buffer
				fmt.Fprintf(&head, "%s %s %s\r\n", r.Method, r.RequestURI, r.Proto)
				_ = r.Header.Write(&head)
				_, _ = io.WriteString(conn, strings.ReplaceAll(answer, "REQUEST", head.String()))
			}
			_ = conn.(*net.TCPConn).CloseWrite()
			_ = conn.SetReadDeadline(time.Now().Add(time.Second))
			_, _ = io.Copy(io.Discard, conn)
			conn.Close()
		}
	}()
	return "http://" + ln.Addr().String() + "/v1"
}

func statusLine(status string) string {
	return "HTTP/1.1 " + status + "\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
}

// raw sends bytes as they are and returns all that comes back, and with which error it ends.
func (f *front) raw(request string) (string, error) {
	f.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(f.url, "http://"), "/v1"))
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, request); err != nil {
		f.t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	return string(got), err
}

// A status below 100 cannot be passed on: net/http panics on it.
func TestStatusesThatDoNotExist(t *testing.T) {
	for _, status := range []string{"000 No", "042 No", "099 No"} {
		f := startFront(t, parse(t, answering(t, statusLine(status))))
		answer, body := f.chat(`{"model":"m"}`)
		wantOpenAIError(t, answer, body, 502, "upstream_bad_status")
		if c := f.record(); c.Verdict != protocol.VerdictUpstreamError || c.Error == "" {
			t.Errorf("%s: record: got verdict %q (%s), want %q", status, c.Verdict, c.Error, protocol.VerdictUpstreamError)
		}
		answer, body = f.do(http.MethodGet, "/models", "")
		wantOpenAIError(t, answer, body, 502, "upstream_bad_status")
	}
	f := startFront(t, parse(t, answering(t, statusLine("999 Odd"))))
	if answer, body := f.chat("{}"); answer.StatusCode != 999 || body != "{}" {
		t.Errorf("got %d %q, want 999 as it came", answer.StatusCode, body)
	}
}

// "Status, headers and bytes back": a Content-Type that the upstream did not send is not made up.
func TestNoContentTypeIsMadeUp(t *testing.T) {
	f := startFront(t, parse(t, answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n<html></html>\r\n")))
	for _, c := range [][2]string{{http.MethodPost, "/chat/completions"}, {http.MethodGet, "/models"}} {
		answer, _ := f.do(c[0], c[1], "")
		if got, ok := answer.Header["Content-Type"]; ok {
			t.Errorf("%s: got Content-Type %q, want none", c[1], got)
		}
	}
}

// A stream is one whatever its Content-Type says besides.
func TestContentTypesOfAStream(t *testing.T) {
	const stream = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":3}}\n\ndata: [DONE]\n\n"
	for _, media := range []string{"text/event-stream; charset", "Text/Event-Stream;;", "text/event-stream; =", " text/event-stream ;charset=utf-8; charset=utf-8"} {
		f := behind(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			_, _ = io.WriteString(w, stream)
		})
		f.chat("{}")
		if c := f.record(); !c.Streamed || c.PromptTokens != 3 || c.Verdict != protocol.VerdictComplete {
			t.Errorf("%q: got %+v, want a stream with 3 tokens", media, c)
		}
	}
}

// House rule: never a key, a token or a query string. What speaks no HTTP may send the request back.
func TestAnEchoTellsNobody(t *testing.T) {
	for what, answer := range map[string]string{
		"the request":             "REQUEST\r\n",
		"the request as header":   "HTTP/1.1 200 OK\r\nREQUEST\r\n",
		"the request as a length": "HTTP/1.1 200 OK\r\nContent-Length: REQUEST\r\n",
	} {
		var log bytes.Buffer
		f := startFront(t, parse(t, answering(t, answer)), func(c *proxy.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		got, body := f.do(http.MethodPost, "/chat/completions?key=MARKED", "{}", "Authorization", "Bearer MARKED", "X-A", "MARKED no header")
		if got.StatusCode != 502 {
			t.Errorf("%s: got status %d, want 502", what, got.StatusCode)
		}
		for where, text := range map[string]string{"answer": body, "record": f.record().Error, "log": log.String()} {
			if strings.Contains(text, "MARKED") {
				t.Errorf("%s: the %s tells: %s", what, where, text)
			}
		}
	}
}

// gateway.md 15: cookies and the upstream's CORS headers do not come down, as a trailer neither; the rest of it does.
func TestTrailers(t *testing.T) {
	for what, announced := range map[string]string{"announced": "Trailer: Set-Cookie, Access-Control-Allow-Origin, X-Sum\r\n", "not announced": ""} {
		f := startFront(t, parse(t, answering(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"+announced+
			"\r\n2\r\n{}\r\n0\r\nSet-Cookie: a=b\r\nAccess-Control-Allow-Origin: *\r\nX-Sum: 7\r\n\r\n")))
		got, err := f.raw("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(got, "Set-Cookie") || strings.Contains(got, "Access-Control") || !strings.Contains(got, "X-Sum: 7") {
			t.Errorf("%s: got %q, want X-Sum in the trailer alone", what, got)
		}
	}
}

// In HTTP/1.0 there is nothing before an answer, and its end is the end of the connection: a cut one must break.
func TestCallersThatSpeakHTTP10(t *testing.T) {
	const request = "POST /v1/chat/completions HTTP/1.0\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
	early := startFront(t, parse(t, answering(t, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"+statusLine("200 OK"))))
	if got, err := early.raw(request); err != nil || !strings.HasPrefix(got, "HTTP/1.0 200 OK\r\n") || strings.Contains(got, "Link") {
		t.Errorf("got %q, %v; want the answer alone", got, err)
	}
	const stream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n"
	cut := startFront(t, parse(t, answering(t, stream)))
	if got, err := cut.raw(request); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a cut stream ends with %v (%q), want a reset", err, got)
	}
	cut.wantVerdict(200, protocol.VerdictTruncated)
	whole := startFront(t, parse(t, answering(t, stream+"0\r\n\r\n")))
	if got, err := whole.raw(request); err != nil || !strings.HasSuffix(got, "data: 1\n\n") {
		t.Errorf("a whole stream: got %q, %v", got, err)
	}
}

// An upstream that is this very server would be called until there are no descriptors left.
func TestAnUpstreamThatIsThisServer(t *testing.T) {
	server := httptest.NewUnstartedServer(nil)
	target := parse(t, "http://"+server.Listener.Addr().String()+"/v1")
	f := startFront(t, target)
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		f.proxy.ChatCompletions().ServeHTTP(w, r.WithContext(ctx))
	})
	server.Start()
	defer server.Close()
	f.url = server.URL + "/v1"
	answer, body := f.chat(`{"model":"m"}`)
	wantOpenAIError(t, answer, body, 502, "upstream_is_this_server")
	f.wantVerdict(0, protocol.VerdictUnreachable)
}

// A caller who writes all of a large body before it reads gets the answer too: of an upstream that answers without
// reading, and ours when there is none.
func TestAnswersBeforeTheBodyIsTaken(t *testing.T) {
	early := "HTTP/1.1 401 No\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
	for what, c := range map[string]struct {
		target string
		status string
	}{
		"an upstream that refuses the key": {answering(t, early), "HTTP/1.1 401 "},
		"no upstream":                      {"http://127.0.0.1:1/v1", "HTTP/1.1 502 "},
	} {
		t.Run(what, func(t *testing.T) {
			f := startFront(t, parse(t, c.target))
			const size = 32 << 20
			got, err := f.raw(fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", size) +
				string(make([]byte, size)))
			if err != nil || !strings.HasPrefix(got, c.status) {
				t.Errorf("got %.60q, %v; want %s", got, err, c.status)
			}
		})
	}
}

// security.md 8: the token of this server stays here, wanted or not.
func TestTheTokenHeaderDoesNotGoUp(t *testing.T) {
	seen := make(chan http.Header, 1)
	f := behind(t, func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header })
	f.chat("{}", proxy.TokenHeader, "MARKED")
	if h := <-seen; h.Get(proxy.TokenHeader) != "" {
		t.Errorf("upstream got %v", h)
	}
}
