package control_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"chatwright.dev/tray/server/control"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/timetest"
	"chatwright.dev/tray/server/session"
	"chatwright.dev/tray/server/watch"
)

// stream reads what a request for events is answered, up to a line with this text.
func (d *daemon) stream(t *testing.T, path, until string, header ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://daemon"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := d.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Fatalf("Content-Type: got %q", ct)
	}
	var text strings.Builder
	for lines := bufio.NewReader(resp.Body); ; {
		line, err := lines.ReadString('\n')
		text.WriteString(line)
		if err != nil {
			if until != "" {
				t.Errorf("the stream ended without %q: %v", until, err)
			}
			return text.String()
		}
		if until != "" && strings.Contains(line, until) {
			return text.String()
		}
	}
}

// ids are the numbers of the frames in a stream.
func ids(text string) string {
	var found []string
	for line := range strings.Lines(text) {
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			found = append(found, strings.TrimSpace(id))
		}
	}
	return strings.Join(found, " ")
}

// sessions.md: SSE frame `id: <seq>`, `data: <event>`, blank line; `retry: 1000` first.
func TestEventsAreFramesWithTheirNumbers(t *testing.T) {
	m := manage(t, echo)
	d := start(t, control.Config{Manager: m})
	s := d.create(t, t.TempDir())
	path := "/v1/sessions/" + s.ID
	d.do(t, http.MethodPost, path+"/turns", `{"text":"<hello> & more"}`)
	awaitEnd(t, m, s.ID)
	d.do(t, http.MethodDelete, path, "")
	record, err := os.ReadFile(recordPath(t, m, s.ID))
	if err != nil {
		t.Fatal(err)
	}
	want := "retry: 1000\n\n"
	for i, line := range strings.Split(strings.TrimSuffix(string(record), "\n"), "\n") {
		want += fmt.Sprintf("id: %d\ndata: %s\n\n", i+1, line)
	}
	want += "event: closed\ndata: {}\n\n"
	if got := d.stream(t, path+"/events", ""); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// from wins over Last-Event-ID, which is accepted, and names the last event that was seen.
	for _, c := range []struct{ query, header, want string }{
		{"", "", "1 2 3 4"}, {"?from=3", "", "3 4"}, {"", "3", "4"}, {"", "0", "1 2 3 4"}, {"?from=2", "3", "2 3 4"}, {"?from=4", "1", "4"}, {"", "4", ""}, {"?from=50", "", ""},
	} {
		var header []string
		if c.header != "" {
			header = []string{"Last-Event-ID", c.header}
		}
		if got := ids(d.stream(t, path+"/events"+c.query, "", header...)); got != c.want {
			t.Errorf("%q, Last-Event-ID %q: got %q, want %q", c.query, c.header, got, c.want)
		}
	}
	wantError(t, d.do(t, http.MethodGet, path+"/events", "", "Last-Event-ID", "x"), 400, protocol.CodeInvalidInput, "Last-Event-ID")
	// A page is for those who accept JSON and no stream.
	for accept, page := range map[string]bool{"application/json": true, "application/json; q=0.9, text/plain": true, "*/*": false, "text/event-stream, application/json": false} {
		got := d.do(t, http.MethodGet, path+"/events", "", "Accept", accept)
		if is := strings.HasPrefix(got.body, `{"events":[`); is != page {
			t.Errorf("Accept %q: got %.40q", accept, got.body)
		}
	}
}

func recordPath(t *testing.T, m *session.Manager, id string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(m.Dir(), id+".jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the record of %s: got %v, %v", id, found, err)
	}
	return found[0]
}

// Invariant 1: a turn goes on with no client attached; a disconnect is not a cancellation.
func TestATurnOutlivesEveryClient(t *testing.T) {
	finish := make(chan struct{})
	m := manage(t, func(ctx context.Context, req session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
		<-finish
		return echo(ctx, req, emit)
	})
	d := start(t, control.Config{Manager: m})
	s := d.create(t, t.TempDir())
	path := "/v1/sessions/" + s.ID
	d.do(t, http.MethodPost, path+"/turns", `{"text":"hello"}`)
	d.stream(t, path+"/events", "turn.started") // and the connection is closed
	d.http.CloseIdleConnections()
	close(finish)
	events := awaitEnd(t, m, s.ID)
	if end := events[len(events)-1]; !strings.Contains(string(end.Payload), `"reason":"done"`) {
		t.Errorf("the end: got %s", end.Payload)
	}
	if got := ids(d.stream(t, path+"/events?from=3", "turn.completed")); got != "3 4" {
		t.Errorf("who comes back reads on: got %s", got)
	}
}

// Only where events were pruned the answer is 410.
func TestEventsThatAreGoneAre410(t *testing.T) {
	m := manage(t, func(_ context.Context, _ session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
		emit(session.Delta{Text: strings.Repeat("x", 10_000)})
		return session.ModelResult{FinishReason: "stop"}, nil
	})
	d := start(t, control.Config{Manager: m})
	s := d.create(t, t.TempDir())
	path := "/v1/sessions/" + s.ID
	d.do(t, http.MethodPost, path+"/turns", `{"text":"hello"}`)
	awaitEnd(t, m, s.ID)
	if err := os.Remove(recordPath(t, m, s.ID)); err != nil {
		t.Fatal(err)
	}
	wantError(t, d.do(t, http.MethodGet, path+"/events", ""), 410, protocol.CodeEventsExpired, "not kept any more")
	if got := ids(d.stream(t, path+"/events?from=4", "turn.completed")); got != "4" {
		t.Errorf("what is left: got %s", got)
	}
}

// A session whose record is gone takes no turn: what could not be recorded is not shown, so it must not happen.
func TestASessionWhoseRecordIsGoneTakesNoTurn(t *testing.T) {
	m := manage(t, stall)
	d := start(t, control.Config{Manager: m})
	s := d.create(t, t.TempDir())
	path := "/v1/sessions/" + s.ID
	if err := os.Remove(recordPath(t, m, s.ID)); err != nil {
		t.Fatal(err)
	}
	got := d.do(t, http.MethodPost, path+"/turns", `{"text":"hello"}`)
	if body := wantError(t, got, 500, protocol.CodeInternal, "no such file"); body.Hint == "" {
		t.Error("no hint")
	}
	if info := decodeAs[protocol.Session](t, d.do(t, http.MethodGet, path, ""), 200); info.State != protocol.SessionIdle || info.LastSeq != 1 {
		t.Errorf("got %+v, want the session as it was", info)
	}
}

// sessionBubble runs test with a server in its own time. dial connects to it.
func sessionBubble(t *testing.T, answer model, test func(t *testing.T, s *session.Session, dial func() net.Conn)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		m, err := session.Open(session.Config{Dir: dir, Model: answer})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended, served := make(chan error, 1), make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		ln := newPipes()
		server := control.New(control.Config{SocketPath: "pipes", Status: watch.New(protocol.Status{}), Manager: m})
		server.UseListener(ln)
		go func() { served <- server.Serve(ctx) }()
		s, err := m.Create(protocol.CreateSessionRequest{Workspace: dir})
		if err != nil {
			t.Fatal(err)
		}
		test(t, s, func() net.Conn {
			conn, err := ln.dial(ctx, "", "")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, "GET /v1/sessions/"+s.ID()+"/events HTTP/1.1\r\nHost: d\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			return conn
		})
		cancel()
		if err := errors.Join(<-served, <-ended); err != nil {
			t.Error(err)
		}
	})
}

func TestAQuietSessionSaysNothingButPings(t *testing.T) {
	sessionBubble(t, echo, func(t *testing.T, _ *session.Session, dial func() net.Conn) {
		conn := dial()
		got := make(chan string)
		go func() {
			data, _ := io.ReadAll(conn)
			got <- string(data)
		}()
		timetest.Pass(61 * time.Second)
		_ = conn.SetReadDeadline(time.Now())
		text := <-got
		_ = conn.Close()
		if pings, frames := strings.Count(text, ": ping"), strings.Count(text, "id: "); pings != 4 || frames != 1 {
			t.Errorf("in a quiet minute: got %d pings and %d frames, want 4 and the first event", pings, frames)
		}
	})
}

// Invariant 3: each write has a deadline of 10 s; a follower that cannot take it is cut, delays no turn, and can come
// back.
func TestAFollowerThatDoesNotReadIsCutAndDelaysNobody(t *testing.T) {
	sessionBubble(t, echo, func(t *testing.T, s *session.Session, dial func() net.Conn) {
		conn := dial() // nothing is ever read from it; a pipe holds nothing back
		synctest.Wait()
		begun := time.Now()
		for i := range 10_000 {
			if err := s.Rename(fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("10,000 events waited %s for it", took)
		}
		timetest.Pass(9 * time.Second)
		one := make([]byte, 1)
		if _, err := conn.Read(one); err != nil {
			t.Errorf("after 9 s: got %v, want the connection still there", err)
		}
		timetest.Pass(12 * time.Second)
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Errorf("after 21 s: got %v, want it cut", err)
		}
		_ = conn.Close()
		again := dial()
		lines := bufio.NewScanner(again)
		for lines.Scan() && lines.Text() != "id: 10001" {
		}
		if lines.Text() != "id: 10001" {
			t.Errorf("who comes back: got %q, %v", lines.Text(), lines.Err())
		}
		_ = again.Close()
	})
}

func TestStreamsOfSessionsEndWithTheDaemonAndAreNotCalledClosed(t *testing.T) {
	m := manage(t, echo)
	d := start(t, control.Config{Manager: m, Grace: time.Minute})
	s := d.create(t, t.TempDir())
	resp, err := d.http.Get("http://daemon/v1/sessions/" + s.ID + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	d.stop()
	data, err := io.ReadAll(resp.Body)
	if err != nil || strings.Contains(string(data), "event: closed") {
		t.Errorf("got %q, %v, want a clean end that is not the session's", data, err)
	}
	d.wantEnd(t, soon)
}
