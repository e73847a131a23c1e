package server

import (
	"net/http"
	"strings"

	"chatwright.dev/tray/server/internal/httpx"
	"chatwright.dev/tray/server/protocol"
)

// Capabilities is what /health lists, for pages to decide what to offer. It is fixed: adding one changes the contract
// with Studio. It must not be written to.
var Capabilities = []string{"ai-proxy", "datastate"}

// A route is one path of the API with the one method it has; GET takes in HEAD.
type route struct {
	method  string
	handler http.Handler
}

// table is every route of the API. Paths match exactly.
func (s *Server) table() map[string]route {
	table := map[string]route{
		"/health":              {http.MethodGet, http.HandlerFunc(s.serveHealth)},
		"/metrics":             {http.MethodGet, http.HandlerFunc(s.serveMetrics)},
		"/v1/chat/completions": {http.MethodPost, s.proxy.ChatCompletions()},
		"/v1/models":           {http.MethodGet, s.proxy.Models()},
		"/datastate/query":     {http.MethodPost, http.HandlerFunc(s.serveQuery)},
		"/datastate/holders":   {http.MethodGet, http.HandlerFunc(s.serveHolders)},
		"/console/events":      {http.MethodGet, http.HandlerFunc(s.serveEvents)},
		"/studio/version":      {http.MethodGet, http.HandlerFunc(s.serveStudioVersion)},
		"/studio/status":       {http.MethodGet, http.HandlerFunc(s.serveStudioStatus)},
	}
	s.sessionRoutes(table)
	s.consoleRoutes(table)
	return table
}

// route is what the guard lets through: the API first, so that no file of a UI can stand in its way, then the pages.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "" { // http://host without a slash, as a client sends it that takes us for a proxy
		r.URL.Path = "/"
	}
	path := r.URL.Path
	if isAPI(path) && becomesDocument(r) {
		// What an upstream says may be markup. It is shown, but not as ours: it runs nothing, and reads no page of ours.
		w.Header().Set("Content-Security-Policy", "sandbox")
	}
	if route, ok := s.routes[path]; ok {
		if r.Method != route.method && (r.Method != http.MethodHead || route.method != http.MethodGet) {
			methodNotAllowed(w, path, route.method)
			return
		}
		route.handler.ServeHTTP(w, r)
		return
	}
	switch {
	case isAPI(path):
		notFound(w, path)
	case path == "/console":
		s.redirectToConsole(w, r)
	case strings.HasPrefix(path, capturePrefix) && s.page.Capture != nil:
		s.ownPage(s.serveCaptured).ServeHTTP(w, r)
	case strings.HasPrefix(path, "/console/"):
		s.serveConsole(w, r, strings.TrimPrefix(path, "/console/"))
	default:
		s.serveUI(w, r)
	}
}

// isAPI reports whether path belongs to the API even if no route is there. A program that misspells one must not get
// a page with status 200.
func isAPI(path string) bool {
	return strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/datastate/")
}

// becomesDocument reports whether a browser shows the answer as a page, in a tab or a frame.
func becomesDocument(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Dest") {
	case "document", "iframe", "frame", "embed", "object", "fencedframe":
		return true
	}
	return false
}

// isPage reports whether path is a page that a person may come to by a link on another site.
func (s *Server) isPage(path string) bool {
	if _, ok := s.routes[path]; ok || isAPI(path) {
		return false
	}
	return !hasExtension(path) || strings.HasSuffix(path, ".html")
}

// writeError answers with an error in the shape of its surface: under /v1/ the OpenAI object, which every client
// library reads, elsewhere the companion's own.
func writeError(w http.ResponseWriter, path string, status int, code, message string) {
	if strings.HasPrefix(path, "/v1/") {
		httpx.WriteOpenAIError(w, status, message, httpx.TypeInvalidRequest, code)
		return
	}
	httpx.WriteJSON(w, status, ownError{message})
}

type ownError struct {
	Error string `json:"error"`
}

func notFound(w http.ResponseWriter, path string) {
	message := "not found"
	if strings.HasPrefix(path, "/v1/") {
		message = "not found: only /v1/models and /v1/chat/completions are passed on"
	}
	writeError(w, path, http.StatusNotFound, "not_found", message)
}

func methodNotAllowed(w http.ResponseWriter, path, allow string) {
	w.Header().Set("Allow", allow)
	writeError(w, path, http.StatusMethodNotAllowed, "method_not_allowed", "method not allowed")
}

func (s *Server) serveHealth(w http.ResponseWriter, _ *http.Request) {
	httpx.WriteEncoded(w, http.StatusOK, s.health)
}

func healthAnswer(version string) []byte {
	body, err := httpx.EncodeJSON(struct {
		Name         string   `json:"name"`
		Version      string   `json:"version"`
		Capabilities []string `json:"capabilities"`
	}{protocol.ServerName, version, Capabilities})
	if err != nil {
		panic(err) // strings always encode
	}
	return body
}
