package control_test

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"chatwright.dev/tray/server/control"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/watch"
)

// soon is far more than anything here takes, and far less than the graces that must not be waited for.
const soon = 3 * time.Second

func (d *daemon) wantEnd(t *testing.T, within time.Duration) {
	t.Helper()
	select {
	case err := <-d.done:
		if err != nil {
			t.Errorf("Serve: got %v, want a clean end", err)
		}
		d.done <- nil // for the end of the test
	case <-time.After(within):
		t.Fatalf("Serve still runs after %s", within)
	}
}

// Rule 2 of the house: streams end first, requests in flight then finish, and Serve returns when both have.
func TestStreamsEndFirstAndRequestsInFlightFinish(t *testing.T) {
	begun, finish := make(chan struct{}), make(chan struct{})
	d := start(t, control.Config{Grace: time.Minute, Server: func(context.Context, protocol.ServerAction) error {
		close(begun)
		<-finish
		return nil
	}})
	resp, err := d.http.Get("http://daemon/v1/status/events")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()

	var slow answer
	var wg sync.WaitGroup
	wg.Go(func() { slow = d.do(t, http.MethodPost, "/v1/server/restart", "") })
	<-begun
	d.stop()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
	}
	if err := lines.Err(); err != nil {
		t.Errorf("the stream: got %v, want a clean end", err)
	}
	select {
	case <-d.done:
		t.Fatal("Serve ended before the request in flight")
	default:
	}
	close(finish)
	wg.Wait()
	if slow.status != http.StatusNoContent {
		t.Errorf("the request in flight: got %d, want its 204", slow.status)
	}
	d.wantEnd(t, soon)
	if _, err := os.Lstat(d.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket: got %v, want it gone", err)
	}
}

func TestRequestThatOutlastsTheGraceIsCutAndWaitedFor(t *testing.T) {
	begun := make(chan struct{})
	ended := false
	d := start(t, control.Config{Grace: time.Millisecond, Server: func(ctx context.Context, _ protocol.ServerAction) error {
		close(begun)
		<-ctx.Done()
		ended = true
		return ctx.Err()
	}})
	var wg sync.WaitGroup
	wg.Go(func() {
		req, err := http.NewRequest(http.MethodPost, "http://daemon/v1/server/stop", nil)
		if err != nil {
			t.Error(err)
			return
		}
		if resp, err := d.http.Do(req); err == nil {
			_ = resp.Body.Close()
			t.Errorf("got %d, want a connection that was cut", resp.StatusCode)
		}
	})
	<-begun
	d.stop()
	d.wantEnd(t, soon)
	if !ended {
		t.Error("Serve returned before the action had ended")
	}
	wg.Wait()
}

// A caller that loses patience does not leave the server half restarted.
func TestActionGoesOnWhenItsCallerLeaves(t *testing.T) {
	begun, left := make(chan struct{}), make(chan struct{})
	result := make(chan error, 1)
	d := start(t, control.Config{Server: func(ctx context.Context, _ protocol.ServerAction) error {
		close(begun)
		<-left
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond): // the server notices a closed connection within this
		}
		result <- ctx.Err()
		return nil
	}})
	conn, err := net.Dial("unix", d.path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("POST /v1/server/restart HTTP/1.1\r\nHost: d\r\nContent-Length: 0\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	<-begun
	_ = conn.Close()
	close(left)
	if err := <-result; err != nil {
		t.Errorf("the action's context: got %v, want it alive", err)
	}
}

// A connection that never asks anything must not delay the end: net/http alone would wait five seconds for it.
func TestSilentConnectionDoesNotDelayTheEnd(t *testing.T) {
	d := start(t, control.Config{Grace: time.Minute})
	for range 3 {
		conn, err := net.Dial("unix", d.path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
	}
	d.do(t, http.MethodGet, "/health", "") // so those before it have been accepted
	d.stop()
	d.wantEnd(t, soon)
}

func TestListenRefusesWhileAnotherServes(t *testing.T) {
	d := start(t, control.Config{})
	again := control.New(control.Config{SocketPath: d.path, Status: watch.New(protocol.Status{})})
	if err := again.Listen(); err == nil || !strings.Contains(err.Error(), "another process listens there") {
		t.Errorf("Listen: got %v, want it to say who is there", err)
	}
	if err := again.Serve(t.Context()); err == nil {
		t.Error("Serve listens itself: want the same refusal")
	}
	if got := d.do(t, http.MethodGet, "/health", ""); got.status != http.StatusOK {
		t.Errorf("the first daemon: got %d, want it unharmed", got.status)
	}
}

func TestServeListensItselfAndCanBeAskedFromListenOn(t *testing.T) {
	dir, err := os.MkdirTemp("", "ctl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s := control.New(control.Config{SocketPath: filepath.Join(dir, "run", "s"), Status: watch.New(protocol.Status{})})
	if got, want := s.Addr(), filepath.Join(dir, "run", "s"); got != want {
		t.Errorf("Addr: got %q, want %q", got, want)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", s.Addr()) // before Serve: it waits in the queue
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte("GET /health HTTP/1.0\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.Contains(line, "200") {
		t.Errorf("got %q, %v, want a 200", line, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestListenerThatBreaksEndsServeWithItsError(t *testing.T) {
	ln := newPipes()
	s := control.New(control.Config{SocketPath: "pipes", Status: watch.New(protocol.Status{})})
	s.UseListener(ln)
	done := make(chan error, 1)
	go func() { done <- s.Serve(t.Context()) }()
	_ = ln.Close()
	if err := <-done; !errors.Is(err, net.ErrClosed) || !strings.HasPrefix(err.Error(), "serving the control socket: ") {
		t.Errorf("got %v, want the listener's error", err)
	}
}
