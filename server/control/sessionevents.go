package control

import (
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/internal/httpx"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/session"
)

// sessionEvents sends the events of a session from a cursor on, and those to come. A client that does not read holds up
// nobody: it is cut when a write is not taken in time, and reads on from where it was when it comes back.
func (s *Server) sessionEvents(w http.ResponseWriter, r *http.Request, id string) error {
	from, err := cursorOf(r)
	if err != nil {
		return err
	}
	if wantsJSON(r.Header) {
		return s.eventsPage(w, id, from)
	}
	after := func(c session.Cursor, limit int) (session.Page, error) { return s.cfg.Manager.After(id, c, limit) }
	if live := s.cfg.Manager.Get(id); live != nil {
		after = live.After // which tells of its end even when it has been purged by then
	}
	// What cannot be answered at all gets its error before the stream begins.
	page, err := after(session.Cursor{Seq: from - 1}, 0)
	if err != nil {
		return err
	}
	stream, err := httpx.StartEvents(w, eventRetry, writeDeadline)
	if err != nil {
		return nil // the client left
	}
	defer stream.Close()
	if err := s.sendSession(r, stream, page, after); err != nil {
		// Its record is gone, or cannot be read. The client that comes back is told so in an answer.
		s.cfg.Log("session " + id + ": following it: " + err.Error())
	}
	return nil
}

// sendSession sends page and what follows it, until the session or the daemon ends or the client leaves.
func (s *Server) sendSession(r *http.Request, stream *httpx.EventStream, page session.Page, after func(session.Cursor, int) (session.Page, error)) (err error) {
	ping := time.NewTimer(s.cfg.PingEvery)
	defer ping.Stop()
	var trouble string
	for {
		for _, entry := range page.Entries {
			stream.Add(entry.Seq, entry.JSON)
		}
		if len(page.Entries) > 0 && stream.Flush() != nil {
			return nil
		}
		if page.Ended {
			_ = stream.Send("", protocol.FrameClosed, struct{}{})
			return nil
		}
		if page.Changed == nil { // there is more at once
			if s.leaving(r) {
				return nil
			}
		} else {
			if text := troubleOf(page); text != trouble {
				if trouble = text; text != "" && stream.Send("", protocol.FrameTrouble, protocol.Error{
					Code: protocol.CodeInternal, Message: text, Hint: hint.Of(page.Trouble),
				}) != nil {
					return nil
				}
			}
			ping.Reset(s.cfg.PingEvery)
			if !s.await(r, page.Changed, ping, stream) {
				return nil
			}
		}
		if page, err = after(page.Next, 0); err != nil {
			return err
		}
	}
}

func troubleOf(page session.Page) string {
	if page.Trouble == nil {
		return ""
	}
	return page.Trouble.Error()
}

// leaving reports whether the stream has to end, for those who have more to send.
func (s *Server) leaving(r *http.Request) bool {
	select {
	case <-r.Context().Done():
	case <-s.stopping:
	case <-s.cfg.StreamsEnd:
	default:
		return false
	}
	return true
}

// cursorOf reads which event is wanted first: from wins over Last-Event-ID, which names the last that was seen.
func cursorOf(r *http.Request) (from uint64, err error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return 0, invalid("reading the query: %v", err)
	}
	if text := query.Get("from"); text != "" {
		from, err := strconv.ParseUint(text, 10, 63)
		if err != nil || from == 0 {
			return 0, invalid("from: %q is not a number of 1 or more", text)
		}
		return from, nil
	}
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		return 1, nil
	}
	seen, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, invalid("Last-Event-ID: %q is not a number of 0 or more", text)
	}
	return seen + 1, nil
}

// wantsJSON reports whether the client accepts JSON and no stream.
func wantsJSON(h http.Header) bool {
	accepts := false
	for _, value := range strings.Split(strings.Join(h.Values("Accept"), ","), ",") {
		switch kind, _, _ := mime.ParseMediaType(value); kind {
		case "text/event-stream":
			return false
		case "application/json":
			accepts = true
		}
	}
	return accepts
}
