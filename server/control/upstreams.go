package control

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"chatwright.dev/tray/server/internal/httpx"
	"chatwright.dev/tray/server/protocol"
)

// Upstreams are the model servers that calls can go to. Its errors may be made with Refuse.
type Upstreams interface {
	// List returns all of them. With ask, each is asked whether it answers; else the list says what is known.
	List(ctx context.Context, ask bool) protocol.UpstreamList
	// Get returns one.
	Get(name string) (protocol.UpstreamEntry, error)
	// Put adds a named one or replaces it, and says which it was.
	Put(name string, req protocol.PutUpstreamRequest) (entry protocol.UpstreamEntry, added bool, err error)
	// Delete forgets a named one.
	Delete(name string) error
	// Use sends Studio's calls to one from now on. Those in flight end where they began.
	Use(name string) error
}

// upstreamRoute is what a path below /v1/upstreams/ does. The name is taken as it was sent: those that there are have no
// character that is ever escaped.
func (s *Server) upstreamRoute(path string) (route, bool) {
	name, rest, _ := strings.Cut(path, "/")
	of := func(h func(http.ResponseWriter, *http.Request, string) error) handler {
		return func(w http.ResponseWriter, r *http.Request) error {
			if s.cfg.Upstreams == nil {
				return errNoUpstreams
			}
			return h(w, r, name)
		}
	}
	switch {
	case name == "":
	case path == name:
		return route{do: map[string]handler{
			http.MethodGet: of(s.showUpstream), http.MethodPut: of(s.putUpstream), http.MethodDelete: of(s.deleteUpstream),
		}}, true
	case rest == "use":
		return post(of(s.useUpstream)), true
	}
	return route{}, false
}

var errNoUpstreams = refusal{protocol.CodeNotFound, "this daemon knows of no upstreams"}

func (s *Server) listUpstreams(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Upstreams == nil {
		return errNoUpstreams
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalid("reading the query: %v", err)
	}
	ask := query.Get("ask")
	if ask != "" && ask != "0" && ask != "1" {
		return invalid("ask: %q is neither 0 nor 1", ask)
	}
	list := s.cfg.Upstreams.List(r.Context(), ask == "1")
	if list.Upstreams == nil {
		list.Upstreams = []protocol.UpstreamEntry{} // [] and not null
	}
	httpx.WriteJSON(w, http.StatusOK, list)
	return nil
}

func (s *Server) showUpstream(w http.ResponseWriter, _ *http.Request, name string) error {
	entry, err := s.cfg.Upstreams.Get(name)
	if err != nil {
		return err
	}
	httpx.WriteJSON(w, http.StatusOK, entry)
	return nil
}

func (s *Server) putUpstream(w http.ResponseWriter, r *http.Request, name string) error {
	var req protocol.PutUpstreamRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	if req.Name != "" && req.Name != name {
		return invalid("name: %q is not that of the path", req.Name)
	}
	entry, added, err := s.cfg.Upstreams.Put(name, req)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if added {
		status = http.StatusCreated
	}
	httpx.WriteJSON(w, status, entry)
	return nil
}

func (s *Server) deleteUpstream(w http.ResponseWriter, r *http.Request, name string) error {
	if err := decode(w, r, &struct{}{}); err != nil {
		return err
	}
	if err := s.cfg.Upstreams.Delete(name); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) useUpstream(w http.ResponseWriter, r *http.Request, name string) error {
	if err := decode(w, r, &struct{}{}); err != nil {
		return err
	}
	if err := s.cfg.Upstreams.Use(name); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
