package server

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"chatwright.dev/tray/assets"
)

// consoleFile is a file of the embedded page, ready to be served.
type consoleFile struct {
	body        []byte
	etag        string
	contentType string
}

// loadConsole reads all of the embedded page: it is small and never changes.
func loadConsole(files fs.FS) (map[string]consoleFile, error) {
	loaded := map[string]consoleFile{}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := fs.ReadFile(files, name)
		loaded[name] = consoleFile{body, contentETag(body), contentType(name)}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the embedded console: %w", err)
	}
	return loaded, nil
}

// contentETag is a strong ETag that is the same exactly for the same bytes.
func contentETag(body []byte) string {
	sum := sha256.Sum256(body)
	return sumETag(sum[:])
}

func (s *Server) redirectToConsole(w http.ResponseWriter, r *http.Request) {
	if !readOnly(w, r) {
		return
	}
	// A constant, so that nothing of the request can lead elsewhere; temporary, so that no browser keeps it.
	w.Header().Set("Location", "/console/")
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusFound)
}

// serveConsole answers with one file of the console; the empty name is its page.
func (s *Server) serveConsole(w http.ResponseWriter, r *http.Request, name string) {
	if name == "" {
		name = indexPage
	}
	file, ok := s.console[name]
	if !ok {
		notFound(w, r.URL.Path)
		return
	}
	if !readOnly(w, r) {
		return
	}
	h := w.Header()
	h.Set("Content-Type", file.contentType)
	h.Set("Cache-Control", "no-cache") // the next version of the program has the same names
	if name == indexPage {
		// With the token and without it, the page has one address: no cache shall hand out one for the other.
		h.Set("Cache-Control", "no-store")
		if mayHoldToken(r) {
			file = s.tokenPage
		}
	}
	h.Set("Etag", file.etag)
	h.Set("Content-Security-Policy", assets.ConsolePolicy)
	h.Set("X-Frame-Options", "DENY") // as that policy says, for browsers that go by this
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	setPageHeaders(h)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(file.body))
}

// readOnly answers a request that is not a GET or HEAD, and reports whether it is one.
func readOnly(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	methodNotAllowed(w, r.URL.Path, "GET, HEAD")
	return false
}

// setPageHeaders sets what every file of a page carries.
func setPageHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
}
