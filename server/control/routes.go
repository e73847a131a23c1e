package control

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/internal/httpx"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/session"
)

// A handler returns an error before it has written anything, or none.
type handler func(w http.ResponseWriter, r *http.Request) error

// A route is what one path does, by method. HEAD comes with GET, but for streams: they never end by themselves.
type route struct {
	do     map[string]handler
	stream bool
}

func get(h handler) route  { return route{do: map[string]handler{http.MethodGet: h}} }
func post(h handler) route { return route{do: map[string]handler{http.MethodPost: h}} }

// table is every path there is, but for those below /v1/sessions/ and /v1/upstreams/.
func (s *Server) table() map[string]route {
	return map[string]route{
		"/health":            get(s.health),
		"/version":           get(s.version),
		"/v1/status":         get(s.status),
		"/v1/status/events":  {do: map[string]handler{http.MethodGet: s.statusEvents}, stream: true},
		"/v1/calls":          get(s.calls),
		"/v1/history":        get(s.history),
		"/v1/launch":         get(s.launch),
		"/v1/shutdown":       post(s.shutdown),
		"/v1/open":           post(s.open),
		"/v1/server/start":   post(s.serverAction(protocol.ServerStart)),
		"/v1/server/stop":    post(s.serverAction(protocol.ServerStop)),
		"/v1/server/restart": post(s.serverAction(protocol.ServerRestart)),
		"/v1/sessions":       {do: map[string]handler{http.MethodGet: s.listSessions, http.MethodPost: s.createSession}},
		"/v1/specs":          get(s.specs),

		"/v1/studio":          get(s.withStudio(s.studio)),
		"/v1/studio/update":   post(s.withStudio(s.studioUpdate)),
		"/v1/studio/rollback": post(s.withStudio(s.studioRollback)),
		"/v1/studio/prune":    post(s.withStudio(s.studioPrune)),
		"/v1/studio/cancel":   post(s.withStudio(s.studioCancel)),
		"/v1/upstreams":       get(s.listUpstreams),
	}
}

// sessionRoute is what a path below /v1/sessions/ does, rest being what follows the id.
func (s *Server) sessionRoute(id, rest string) (route, bool) {
	of := func(h func(http.ResponseWriter, *http.Request, string) error) handler {
		return func(w http.ResponseWriter, r *http.Request) error { return h(w, r, id) }
	}
	if approval, ok := strings.CutPrefix(rest, "/approvals/"); ok && approval != "" && !strings.Contains(approval, "/") {
		return post(of(s.approve)), true
	}
	switch rest {
	case "":
		return route{do: map[string]handler{http.MethodGet: of(s.showSession), http.MethodDelete: of(s.deleteSession)}}, true
	case "/name":
		return post(of(s.renameSession)), true
	case "/events":
		return route{do: map[string]handler{http.MethodGet: of(s.sessionEvents)}, stream: true}, true
	case "/turns":
		return post(of(s.startTurn)), true
	case "/interrupt":
		return post(of(s.interrupt)), true
	case "/steer":
		return post(of(s.steer)), true
	case "/undo":
		return post(of(s.undo)), true
	}
	return route{}, false
}

func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.dispatch(w, r); err != nil {
		s.answerError(w, r, err)
	}
}

func (s *Server) dispatch(w http.ResponseWriter, r *http.Request) error {
	if name := browserHeader(r.Header); name != "" {
		return refusal{code: protocol.CodeForbidden, message: "requests of a browser (" + name + ") are refused here"}
	}
	route, err := s.route(r)
	if err != nil {
		return err
	}
	if handle, ok := route.do[r.Method]; ok {
		return handle(w, r)
	}
	if handle, ok := route.do[http.MethodGet]; ok && r.Method == http.MethodHead && !route.stream {
		return handle(w, r)
	}
	w.Header().Set("Allow", strings.Join(slices.Sorted(maps.Keys(route.do)), ", "))
	return refusal{code: protocol.CodeMethod, message: "method not allowed"}
}

// route finds what a request asks for. Below /v1/sessions/ the path is taken as it was sent: an id has no character that
// is ever escaped, and one that is might reach the file system as something else.
func (s *Server) route(r *http.Request) (route, error) {
	noSuch := refusal{code: protocol.CodeNotFound, message: "no such route"}
	path, isSession := strings.CutPrefix(r.URL.EscapedPath(), "/v1/sessions/")
	if !isSession {
		if route, ok := s.routes[r.URL.Path]; ok {
			return route, nil
		}
		if name, ok := strings.CutPrefix(r.URL.EscapedPath(), "/v1/upstreams/"); ok {
			if route, ok := s.upstreamRoute(name); ok {
				return route, nil
			}
		}
		return route{}, noSuch
	}
	end := strings.IndexByte(path+"/", '/')
	if s.cfg.Manager == nil || !session.ValidID(path[:end]) {
		return route{}, refusal{protocol.CodeSessionNotFound, "there is no such session"}
	}
	if route, ok := s.sessionRoute(path[:end], path[end:]); ok {
		return route, nil
	}
	return route{}, noSuch
}

// browserHeader returns a header that only a browser sends, or "". No page can open a Unix socket; a program that
// relays for one would carry these.
func browserHeader(h http.Header) string {
	for name := range h {
		if name == "Origin" || name == "Referer" || strings.HasPrefix(name, "Sec-Fetch-") {
			return name
		}
	}
	return ""
}

// refusal is an error that is the caller's to mend.
type refusal struct {
	code    protocol.ErrorCode
	message string
}

func (r refusal) Error() string { return r.message }

// ErrorCode makes a refusal one of the errors that name their own answer.
func (r refusal) ErrorCode() protocol.ErrorCode { return r.code }

// Refuse returns an error for the funcs of Config and for Upstreams that is answered with code, and the status that belongs to
// it, instead of 500. A hint.With around it reaches the caller too.
func Refuse(code protocol.ErrorCode, message string) error { return refusal{code, message} }

// statusOf is the HTTP status that each code comes with.
func statusOf(code protocol.ErrorCode) int {
	switch code {
	case protocol.CodeInvalidInput, protocol.CodeWorkspace:
		return http.StatusBadRequest
	case protocol.CodeForbidden:
		return http.StatusForbidden
	case protocol.CodeNotFound, protocol.CodeSessionNotFound:
		return http.StatusNotFound
	case protocol.CodeMethod:
		return http.StatusMethodNotAllowed
	case protocol.CodeWrongInstance, protocol.CodeConflict, protocol.CodeCancelled, protocol.CodeTurnActive, protocol.CodeNoActiveTurn, protocol.CodeApprovalResolved:
		return http.StatusConflict
	case protocol.CodeApprovalExpired, protocol.CodeEventsExpired:
		return http.StatusGone
	case protocol.CodeUpdateFailed:
		return http.StatusBadGateway
	case protocol.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case protocol.CodeMaxSessions:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// answerError is the one place where errors are answered, and where those that are ours to mend are logged. The
// caller owns the daemon, so even then it hears the cause.
func (s *Server) answerError(w http.ResponseWriter, r *http.Request, err error) {
	code := protocol.CodeInternal
	if coded, ok := errors.AsType[interface {
		error
		ErrorCode() protocol.ErrorCode
	}](err); ok {
		code = coded.ErrorCode()
	} else if _, over := errors.AsType[*httpx.TooLargeError](err); over {
		code = protocol.CodeTooLarge
	} else {
		s.cfg.Log(r.Method + " " + r.URL.Path + ": " + err.Error())
	}
	httpx.WriteJSON(w, statusOf(code), protocol.Error{Code: code, Message: err.Error(), Hint: hint.Of(err)})
}
