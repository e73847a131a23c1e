package proxy_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

const smallAnswer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"

// gateway.md 12: a pooled connection that the upstream closed as our POST arrived does not cost the user a call.
func TestAPOSTOnAConnectionThatWasJustClosed(t *testing.T) {
	for name, c := range map[string]struct {
		body    string
		chunked bool
		partial string // of an answer, sent before the connection closes
		every   bool   // the upstream closes on each but the first
		reset   bool
		want    int // the status of the second call
		reached int // how often it reached the upstream
	}{
		"is sent once more":                         {`{"model":"m"}`, false, "", false, false, 200, 2},
		"also after a reset":                        {`{"model":"m"}`, false, "", false, true, 200, 2},
		"also of unknown length":                    {`{"model":"m"}`, true, "", false, false, 200, 2},
		"also without a body":                       {``, false, "", false, false, 200, 2},
		"also with 1 MiB":                           {strings.Repeat("x", 1<<20), false, "", false, false, 200, 2},
		"but not with more":                         {strings.Repeat("x", 1<<20+1), false, "", false, false, 502, 1},
		"and not twice":                             {`{"model":"m"}`, false, "", true, false, 502, 2},
		"and not when a byte of an answer came":     {`{"model":"m"}`, false, "H", false, false, 502, 1},
		"and not when an informational answer came": {`{"model":"m"}`, false, "HTTP/1.1 103 Early Hints\r\n\r\n", false, false, 502, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bodies := make(chan string, 10)
			f := startFront(t, rawUpstreamBody(t, func(conn net.Conn, body string, nth int) bool {
				bodies <- body
				if nth == 1 || nth > 2 && !c.every {
					_, _ = io.WriteString(conn, smallAnswer)
					return true
				}
				_, _ = io.WriteString(conn, c.partial)
				if c.reset {
					_ = conn.(*net.TCPConn).SetLinger(0)
				}
				return false
			}))
			f.chat(`{}`) // so that a connection is in the pool
			f.record()
			<-bodies

			var body io.Reader = strings.NewReader(c.body)
			if c.chunked {
				body = struct{ io.Reader }{body}
			}
			answer, err := f.send(http.MethodPost, "/chat/completions", body)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != c.want {
				t.Errorf("status: got %d, want %d", answer.StatusCode, c.want)
			}
			f.record()
			f.noRecord()
			if got := len(bodies); got != c.reached {
				t.Errorf("the call reached the upstream %d times, want %d", got, c.reached)
			}
			for range len(bodies) {
				if got := <-bodies; got != c.body {
					t.Errorf("a body of %d bytes, want the %d that were sent", len(got), len(c.body))
				}
			}
		})
	}
}

// gateway.md 12: only on a reused connection. A server that hangs up on a fresh one does not like the call.
func TestAPOSTOnAFreshConnectionIsNotRepeated(t *testing.T) {
	var reached atomic.Int64
	f := startFront(t, rawUpstreamBody(t, func(net.Conn, string, int) bool {
		reached.Add(1)
		return false
	}))
	answer, body := f.chat(`{}`, "Idempotency-Key", "k") // net/http would take that as leave to repeat
	wantOpenAIError(t, answer, body, 502, "upstream_unreachable")
	f.wantVerdict(0, protocol.VerdictUnreachable)
	if got := reached.Load(); got != 1 {
		t.Errorf("the call reached the upstream %d times, want once", got)
	}
}

// companion.md: "a default pool of 2 idle connections to the upstream" is what the original had.
func TestConnectionsAreReused(t *testing.T) {
	var opened atomic.Int64
	f := startFront(t, rawUpstreamBody(t, func(conn net.Conn, _ string, _ int) bool {
		_, _ = io.WriteString(conn, smallAnswer)
		return true
	}, &opened))
	const side = 32
	gate := make(chan struct{})
	for range 5 {
		ended := make(chan error, side)
		for range side {
			go func() {
				<-gate
				answer, err := f.send(http.MethodPost, "/chat/completions", strings.NewReader("{}"))
				if err == nil {
					answer.Body.Close()
					if answer.StatusCode != http.StatusOK {
						err = fmt.Errorf("status %d", answer.StatusCode)
					}
				}
				ended <- err
			}()
		}
		for range side {
			gate <- struct{}{}
		}
		for range side {
			if err := <-ended; err != nil {
				t.Error(err)
			}
			f.record()
		}
	}
	if got := opened.Load(); got > side {
		t.Errorf("%d connections for rounds of %d calls: the pool does not keep them", got, side)
	}
}

// rawUpstreamBody is rawUpstream for what looks at bodies; opened counts its connections.
func rawUpstreamBody(t testing.TB, respond func(conn net.Conn, body string, nth int) bool, opened ...*atomic.Int64) *upstream.Target {
	t.Helper()
	return rawUpstreamWith(t, func(net.Conn) {
		for _, n := range opened {
			n.Add(1)
		}
	}, func(conn net.Conn, r *http.Request, nth int) bool {
		body, err := io.ReadAll(r.Body)
		return err == nil && respond(conn, string(body), nth)
	})
}
