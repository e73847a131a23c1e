package server

import (
	"net/http"

	"chatwright.dev/tray/server/internal/httpx"
)

// serveMetrics lists the calls that are kept, oldest first.
func (s *Server) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	httpx.WriteJSON(w, http.StatusOK, s.metrics.Calls())
}
