package server_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/servertest"
)

// security.md 5: 2,000 half-open connections do not keep /health from answering within a second.
func TestHalfOpenConnections(t *testing.T) {
	r := servertest.Start(t, server.Config{})
	for i := range 2000 {
		conn, err := net.Dial("tcp", r.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i%2 == 0 {
			if _, err := io.WriteString(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: "); err != nil {
				t.Fatal(err)
			}
		}
	}
	began := time.Now()
	if got := ask(t, r, "GET", "/health", ""); got.Status != 200 {
		t.Errorf("got %d", got.Status)
	}
	if took := time.Since(began); took > time.Second { // the figure is the specification's
		t.Errorf("took %s, want at most 1 s", took)
	}
}

// security.md 5: headers are bounded.
func TestHeadersAreBounded(t *testing.T) {
	r := servertest.Start(t, server.Config{})
	small, _ := raw(t, r, "GET /health HTTP/1.1\r\nHost: ADDR\r\nX: "+strings.Repeat("x", 60<<10)+"\r\nConnection: close\r\n\r\n")
	if small.Status != 200 {
		t.Errorf("60 KiB: got %d, want 200", small.Status)
	}
	large, closed := raw(t, r, "GET /health HTTP/1.1\r\nHost: ADDR\r\nX: "+strings.Repeat("x", 69<<10)+"\r\n\r\n")
	if large.Status != 431 || !closed {
		t.Errorf("69 KiB: got %d, closed %v, want 431 and closed", large.Status, closed)
	}
}

// security.md 5: chat completions are bounded, configurably, and the cap is named; 64 MiB where none is.
func TestOriginalFault_NoBodyLimit(t *testing.T) {
	small, provider := withUpstream(t, "chat", server.Config{MaxChatBody: 2 << 20})
	want := `{"error":{"message":"request body is over the cap of 2 MiB","type":"invalid_request_error","param":null,"code":`
	got := ask(t, small, "POST", chatPath, strings.Repeat(" ", 2<<20+1), "Origin", "https://chatwright.dev")
	if got.Status != 413 || !strings.HasPrefix(got.Body, want) {
		t.Errorf("got %d %s, want 413 %s", got.Status, got.Body, want)
	}
	got.wantsHeader(t, "Access-Control-Allow-Origin", "https://chatwright.dev")
	if ask(t, small, "POST", chatPath, strings.Repeat(" ", 2<<20)).Status != 200 {
		t.Error("a body of just the cap was refused")
	}
	if n := len(provider.Requests()); n != 1 {
		t.Errorf("the upstream got %d calls, want the one within the cap", n)
	}

	plain, _ := withUpstream(t, "chat", server.Config{})
	declared, _ := raw(t, plain, "POST "+chatPath+" HTTP/1.1\r\nHost: ADDR\r\nContent-Length: 67108865\r\n\r\n")
	if declared.Status != 413 || !strings.Contains(declared.Body, "64 MiB") {
		t.Errorf("got %d %s, want 413 with 64 MiB", declared.Status, declared.Body)
	}
}

// A thousand streams that are open and slow do not keep /health from answering within a second, and each ends whole.
func TestAThousandSlowStreams(t *testing.T) {
	const streams = 1000
	finish := make(chan struct{})
	p := servertest.NewProvider(t, map[string]servertest.Scenario{"slow": {
		Pieces: []string{"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n", "data: [DONE]\n\n"}, Next: finish,
	}})
	r := servertest.Start(t, server.Config{UpstreamBaseURL: p.BaseURL("slow")})
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	begun := make(chan error, streams)
	ended := make(chan error, streams)
	for range streams {
		go func() {
			answer, err := client.Post(r.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"stream":true}`))
			if err != nil {
				begun <- err
				ended <- err
				return
			}
			defer answer.Body.Close()
			body := bufio.NewReader(answer.Body)
			_, err = body.ReadString('\n')
			begun <- err
			_, err = io.ReadAll(body)
			ended <- err
		}()
	}
	for range streams {
		if err := <-begun; err != nil {
			t.Fatalf("a stream did not begin: %v", err)
		}
	}
	asked := time.Now()
	ask(t, r, "GET", "/health", "")
	if took := time.Since(asked); took > time.Second {
		t.Errorf("/health behind %d open streams: answered after %v", streams, took)
	}
	close(finish)
	for range streams {
		if err := <-ended; err != nil {
			t.Fatalf("a stream did not end whole: %v", err)
		}
	}
}
