package control_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"chatwright.dev/tray/server/control"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/timetest"
	"chatwright.dev/tray/server/watch"
)

// pipes is a listener whose connections are in memory, so that a whole server fits into a bubble with a clock of its
// own.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	server, client := net.Pipe()
	p.conns <- server
	return client, nil
}

// follower reads a stream of events and notes what comes when.
type follower struct {
	mu     sync.Mutex
	states []protocol.Status
	pings  int
	retry  string
	err    error // how the stream ended
	ended  chan struct{}
}

func follow(body io.Reader) *follower {
	f := &follower{ended: make(chan struct{})}
	go func() {
		defer close(f.ended)
		lines := bufio.NewReader(body)
		for {
			line, err := lines.ReadString('\n')
			f.mu.Lock()
			if err != nil {
				f.err = err
				f.mu.Unlock()
				return
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				var s protocol.Status
				if err := json.Unmarshal([]byte(data), &s); err != nil {
					s.Detail = err.Error()
				}
				f.states = append(f.states, s)
			}
			if strings.HasPrefix(line, ": ping") {
				f.pings++
			}
			if strings.HasPrefix(line, "retry: ") {
				f.retry = strings.TrimSpace(line)
			}
			f.mu.Unlock()
		}
	}()
	return f
}

// bubble runs test with a follower of status, in its own time. stop ends the server.
func bubble(t *testing.T, test func(status *watch.Value[protocol.Status], f *follower, stop func())) {
	synctest.Test(t, func(t *testing.T) {
		status := watch.New(protocol.Status{Detail: "now"})
		ln := newPipes()
		s := control.New(control.Config{SocketPath: "pipes", Status: status})
		s.UseListener(ln)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Serve(ctx) }()
		transport := &http.Transport{DialContext: ln.dial, DisableKeepAlives: true}
		resp, err := (&http.Client{Transport: transport}).Get("http://daemon/v1/status/events")
		if err != nil {
			t.Fatal(err)
		}
		if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("Content-Type: got %q", got)
		}
		f := follow(resp.Body)
		synctest.Wait()
		test(status, f, cancel)
		cancel()
		<-f.ended
		_ = resp.Body.Close()
		if err := <-done; err != nil {
			t.Errorf("Serve: got %v, want a clean end", err)
		}
	})
}

// sessions.md: "retry: 1000 first"; the state now comes at once.
func TestStreamBeginsWithTheStateNow(t *testing.T) {
	bubble(t, func(_ *watch.Value[protocol.Status], f *follower, _ func()) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.retry != "retry: 1000" {
			t.Errorf("got %q, want retry: 1000", f.retry)
		}
		if len(f.states) != 1 || f.states[0].Detail != "now" {
			t.Errorf("got %+v, want the state now", f.states)
		}
	})
}

// Newest wins, at most 10 a second, and the newest of all always comes.
func TestStatesInBetweenAreLeftOutAndTheNewestIsNot(t *testing.T) {
	bubble(t, func(status *watch.Value[protocol.Status], f *follower, _ func()) {
		for i := range 1000 { // a second of a thousand changes
			timetest.Pass(time.Millisecond)
			status.Set(protocol.Status{Detail: "x", PID: i + 1})
		}
		timetest.Pass(200 * time.Millisecond)
		f.mu.Lock()
		defer f.mu.Unlock()
		if n := len(f.states); n < 10 || n > 12 {
			t.Errorf("got %d events in 1.2 s, want about 10 a second", n)
		}
		if last := f.states[len(f.states)-1]; last.PID != 1000 {
			t.Errorf("last: got %d, want the newest, 1000", last.PID)
		}
	})
}

func TestQuietStreamSaysNothingButPings(t *testing.T) {
	bubble(t, func(_ *watch.Value[protocol.Status], f *follower, _ func()) {
		timetest.Pass(61 * time.Second)
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.pings != 4 || len(f.states) != 1 {
			t.Errorf("in a quiet minute: got %d pings and %d states, want 4 and the first", f.pings, len(f.states))
		}
	})
}

// The stream ends at once, and well: not even the end of a long silence looks like a broken connection.
func TestStreamEndsAtOnceAndCleanlyWhenTheDaemonStops(t *testing.T) {
	bubble(t, func(_ *watch.Value[protocol.Status], f *follower, stop func()) {
		timetest.Pass(14 * time.Second) // longer than the deadline of the last write
		before := time.Now()
		stop()
		<-f.ended
		if took := time.Since(before); took != 0 {
			t.Errorf("it took %s, want no time", took)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.err != io.EOF {
			t.Errorf("end: got %v, want io.EOF", f.err)
		}
	})
}
