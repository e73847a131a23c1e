package server_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/servertest/timetest"
)

// inFlight is a proxied call of which headers, or also a first event, have come.
type inFlight struct {
	resp *http.Response
	err  error
}

func call(r *servertest.Running) <-chan inFlight {
	c := make(chan inFlight, 1)
	go func() {
		resp, err := r.Client.Post(r.URL+chatPath, "application/json", strings.NewReader(chatBody))
		c <- inFlight{resp, err}
	}()
	return c
}

// soon fails the test when c says nothing for long: never for a thing that is only slow.
func soon[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(10 * time.Second):
		t.Fatal("it took too long: " + what)
		panic("unreachable")
	}
}

func ended(r *servertest.Running) <-chan error {
	c := make(chan error, 1)
	go func() { c <- r.Wait() }()
	return c
}

// The first of the three for ever: an open stream of ours, a slow call, and the end of the context. The stream ends at
// once, the call gets its grace and is whole.
func TestShutdownLetsCallsEnd(t *testing.T) {
	release := make(chan struct{})
	slow := map[string]servertest.Scenario{"slow": {Pieces: []string{sse(`{"choices":[]}`), sse("[DONE]")}, Next: release}}
	r, provider := withUpstream(t, "slow", server.Config{Grace: time.Minute}, slow)
	stream, _ := events(t, r)
	<-stream
	<-stream
	pending := call(r)
	provider.Await(1)
	got := soon(t, pending, "the call's headers")
	if got.err != nil {
		t.Fatal(got.err)
	}
	defer got.resp.Body.Close()

	r.End()
	if e, open := <-stream; open {
		t.Errorf("the stream goes on with %+v", e)
	}
	// The listener closes just after the streams begin to end; it must not stay.
	timetest.Until(t, "the listener to take no more connections", func() (error, bool) {
		conn, err := net.Dial("tcp", r.Addr)
		if err == nil {
			conn.Close()
		}
		return err, err != nil
	})
	close(release)
	body, err := io.ReadAll(got.resp.Body)
	if err != nil || !strings.HasSuffix(string(body), sse("[DONE]")) {
		t.Errorf("the call: got %q, %v, want all of it", body, err)
	}
	if err := soon(t, ended(r), "the end"); err != nil {
		t.Errorf("Serve: got %v, want nil", err)
	}
}

// After the grace a call is cut off and never ends as if it were whole, whatever it had of its answer.
func TestShutdownCutsAfterTheGrace(t *testing.T) {
	for name, c := range map[string]struct {
		scenario string
		headers  bool
	}{"with headers and an event": {"stall", true}, "before the headers": {"silent", false}} {
		t.Run(name, func(t *testing.T) {
			r, provider := withUpstream(t, c.scenario, server.Config{Grace: 50 * time.Millisecond})
			pending := call(r)
			request := provider.Await(1)
			var got inFlight
			if c.headers {
				if got = soon(t, pending, "the headers"); got.err != nil {
					t.Fatal(got.err)
				}
			}
			r.End()
			if !c.headers {
				got = soon(t, pending, "the end of the call")
			}
			if err := soon(t, ended(r), "the end"); err != nil {
				t.Errorf("Serve: got %v, want nil", err)
			}
			soon(t, request.Left(), "the upstream is left")
			if got.err != nil {
				return // no answer at all is no clean end
			}
			defer got.resp.Body.Close()
			body, err := io.ReadAll(got.resp.Body)
			if err == nil && got.resp.StatusCode == http.StatusOK {
				t.Errorf("got a clean end after %q, want broken framing", body)
			}
		})
	}
}

// The second of the three: a second signal skips what is left of the grace.
func TestShutdownAbort(t *testing.T) {
	abort := make(chan struct{})
	r, provider := withUpstream(t, "stall", server.Config{Grace: time.Hour, Abort: abort})
	pending := call(r)
	provider.Await(1)
	got := soon(t, pending, "the headers")
	if got.err != nil {
		t.Fatal(got.err)
	}
	defer got.resp.Body.Close()
	r.End()
	select {
	case err := <-ended(r):
		t.Fatalf("Serve ended within its grace: %v", err)
	case <-time.After(50 * time.Millisecond): // it goes on, which only time can show
	}
	close(abort)
	if err := soon(t, ended(r), "the end"); err != nil {
		t.Errorf("Serve: got %v, want nil", err)
	}
	if body, err := io.ReadAll(got.resp.Body); err == nil {
		t.Errorf("got a clean end after %q, want broken framing", body)
	}
}

// Connections on which nothing is asked do not hold up the end: browsers open them ahead of need.
func TestShutdownEndsIdleConnectionsAtOnce(t *testing.T) {
	r := servertest.Start(t, server.Config{Grace: time.Hour, Abort: make(chan struct{})})
	for _, said := range []string{"", "GET /hea", "GET /health HTTP/1.1\r\nHost: ADDR\r\n\r\n"} {
		conn, err := net.Dial("tcp", r.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, strings.ReplaceAll(said, "ADDR", r.Addr)); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(said, "\r\n\r\n") { // and stays open for the next
			if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	began := time.Now()
	r.End()
	if err := soon(t, ended(r), "the end"); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 4*time.Second { // net/http alone gives such connections 5 s
		t.Errorf("took %s", took)
	}
}

// A server may be served again after it ended: the tray's Stop and Start.
func TestServeAgain(t *testing.T) {
	s, err := server.New(server.Config{Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Serve(ctx, ln) }()
		transport := &http.Transport{}
		resp, err := (&http.Client{Transport: transport}).Get("http://" + ln.Addr().String() + "/health")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		transport.CloseIdleConnections()
		end()
		if err := soon(t, done, "the end"); err != nil {
			t.Error(err)
		}
	}
}

// A listener that breaks is an error that says where.
func TestServeListenerBreaks(t *testing.T) {
	s, err := server.New(server.Config{Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	err = s.Serve(t.Context(), ln)
	if !errors.Is(err, net.ErrClosed) || !strings.Contains(err.Error(), ln.Addr().String()) {
		t.Errorf("got %v", err)
	}
}

// security.md 6: it binds loopback only, however it gets its listener.
func TestServeRefusesRemoteListeners(t *testing.T) {
	s, err := server.New(server.Config{Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ListenAndServe(t.Context(), "0.0.0.0:0"); err == nil {
		t.Error("ListenAndServe took 0.0.0.0")
	}
	ln, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(t.Context(), ln); err == nil {
		t.Error("Serve took a listener on 0.0.0.0")
	}
	if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener: got %v, want closed", err)
	}
}

func TestListenAndServe(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	s, err := server.New(server.Config{Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ListenAndServe(t.Context(), taken.Addr().String()); err == nil || !strings.Contains(err.Error(), taken.Addr().String()) {
		t.Errorf("got %v, want an error that names the address", err)
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	if err := s.ListenAndServe(ctx, "127.0.0.1:0"); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// security.md 6: in remote mode the name that the listener is bound to is served.
func TestServeRemote(t *testing.T) {
	token := strings.Repeat("t", 32)
	s, err := server.New(server.Config{Version: "1", RemoteToken: []byte(token)})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	defer func() {
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	host := otherAddress(t)
	for name, want := range map[string]int{host: 200, "evil.test": 403, "192.0.2.1": 403} {
		req, err := http.NewRequest("GET", "http://"+net.JoinHostPort(host, port)+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = net.JoinHostPort(name, port)
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("Host %s: got %d, want %d", name, resp.StatusCode, want)
		}
	}
}

// otherAddress is an address of this machine that is not loopback.
func otherAddress(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range addrs {
		if n, ok := addr.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	servertest.Missing(t, "this machine has loopback only, as a sandbox without a network may")
	return ""
}
