package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/proxy"
	"chatwright.dev/tray/server/upstream"
)

// security.md 5: over the cap is 413 with an error that names it, at once by Content-Length, else when it is passed.
func TestBodiesOverTheCap(t *testing.T) {
	reached := make(chan struct{}, 1)
	small := func(c *proxy.Config) { c.MaxBody = 3 << 20 }
	f := behind(t, func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			reached <- struct{}{}
		}
	}, small)
	t.Run("by its length, before it is sent", func(t *testing.T) {
		conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(f.url, "http://"), "/v1"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", 3<<20+1)
		answer, body := readAnswer(t, conn)
		if got := wantOpenAIError(t, answer, body, 413, "request_too_large"); !strings.Contains(got, "3 MiB") {
			t.Errorf("message: got %q, want the cap in it", got)
		}
		if !answer.Close {
			t.Error("the connection stays open although its body is unread")
		}
	})
	for _, size := range []int{3<<20 + 1, 8 << 20} {
		t.Run(fmt.Sprintf("chunked, %d bytes", size), func(t *testing.T) {
			answer, err := f.send(http.MethodPost, "/chat/completions", struct{ io.Reader }{bytes.NewReader(make([]byte, size))})
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			body, _ := io.ReadAll(answer.Body)
			wantOpenAIError(t, answer, string(body), 413, "request_too_large")
		})
	}
	for range 3 {
		if c := f.record(); c.Status != 413 || c.Verdict != "" || !strings.Contains(c.Error, "3 MiB") {
			t.Errorf("record: got %+v, want status 413 and the cap", c)
		}
	}
	select {
	case <-reached:
		t.Error("a body over the cap reached the upstream whole")
	default:
	}
	t.Run("exactly the cap passes", func(*testing.T) {
		f.chat(strings.Repeat("x", 3<<20))
		<-reached
	})
	t.Run("the default cap is 64 MiB", func(t *testing.T) {
		f := startFront(t, upstream.NewDemo(upstream.DemoConfig{}))
		r, _ := http.NewRequest(http.MethodPost, f.url+"/chat/completions", &io.LimitedReader{R: zeros{}, N: 64<<20 + 1})
		r.ContentLength = 64<<20 + 1
		r.Header.Set("Expect", "100-continue")
		answer, err := f.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		if got := wantOpenAIError(t, answer, string(body), 413, "request_too_large"); !strings.Contains(got, "64 MiB") {
			t.Errorf("message: got %q, want 64 MiB", got)
		}
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// gateway.md 6: a call that is not streamed is bounded only by the timeout that is configured.
func TestTimeout(t *testing.T) {
	release := make(chan struct{})
	short := func(c *proxy.Config) { c.Timeout = 50 * time.Millisecond }
	f := behind(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(string(body), "silent"):
			<-r.Context().Done()
		case strings.Contains(string(body), "half"):
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		default: // a stream that says nothing for longer than the timeout
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			<-release
			_, _ = io.WriteString(w, "data: {}\n\ndata: [DONE]\n\n")
		}
	}, short)

	answer, body := f.chat(`{"silent":true}`)
	wantOpenAIError(t, answer, body, 504, "upstream_timeout")
	if c := f.wantVerdict(0, protocol.VerdictUnreachable); !strings.Contains(c.Error, "within 50ms") {
		t.Errorf("error: got %q, want the bound in it", c.Error)
	}

	answer, err := f.send(http.MethodPost, "/chat/completions", strings.NewReader(`{"half":true}`))
	if err == nil {
		_, err = io.ReadAll(answer.Body)
		answer.Body.Close()
	}
	if err == nil {
		t.Error("an answer that was cut by the timeout ended cleanly")
	}
	f.wantVerdict(200, protocol.VerdictTruncated)

	for _, asked := range []string{`{"stream":true}`, `{"a stream":"that nobody asked for"}`} {
		done := make(chan string)
		go func() {
			_, body := f.chat(asked)
			done <- body
		}()
		time.AfterFunc(150*time.Millisecond, func() { release <- struct{}{} })
		if body := <-done; !strings.Contains(body, "[DONE]") {
			t.Errorf("%s: the stream was cut: %q", asked, body)
		}
		f.wantVerdict(200, protocol.VerdictComplete)
	}
}

// slow is a transport whose upstream thinks before it answers.
type slow struct {
	think  time.Duration
	answer string
}

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	select {
	case <-time.After(s.think):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(s.answer)), ContentLength: -1, Request: r,
	}, nil
}

// gateway.md 6: a silent prefill of ten minutes is not cut by any timeout of ours, streamed or, by default, not.
func TestTenMinutesOfSilence(t *testing.T) {
	for name, c := range map[string]struct {
		body    string
		timeout time.Duration
	}{
		"streamed":                 {`{"stream":true}`, 0},
		"streamed, with a timeout": {`{"stream":true}`, time.Minute},
		"not streamed, by default": {`{}`, 0},
		"with stream behind 1 MiB": {`{"x":"` + strings.Repeat("x", 2<<20) + `","stream":true}`, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base, _ := url.Parse("http://upstream.test/v1")
				target := &upstream.Target{Name: "slow", BaseURL: base, Transport: slow{10 * time.Minute, tokenEvent + usageEvent + doneEvent}}
				var got protocol.Call
				p := proxy.New(proxy.Config{
					Target: func() *upstream.Target { return target }, Timeout: c.timeout, End: func(c protocol.Call) { got = c },
				})
				w := httptest.NewRecorder()
				p.ChatCompletions().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(c.body)))
				if w.Body.String() != tokenEvent+usageEvent+doneEvent {
					t.Errorf("got %d %q", w.Code, w.Body)
				}
				if got.LatencyMs != 600_000 || got.OverheadUs != 0 || *got.FirstTokenMs != 600_000 || got.Verdict != protocol.VerdictComplete {
					t.Errorf("record: got %+v, want ten minutes of waiting and none of work", got)
				}
			})
		})
	}
}

// house.md 9: a marked secret in the body, the query and the headers is in no log, record or error of ours.
func TestNothingOfACallIsRepeated(t *testing.T) {
	const secret = "MARKED-SECRET-4711"
	var log bytes.Buffer
	verbose := func(c *proxy.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c.MaxBody = 1000
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	down := startFront(t, parse(t, "http://"+listener.Addr().String()+"/v1"), verbose)
	broken := behind(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(body) // some servers do that
	}, verbose)
	body := `{"model":"m","messages":[{"role":"user","content":"` + secret + `"}],"user":"` + secret + `"}`
	for name, f := range map[string]*front{"down": down, "broken": broken} {
		for _, body := range []string{body, body + strings.Repeat(" ", 2000)} {
			_, answer := f.do(http.MethodPost, "/chat/completions?key="+secret, body, "Authorization", "Bearer "+secret, "X-Own", secret)
			if name == "down" && strings.Contains(answer, secret) {
				t.Errorf("%s: the answer repeats it: %s", name, answer)
			}
			if c := f.record(); strings.Contains(fmt.Sprintf("%+v", c), secret) {
				t.Errorf("%s: the record repeats it: %+v", name, c)
			}
		}
	}
	if strings.Contains(log.String(), secret) || !strings.Contains(log.String(), "call ended") {
		t.Errorf("log: got %s, want lines without the secret", log.String())
	}
}
