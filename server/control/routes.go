package control

import (
	"errors"
	"net/http"
	"strings"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/internal/httpx"
	"chatwright.dev/tray/server/protocol"
)

// route is what one path does. A handler returns an error before it has written anything, or none.
type route struct {
	method string
	stream bool // never ends by itself, so HEAD makes no sense
	handle func(w http.ResponseWriter, r *http.Request) error
}

// table is every path there is.
func (s *Server) table() map[string]route {
	return map[string]route{
		"/health":            {method: http.MethodGet, handle: s.health},
		"/version":           {method: http.MethodGet, handle: s.version},
		"/v1/status":         {method: http.MethodGet, handle: s.status},
		"/v1/status/events":  {method: http.MethodGet, handle: s.statusEvents, stream: true},
		"/v1/calls":          {method: http.MethodGet, handle: s.calls},
		"/v1/history":        {method: http.MethodGet, handle: s.history},
		"/v1/shutdown":       {method: http.MethodPost, handle: s.shutdown},
		"/v1/open":           {method: http.MethodPost, handle: s.open},
		"/v1/server/start":   {method: http.MethodPost, handle: s.serverAction(protocol.ServerStart)},
		"/v1/server/stop":    {method: http.MethodPost, handle: s.serverAction(protocol.ServerStop)},
		"/v1/server/restart": {method: http.MethodPost, handle: s.serverAction(protocol.ServerRestart)},

		"/v1/studio":          {method: http.MethodGet, handle: s.withStudio(s.studio)},
		"/v1/studio/update":   {method: http.MethodPost, handle: s.withStudio(s.studioUpdate)},
		"/v1/studio/rollback": {method: http.MethodPost, handle: s.withStudio(s.studioRollback)},
		"/v1/studio/prune":    {method: http.MethodPost, handle: s.withStudio(s.studioPrune)},
		"/v1/studio/cancel":   {method: http.MethodPost, handle: s.withStudio(s.studioCancel)},
	}
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
	route, ok := s.routes[r.URL.Path]
	if !ok {
		return refusal{code: protocol.CodeNotFound, message: "no such route"}
	}
	if r.Method == route.method || r.Method == http.MethodHead && route.method == http.MethodGet && !route.stream {
		return route.handle(w, r)
	}
	w.Header().Set("Allow", route.method)
	return refusal{code: protocol.CodeMethod, message: "method not allowed"}
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

// Refuse returns an error for Config.Open and Config.Server that is answered with code, and the status that belongs to
// it, instead of 500. A hint.With around it reaches the caller too.
func Refuse(code protocol.ErrorCode, message string) error { return refusal{code, message} }

// statusOf is the HTTP status that each code comes with.
func statusOf(code protocol.ErrorCode) int {
	switch code {
	case protocol.CodeInvalidInput:
		return http.StatusBadRequest
	case protocol.CodeForbidden:
		return http.StatusForbidden
	case protocol.CodeNotFound:
		return http.StatusNotFound
	case protocol.CodeMethod:
		return http.StatusMethodNotAllowed
	case protocol.CodeWrongInstance, protocol.CodeConflict, protocol.CodeCancelled:
		return http.StatusConflict
	case protocol.CodeUpdateFailed:
		return http.StatusBadGateway
	case protocol.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
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
