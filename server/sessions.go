package server

import (
	"net/http"
	"net/url"
	"strconv"

	"chatwright.dev/tray/server/internal/httpx"
	"chatwright.dev/tray/server/protocol"
)

// Sessions lets the console show the live conversations with models, to its own page alone. It reads; on this listener
// nothing of them can be changed.
type Sessions struct {
	// List returns the live ones, newest first.
	List func() []protocol.Session
	// Events returns a page of the events of one, from that number on; false when there is no such session.
	Events func(id string, from uint64) (protocol.EventsPage, bool)
}

// sessionRoutes adds the routes that the page asks, where the user wants sessions shown.
func (s *Server) sessionRoutes(table map[string]route) {
	if s.sessions == nil {
		return
	}
	table["/console/api/sessions"] = route{http.MethodGet, s.ownPage(s.serveSessions)}
	table["/console/api/sessions/events"] = route{http.MethodGet, s.ownPage(s.serveSessionEvents)}
}

func (s *Server) serveSessions(w http.ResponseWriter, _ *http.Request) {
	list := s.sessions.List()
	if list == nil {
		list = []protocol.Session{} // [] and not null
	}
	httpx.WriteJSON(w, http.StatusOK, protocol.SessionList{Sessions: list})
}

func (s *Server) serveSessionEvents(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	from := uint64(1)
	if text := query.Get("from"); err == nil && text != "" {
		from, err = strconv.ParseUint(text, 10, 64)
	}
	if err != nil {
		writeError(w, r.URL.Path, http.StatusBadRequest, "invalid_input", "from: not a number of 0 or more")
		return
	}
	page, ok := s.sessions.Events(query.Get("id"), from)
	if !ok {
		writeError(w, r.URL.Path, http.StatusNotFound, "session_not_found", "there is no such session")
		return
	}
	httpx.WriteJSON(w, http.StatusOK, page)
}
