package httpx_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/internal/httpx"
	"chatwright.dev/tray/server/servertest/timetest"
)

// What is left of a body is never taken for the next request, however late it comes and however it is broken.
func TestTheRestOfABodyIsNoRequest(t *testing.T) {
	served := make(chan string, 10)
	server := httptest.NewServer(httpx.Lingering(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served <- r.URL.Path
		if r.URL.Path == "/read" {
			_, _ = io.Copy(io.Discard, r.Body)
		}
		if r.URL.Path == "/stream" {
			_ = http.NewResponseController(w).Flush()
			_, _ = io.Copy(io.Discard, r.Body)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})))
	defer server.Close()
	const smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, c := range map[string]struct {
		head, later string
		reused      bool
	}{
		"a body that comes late":         {"POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", smuggled, false},
		"a body that came":               {"POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 37\r\n\r\n", smuggled, false},
		"chunks that break, not read":    {"POST /early HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "zz\r\n" + smuggled, false},
		"chunks that break, read":        {"POST /read HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "zz\r\n" + smuggled, false},
		"chunks that break in an answer": {"POST /stream HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "zz\r\n" + smuggled, false},
		"leave that was not given":       {"POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n", smuggled, false},
		"a body that was read":           {"POST /read HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", strings.ReplaceAll(smuggled, "smuggled", "next"), true},
		"no body":                        {"GET /early HTTP/1.1\r\nHost: x\r\n\r\n", strings.ReplaceAll(smuggled, "smuggled", "next"), true},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
			fmt.Fprint(conn, c.head)
			if strings.Contains(c.head, "/early") && !strings.HasPrefix(name, "a body that came") {
				// When the answer is there, and in one case also what waits for the body has given up.
				reader := bufio.NewReader(conn)
				if _, err := http.ReadResponse(reader, nil); err != nil {
					t.Fatal(err)
				}
				if name == "a body that comes late" {
					timetest.Pause(700*time.Millisecond, "longer than the body is waited for")
				}
			}
			fmt.Fprint(conn, c.later)
			if !c.reused {
				_, _ = io.Copy(io.Discard, conn) // until it is closed
			}
			<-served
			if c.reused {
				if next := <-served; next != "/next" {
					t.Errorf("got %s, want the next request", next)
				}
				return
			}
			select {
			case path := <-served:
				t.Errorf("a part of the body was served as %s", path)
			default:
			}
		})
	}
}
