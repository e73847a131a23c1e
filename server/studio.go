package server

import (
	"bytes"
	"net/http"
	"time"

	"chatwright.dev/tray/server/internal/httpx"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/studio"
)

// Version says which copy of Studio is served; ok is false for the console, and for a folder of the user's own, which
// has no version.
func (u *UISource) Version() (v protocol.StudioVersion, ok bool) {
	folder := u.current.Load()
	if folder == nil || folder.copied == nil {
		return v, false
	}
	return versionOf(*folder.copied), true
}

func versionOf(c studio.Copy) protocol.StudioVersion {
	source := protocol.StudioRelease
	if c.Legacy {
		source = protocol.StudioCompanion
	}
	return protocol.StudioVersion{
		Version: c.Version, SHA256: c.SHA256, UIContract: c.UIContract, InstalledAt: c.InstalledAt.UTC(), Source: source,
	}
}

// serveStudioVersion is what an open page asks now and then, to learn that it is out of date.
func (s *Server) serveStudioVersion(w http.ResponseWriter, r *http.Request) {
	v, ok := s.ui.Version()
	if !ok {
		writeError(w, r.URL.Path, http.StatusNotFound, "not_found", "no offline copy of Studio is served")
		return
	}
	s.serveTagged(w, r, v)
}

// serveStudioStatus shows how far an update is.
func (s *Server) serveStudioStatus(w http.ResponseWriter, r *http.Request) {
	if s.studio == nil {
		writeError(w, r.URL.Path, http.StatusNotFound, "not_found", "no offline copy of Studio is kept")
		return
	}
	s.serveTagged(w, r, s.studio.Get())
}

// serveTagged answers with JSON that is asked for again and again and seldom changes.
func (s *Server) serveTagged(w http.ResponseWriter, r *http.Request, v any) {
	body, err := httpx.EncodeJSON(v)
	if err != nil {
		panic(err) // the types of package protocol always encode
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("Etag", contentETag(body))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}
