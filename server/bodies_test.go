package server_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/servertest"
)

// An answer that needs no body does not wait for one, on any route.
func TestNoAnswerWaitsForABody(t *testing.T) {
	r, _ := withUpstream(t, "chat", server.Config{})
	for request, want := range map[string]int{
		"POST /health": 405, "PUT " + chatPath: 405, "POST /v1/nowhere": 404, "POST /nowhere": 404, "POST /": 405,
		"GET /health": 200, "GET /v1/models": 200, "GET /console/": 200, "OPTIONS /metrics": 204, "GET /metrics": 200,
	} {
		for _, head := range []string{"Content-Length: 1000\r\n", "Transfer-Encoding: chunked\r\n", "Content-Length: 10\r\nExpect: 100-continue\r\n"} {
			t.Run(request+" "+strings.Fields(head)[0]+fmt.Sprint(len(head)), func(t *testing.T) {
				t.Parallel()
				got, _ := raw(t, r, request+" HTTP/1.1\r\nHost: ADDR\r\n"+head+"\r\n") // within 5 s
				if got.Status != want {
					t.Errorf("got %d, want %d", got.Status, want)
				}
			})
		}
	}
}

// An answer arrives at a caller who writes all of a large body before it reads; and where the body was short, the next
// request on the connection is understood.
func TestAnswersReachCallersWhoStillSend(t *testing.T) {
	r := servertest.Start(t, server.Config{})
	for name, c := range map[string]struct{ request, status string }{
		"a query over its cap":       {"POST /datastate/query", "413 Request Entity Too Large"},
		"a method that there is not": {"POST /health", "405 Method Not Allowed"},
		"a path that there is not":   {"POST /v1/nowhere", "404 Not Found"},
		"an origin that is not ours": {"POST /datastate/query HTTP/1.1\r\nOrigin: http://evil.test", "403 Forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", r.Addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			line, more, _ := strings.Cut(c.request, " HTTP/1.1")
			const size = 20 << 20
			head := fmt.Sprintf("%s HTTP/1.1\r\nHost: %s%s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", line, r.Addr, more, size)
			if _, err := conn.Write(append([]byte(head), make([]byte, size)...)); err != nil {
				t.Fatalf("sending: %v", err)
			}
			got, err := io.ReadAll(conn)
			if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 "+c.status+"\r\n") {
				t.Errorf("got %.60q, %v; want %s", got, err, c.status)
			}
		})
	}
	next, _ := raw(t, r, "POST /health HTTP/1.1\r\nHost: ADDR\r\nContent-Length: 3\r\n\r\nxyzGET /nowhere HTTP/1.1\r\nHost: ADDR\r\nConnection: close\r\n\r\n")
	if next.Status != http.StatusMethodNotAllowed {
		t.Errorf("got %d, want 405 first", next.Status)
	}
}

// RFC 9110: "http://host" without a slash is its root.
func TestAbsoluteFormWithoutAPath(t *testing.T) {
	r := servertest.Start(t, server.Config{})
	got, _ := raw(t, r, "GET http://ADDR HTTP/1.1\r\nHost: ADDR\r\nConnection: close\r\n\r\n")
	if got.Status != 200 || !strings.HasPrefix(got.Header.Get("Content-Type"), "text/html") {
		t.Errorf("got %d %s, want the page", got.Status, got.Header.Get("Content-Type"))
	}
	if got, _ := raw(t, r, "CONNECT ADDR HTTP/1.1\r\nHost: ADDR\r\nConnection: close\r\n\r\n"); got.Status != 405 {
		t.Errorf("CONNECT: got %d, want 405", got.Status)
	}
}

// A query nests expectations as deep as its body has room. The error names each place, and costs no more than its text.
func TestDeeplyNestedExpectations(t *testing.T) {
	r := servertest.Start(t, server.Config{})
	const depth = 4900 // encoding/json goes no deeper than 10,000
	body := `{"query":"q","expectations":[` + strings.Repeat(`{"type":"all","of":[`, depth) + `{"type":"bogus"}` + strings.Repeat("]}", depth) + "]}"
	var got answer
	grown := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			got = ask(t, r, "POST", "/datastate/query", body)
		}
	}).AllocedBytesPerOp()
	want := `{"error":"` + strings.Repeat("expectations[0]: ", depth+1) + `unknown expectation type \"bogus\" (want one of: `
	if got.Status != 400 || !strings.HasPrefix(got.Body, want) {
		t.Errorf("got %d %.80s…, want 400 and all places", got.Status, got.Body)
	}
	if grown > 16<<20 { // a text for each level took 250 MB
		t.Errorf("it took %d MiB", grown>>20)
	}
}
