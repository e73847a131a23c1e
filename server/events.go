package server

import (
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"chatwright.dev/tray/server/internal/httpx"
	"chatwright.dev/tray/server/protocol"
)

const (
	eventSpacing  = 100 * time.Millisecond // at most 10 events a second
	eventPing     = 15 * time.Second
	eventRetry    = time.Second
	eventDeadline = 5 * time.Second // for a page that stopped reading
	eventCalls    = 200             // that a page begins with
)

// serveEvents shows a page what happens: "status" whenever it changes, "calls" with those that ended since the last
// event, whose id is the cursor. A page that comes back with Last-Event-ID misses no call that is still kept.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	stream, err := httpx.StartEvents(w, eventRetry, eventDeadline)
	if err != nil || r.Method == http.MethodHead {
		return // nobody listens
	}
	defer stream.Close()
	e := eventSource{s: s, r: r, stream: stream}
	// A cursor that is none reads from the start, like none at all.
	e.cursor, _ = strconv.ParseUint(r.Header.Get("Last-Event-ID"), 10, 64)
	e.run()
}

// eventSource is the state of one page's stream.
type eventSource struct {
	s      *Server
	r      *http.Request
	stream *httpx.EventStream
	cursor uint64
	begun  bool
	status <-chan struct{} // closed when the status that was sent is no longer the newest
}

// run sends what changed until the page leaves or Serve ends. Each event pays for the pause after it, so that a burst
// of calls costs the page, and us, no more than a trickle.
func (e *eventSource) run() {
	ping := time.NewTicker(eventPing)
	defer ping.Stop()
	stop := stopping(e.r)
	for {
		calls := e.s.metrics.Changed() // taken before looking, so that no change falls between
		sent, err := e.sendChanges()
		if err != nil {
			return
		}
		if sent > 0 {
			select {
			case <-time.After(time.Duration(sent) * eventSpacing):
			case <-stop:
				return
			case <-e.r.Context().Done():
				return
			}
		}
		select {
		case <-e.status:
		case <-calls:
		case <-ping.C:
			if e.stream.Ping() != nil {
				return
			}
		case <-stop:
			return
		case <-e.r.Context().Done():
			return
		}
	}
}

// sendChanges sends the status if there is a newer one, and the calls if there are any; at first it sends both.
func (e *eventSource) sendChanges() (sent int, err error) {
	if !e.begun || closed(e.status) {
		var status protocol.Status
		status, e.status = e.s.watchStatus(e.r)
		if e.s.sessions == nil {
			status.Sessions = nil // not even how many: the user did not ask for them to be shown
		}
		if err := e.stream.Send("", "status", status); err != nil {
			return sent, err
		}
		sent++
	}
	page := e.s.metrics.After(e.cursor, 0)
	if over := len(page.Calls) - eventCalls; over > 0 && e.cursor == 0 {
		page.Calls = page.Calls[over:] // a page that begins wants the last ones; all are at /metrics
	}
	if !e.begun || page.Next != e.cursor {
		if err := e.stream.Send(strconv.FormatUint(page.Next, 10), "calls", page); err != nil {
			return sent, err
		}
		sent++
	}
	e.cursor, e.begun = page.Next, true
	return sent, nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// watchStatus returns the status with a channel that is closed when there is a newer one.
func (s *Server) watchStatus(r *http.Request) (protocol.Status, <-chan struct{}) {
	if s.status != nil {
		return s.status.Watch()
	}
	changed := s.metrics.Changed()
	return s.ownStatus(r), changed
}

// ownStatus is what a server knows that nobody tells its status: it runs, or it could not be asked.
func (s *Server) ownStatus(r *http.Request) protocol.Status {
	status := protocol.Status{
		Version:   s.version,
		PID:       os.Getpid(),
		StartedAt: s.started,
		Phase:     protocol.PhaseRunning,
		Upstream:  protocol.Upstream{Reach: protocol.ReachUnknown},
		UI:        s.ui.Info(),
		Metrics:   s.metrics.Snapshot(),
	}
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		status.Addr = addr.String()
	}
	if target := s.upstream.Load(); target != nil {
		status.Upstream.Name, status.Upstream.BaseURL, status.Upstream.Demo = target.Name, target.String(), target.Demo
	}
	return status
}
