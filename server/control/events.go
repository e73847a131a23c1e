package control

import (
	"net/http"
	"time"

	"chatwright.dev/tray/server/internal/httpx"
)

const (
	// eventGap is the least time between two states on one stream: ten a second are more than a person sees.
	eventGap = 100 * time.Millisecond
	// eventRetry is what a client is told to wait before it connects again.
	eventRetry = time.Second
	// writeDeadline is how long a client may take to accept one event before it is cut.
	writeDeadline = 10 * time.Second
)

// statusEvents sends the state now and each newer one, at most one in eventGap; states in between are left out, the
// newest never is. It ends when the client leaves or the daemon stops.
func (s *Server) statusEvents(w http.ResponseWriter, r *http.Request) error {
	stream, err := httpx.StartEvents(w, eventRetry, writeDeadline)
	if err != nil {
		return nil // the client left
	}
	defer stream.Close()

	ping := time.NewTimer(s.cfg.PingEvery)
	defer ping.Stop()
	for {
		state, changed := s.cfg.Status.Watch()
		if err := stream.Send("", "", state); err != nil {
			return nil
		}
		ping.Reset(s.cfg.PingEvery)
		if !s.pause(r, eventGap) || !s.await(r, changed, ping, stream) {
			return nil
		}
	}
}

// await returns true at the next change and false at the end of the stream; meanwhile it pings.
func (s *Server) await(r *http.Request, changed <-chan struct{}, ping *time.Timer, stream *httpx.EventStream) bool {
	for {
		select {
		case <-changed:
			return true
		case <-ping.C:
			if stream.Ping() != nil {
				return false
			}
			ping.Reset(s.cfg.PingEvery)
		case <-r.Context().Done():
			return false
		case <-s.stopping:
			return false
		case <-s.cfg.StreamsEnd:
			return false
		}
	}
}

// pause waits for d, or returns false at the end of the stream.
func (s *Server) pause(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	case <-s.stopping:
		return false
	case <-s.cfg.StreamsEnd:
		return false
	}
}
