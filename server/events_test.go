package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/metrics"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/watch"
)

// event is one server-sent event; a comment has only Comment.
type event struct {
	ID, Name, Data, Comment string
	at                      time.Time
}

// events opens the console's stream; the channel is closed when the stream ends.
func events(t *testing.T, r *servertest.Running, headers ...string) (<-chan event, context.CancelFunc) {
	t.Helper()
	ctx, leave := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "GET", r.URL+"/console/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := r.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("got %d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	c, done := make(chan event), make(chan struct{})
	go func() {
		defer close(done)
		defer close(c)
		defer resp.Body.Close()
		var e event
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				e.ID = value
			case "event":
				e.Name = value
			case "data":
				e.Data = value
			case "":
				if value == "" && e == (event{}) {
					continue
				}
				e.Comment, e.at = value, time.Now()
				select {
				case c <- e:
				case <-ctx.Done():
					return
				}
				e = event{}
			}
		}
	}()
	t.Cleanup(func() { leave(); <-done })
	return c, leave
}

// next returns the next event of that name, which must be the next of all.
func next[T any](t *testing.T, c <-chan event, name string) (T, event) {
	t.Helper()
	var value T
	select {
	case e, ok := <-c:
		if !ok || e.Name != name {
			t.Fatalf("got %+v, open %v, want a %s event", e, ok, name)
		}
		if err := json.Unmarshal([]byte(e.Data), &value); err != nil {
			t.Fatalf("%s: %v", e.Data, err)
		}
		return value, e
	case <-time.After(10 * time.Second):
		t.Fatalf("no %s event came", name)
		return value, event{}
	}
}

func end(store *metrics.Store, id string) {
	store.Begin("m1")
	store.End(protocol.Call{ID: id, Model: "m1", Status: 200, Verdict: protocol.VerdictComplete})
}

func ids(page protocol.CallsPage) string {
	var all []string
	for _, call := range page.Calls {
		all = append(all, call.ID)
	}
	return strings.Join(all, " ")
}

// A server that nobody tells its status shows what it knows itself.
func TestEventsOwnStatus(t *testing.T) {
	store := metrics.New(0)
	end(store, "a")
	end(store, "b")
	r, _ := withUpstream(t, "chat", server.Config{Metrics: store, Version: "1.2"})
	c, _ := events(t, r)

	status, e := next[protocol.Status](t, c, "status")
	if status.Phase != protocol.PhaseRunning || status.Version != "1.2" || status.Addr != r.Addr || status.PID == 0 || status.StartedAt.IsZero() ||
		status.Metrics.Calls != 2 || status.UI.Source != protocol.UIConsole || !strings.HasSuffix(status.Upstream.BaseURL, "/chat/v1") || e.ID != "" {
		t.Errorf("got %+v, id %q", status, e.ID)
	}
	page, e := next[protocol.CallsPage](t, c, "calls")
	if ids(page) != "a b" || page.Next != 2 || e.ID != "2" {
		t.Errorf("got %q, next %d, id %q, want a b, 2", ids(page), page.Next, e.ID)
	}

	end(store, "c")
	if status, _ := next[protocol.Status](t, c, "status"); status.Metrics.Calls == 0 {
		t.Errorf("got %+v", status.Metrics)
	}
	if page, e := next[protocol.CallsPage](t, c, "calls"); ids(page) != "c" || e.ID != "3" {
		t.Errorf("got %q, id %q, want c, 3", ids(page), e.ID)
	}
}

// A status that is given is shown as it is, whenever it changes, and calls only when some ended.
func TestEventsGivenStatus(t *testing.T) {
	store, status := metrics.New(0), watch.New(protocol.Status{Phase: protocol.PhaseStarting})
	r := servertest.Start(t, server.Config{Metrics: store, Status: status})
	c, _ := events(t, r)
	if got, _ := next[protocol.Status](t, c, "status"); got.Phase != protocol.PhaseStarting {
		t.Errorf("got %q", got.Phase)
	}
	if page, e := next[protocol.CallsPage](t, c, "calls"); len(page.Calls) != 0 || page.Calls == nil || e.ID != "0" {
		t.Errorf("got %+v, id %q, want no calls", page, e.ID)
	}
	status.Set(protocol.Status{Phase: protocol.PhaseDegraded, Notices: []protocol.Notice{{Cause: "upstream", Text: "<down>"}}})
	got, e := next[protocol.Status](t, c, "status")
	if got.Phase != protocol.PhaseDegraded || !strings.Contains(e.Data, "<down>") {
		t.Errorf("got %s", e.Data)
	}
	end(store, "a")
	if page, _ := next[protocol.CallsPage](t, c, "calls"); ids(page) != "a" {
		t.Errorf("got %q", ids(page))
	}
}

// A page that comes back misses no call that is kept; one that knew an earlier process starts over.
func TestEventsResume(t *testing.T) {
	store := metrics.New(3)
	for _, id := range strings.Split("a b c d", " ") {
		end(store, id)
	}
	r := servertest.Start(t, server.Config{Metrics: store})
	for last, want := range map[string]string{"": "b c d", "3": "d", "4": "", "1": "b c d", "99": "b c d", "-1": "b c d", "x": "b c d"} {
		c, leave := events(t, r, "Last-Event-ID", last)
		next[protocol.Status](t, c, "status")
		if page, e := next[protocol.CallsPage](t, c, "calls"); ids(page) != want || e.ID != "4" {
			t.Errorf("Last-Event-ID %q: got %q, id %q, want %q, 4", last, ids(page), e.ID, want)
		}
		leave()
	}
}

// At most 10 events a second, and the last state is not lost.
func TestEventsAreFew(t *testing.T) {
	store := metrics.New(100_000)
	end(store, "first") // or a burst would fall under the bound of the first event
	r := servertest.Start(t, server.Config{Metrics: store})
	c, _ := events(t, r)
	stop := make(chan struct{})
	written := make(chan int)
	go func() {
		n := 0
		for tick := time.NewTicker(time.Millisecond); ; n++ {
			select {
			case <-tick.C:
				end(store, "x")
			case <-stop:
				tick.Stop()
				written <- n
				return
			}
		}
	}()
	seen, calls := 0, 0
	began := time.Now()
	for time.Since(began) < 1500*time.Millisecond {
		e := <-c
		seen++
		calls += countCalls(t, e)
	}
	close(stop)
	n := <-written + 1
	if want := 2 + int(time.Since(began)/(100*time.Millisecond)) + 1; seen > want {
		t.Errorf("got %d events in %s, want at most %d", seen, time.Since(began), want)
	}
	for calls < n {
		e, open := <-c
		if !open {
			t.Fatalf("the stream ended after %d of %d calls", calls, n)
		}
		calls += countCalls(t, e)
	}
	if calls != n {
		t.Errorf("got %d calls, want %d", calls, n)
	}
}

func countCalls(t *testing.T, e event) int {
	t.Helper()
	if e.Name != "calls" {
		return 0
	}
	var page protocol.CallsPage
	if err := json.Unmarshal([]byte(e.Data), &page); err != nil {
		t.Fatal(err)
	}
	return len(page.Calls)
}

// The console's stream is behind the same guard.
func TestEventsAreGuarded(t *testing.T) {
	r := servertest.Start(t, server.Config{})
	for _, headers := range [][]string{
		{"Origin", "http://evil.test"}, {"Host", "evil.test"}, {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"},
	} {
		if got := ask(t, r, "GET", "/console/events", "", headers...); got.Status != 403 {
			t.Errorf("%q: got %d, want 403", headers, got.Status)
		}
	}
}
