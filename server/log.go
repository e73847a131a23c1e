package server

import (
	"log"
	"log/slog"
	"net/http"
	"time"
)

// plainHandler writes records as lines of the standard library's logger, which puts the time in front itself. It leaves
// out debug: who set Logger wants to know what happens, not each request.
func plainHandler(logger *log.Logger) slog.Handler {
	return slog.NewTextHandler(lineWriter{logger}, &slog.HandlerOptions{
		Level: slog.LevelInfo,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})
}

type lineWriter struct{ logger *log.Logger }

func (l lineWriter) Write(line []byte) (int, error) {
	l.logger.Print(string(line)) // Print ends a line only where there is no newline
	return len(line), nil
}

// logged writes one line for each request, at debug. It names the surface and never the path or the query string, in
// which callers put what they like, keys as well.
func (s *Server) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.log.Enabled(r.Context(), slog.LevelDebug) {
			s.serveLogged(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) serveLogged(w http.ResponseWriter, r *http.Request, next http.Handler) {
	began, seen := time.Now(), &statusWriter{ResponseWriter: w}
	defer func() {
		s.log.Debug("request", "method", knownMethod(r.Method), "surface", s.surface(r.URL.Path), "status", seen.status,
			"ms", time.Since(began).Milliseconds())
	}()
	next.ServeHTTP(seen, r)
}

// statusWriter remembers the first final status.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// Unwrap gives http.ResponseController the writer with deadlines, flushing and full duplex.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(data []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(data)
}

func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

func (s *Server) surface(path string) string {
	if _, ok := s.routes[path]; ok {
		return path
	}
	if isAPI(path) {
		return "api"
	}
	return "page"
}
