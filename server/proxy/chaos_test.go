package proxy_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/timetest"
	"chatwright.dev/tray/server/upstream"
)

// rawUpstream answers each request with what respond writes to its connection; the body has been read. It ends the
// connection when respond returns false. Requests are counted from 1.
func rawUpstream(t testing.TB, respond func(conn net.Conn, r *http.Request, nth int) bool) *upstream.Target {
	t.Helper()
	return rawUpstreamWith(t, func(net.Conn) {}, func(conn net.Conn, r *http.Request, nth int) bool {
		_, err := io.Copy(io.Discard, r.Body)
		return err == nil && respond(conn, r, nth)
	})
}

func rawUpstreamWith(t testing.TB, opened func(net.Conn), respond func(net.Conn, *http.Request, int) bool) *upstream.Target {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var requests atomic.Int64
	serve := func(conn net.Conn) {
		defer conn.Close()
		defer context.AfterFunc(ctx, func() { conn.Close() })()
		for reader := bufio.NewReader(conn); ; {
			r, err := http.ReadRequest(reader)
			if err != nil || !respond(conn, r, int(requests.Add(1))) {
				return
			}
		}
	}
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			opened(conn)
			all.Go(func() { serve(conn) })
		}
	})
	t.Cleanup(func() {
		cancel()
		listener.Close()
		all.Wait()
	})
	return parse(t, "http://"+listener.Addr().String()+"/v1")
}

// readAnswer reads one answer from a connection.
func readAnswer(t testing.TB, conn net.Conn) (*http.Response, string) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

// byteSource makes bytes of any value, the same for the same seed.
type byteSource struct{ *rand.Rand }

func newBytes(seed uint64) byteSource { return byteSource{rand.New(rand.NewPCG(seed, seed))} }

// next returns up to most bytes.
func (s byteSource) next(most int) []byte {
	p := make([]byte, s.IntN(most), most+8)
	for i := 0; i < len(p); i += 8 {
		binary.NativeEndian.PutUint64(p[i:i+8:cap(p)], s.Uint64())
	}
	return p
}

const chunkedHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

func chunk(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }

// TestUpstreamsThatBreakOff: an answer that is cut short is never seen as whole. gateway.md 3; companion.md: 502 if
// nothing was sent yet, else broken framing.
func TestUpstreamsThatBreakOff(t *testing.T) {
	const jsonHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
	for name, c := range map[string]struct {
		sends   string
		reset   bool
		code    string // of the 502; "" for broken framing
		status  int    // of the record
		verdict protocol.Verdict
	}{
		"before a header":               {"", false, "upstream_unreachable", 0, protocol.VerdictUnreachable},
		"before a header, by a reset":   {"", true, "upstream_unreachable", 0, protocol.VerdictUnreachable},
		"in the header":                 {"HTTP/1.1 200 OK\r\nContent-Ty", false, "upstream_unreachable", 0, protocol.VerdictUnreachable},
		"behind the header of a JSON":   {jsonHead, false, "upstream_cut_short", 200, protocol.VerdictTruncated},
		"in a JSON":                     {jsonHead + `{"model":"m",`, false, "", 200, protocol.VerdictTruncated},
		"in a JSON, by a reset":         {jsonHead + `{"model":"m",`, true, "", 200, protocol.VerdictTruncated},
		"behind the header of a stream": {chunkedHead, false, "", 200, protocol.VerdictTruncated},
		"behind one event":              {chunkedHead + chunk(tokenEvent), false, "", 200, protocol.VerdictTruncated},
		"behind one event, by a reset":  {chunkedHead + chunk(tokenEvent), true, "", 200, protocol.VerdictTruncated},
		"behind the end marker":         {chunkedHead + chunk(tokenEvent+doneEvent), false, "", 200, protocol.VerdictTruncated},
		"no HTTP at all":                {"SSH-2.0-OpenSSH_9.9\r\n", false, "upstream_unreachable", 0, protocol.VerdictUnreachable},
		"a header without end":          {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2<<20), false, "upstream_unreachable", 0, protocol.VerdictUnreachable},
		"another protocol":              {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", false, "upstream_switched_protocols", 101, protocol.VerdictUpstreamError},
	} {
		t.Run(name, func(t *testing.T) {
			f := startFront(t, rawUpstream(t, func(conn net.Conn, _ *http.Request, _ int) bool {
				_, _ = io.WriteString(conn, c.sends)
				if c.reset {
					timetest.Pause(150*time.Millisecond, "a reset throws away what has not been read by then")
					_ = conn.(*net.TCPConn).SetLinger(0)
				}
				return false
			}))
			answer, err := f.send(http.MethodPost, "/chat/completions", strings.NewReader(`{"model":"asked"}`))
			if err != nil {
				t.Fatalf("no answer: %v", err)
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			if c.code != "" {
				wantOpenAIError(t, answer, string(body), 502, c.code)
			} else if err == nil {
				t.Errorf("the answer ended cleanly: %q", body)
			}
			if r := f.wantVerdict(c.status, c.verdict); r.Error == "" || r.Model == "" {
				t.Errorf("record: got error %q, model %q", r.Error, r.Model)
			}
		})
	}
}

// TestOddUpstreams: what is odd and yet whole passes.
func TestOddUpstreams(t *testing.T) {
	const answer = `{"model":"m","usage":{"prompt_tokens":1,"completion_tokens":2}}`
	plain := fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(answer)) + answer
	for name, sends := range map[string]string{
		"more than it announced":     "HTTP/1.1 200 OK\r\nConnection: close\r\n" + plain + "GARBAGE",
		"HTTP/1.0 until it closes":   "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + answer,
		"early hints first":          "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\n" + plain,
		"100 Continue unasked":       "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n" + plain,
		"a trailer":                  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(answer) + "0\r\nX-Sum: 5\r\n\r\n",
		"a type that is none":        "HTTP/1.1 200 OK\r\nContent-Type: ;;\r\nConnection: close\r\n\r\n" + answer,
		"a long header":              "HTTP/1.1 200 OK\r\nX-Long: " + strings.Repeat("x", 200<<10) + "\r\n" + plain,
		"headers that are not UTF-8": "HTTP/1.1 200 OK\r\nX-Odd: \xff\xfe\r\n" + plain,
		"a status nobody knows":      "HTTP/1.1 299 Whatever\r\n" + plain,
		"chunks of one byte":         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Join(mapped(answer), "") + "0\r\n\r\n",
		"hop-by-hop headers":         "HTTP/1.1 200 OK\r\nConnection: X-Named\r\nX-Named: 1\r\nKeep-Alive: x\r\n" + plain,
	} {
		t.Run(name, func(t *testing.T) {
			f := startFront(t, rawUpstream(t, func(conn net.Conn, _ *http.Request, _ int) bool {
				_, _ = io.WriteString(conn, sends)
				return false
			}))
			got, body := f.chat(`{}`)
			if body != answer {
				t.Errorf("body: got %q", body)
			}
			switch name {
			case "a trailer":
				if got.Trailer.Get("X-Sum") != "5" {
					t.Errorf("trailer: got %v", got.Trailer)
				}
			case "hop-by-hop headers":
				if got.Header.Get("X-Named") != "" || got.Header.Get("Keep-Alive") != "" {
					t.Errorf("headers: got %v", got.Header)
				}
			}
			if c := f.record(); c.CompletionTokens != 2 || c.Verdict != protocol.VerdictComplete {
				t.Errorf("record: got %+v", c)
			}
		})
	}
}

func mapped(text string) []string {
	var out []string
	for i := range len(text) {
		out = append(out, chunk(text[i:i+1]))
	}
	return out
}

// TestAnErrorWithTheStatusOfSuccess: some servers answer 200 and an error object.
func TestAnErrorWithTheStatusOfSuccess(t *testing.T) {
	f := behind(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"error":{"message":"no capacity"}}`)
	})
	f.chat(`{}`)
	if c := f.wantVerdict(200, protocol.VerdictUpstreamError); c.Error != "no capacity" {
		t.Errorf("error: got %q", c.Error)
	}
}

// gateway.md 4: a data line of 4 MiB passes unchanged and is understood; companion.md: a megabyte model name does not
// reach the metrics.
func TestVeryLongLines(t *testing.T) {
	long := strings.Repeat("word ", 4<<20/5)
	stream := `data: {"model":"` + strings.Repeat("n", 1<<20) + `","choices":[{"delta":{"content":"` + long + `"}}],` +
		`"usage":{"prompt_tokens":11,"completion_tokens":2}}` + "\n\n" + doneEvent
	f := behind(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stream)
	})
	if _, body := f.chat(`{"stream":true,"model":"` + strings.Repeat("é", 1<<18) + `"}`); body != stream {
		t.Error("the bytes differ")
	}
	c := f.wantVerdict(200, protocol.VerdictComplete)
	if len(c.Model) != 200 || c.CompletionTokens != 2 || c.FirstTokenMs == nil {
		t.Errorf("record: got a model of %d bytes, %d tokens, first token %v", len(c.Model), c.CompletionTokens, c.FirstTokenMs)
	}
	if begun := f.begun[0]; len(begun) != 200 {
		t.Errorf("begun with a model of %d bytes", len(begun))
	}
}

// A caller whose own request breaks off is no fault of the upstream.
func TestCallersThatBreakOff(t *testing.T) {
	f := behind(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	for name, c := range map[string]struct {
		sends  string
		status int
		code   string
	}{
		"in a body of known length": {"Content-Length: 100\r\n\r\n{\"model\":\"m\"", 499, ""},
		"in a large body":           {"Content-Length: 3000000\r\n\r\n" + strings.Repeat("x", 2<<20), 499, ""},
		"with broken chunks":        {"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "bad_request_body"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(f.url, "http://"), "/v1"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"+c.sends)
			if c.code != "" {
				answer, body := readAnswer(t, conn)
				wantOpenAIError(t, answer, body, c.status, c.code)
			}
			conn.Close()
			if r := f.record(); r.Status != c.status {
				t.Errorf("record: got status %d, want %d: %+v", r.Status, c.status, r)
			}
		})
	}
}
