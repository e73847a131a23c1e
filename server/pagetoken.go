package server

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"net/http"

	"chatwright.dev/tray/server/internal/httpx"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/proxy"
)

// The page of the console gets a token in its HTML and sends it with every action. A page of another origin may be
// allowed to call models here, and could forge any request; but it cannot read that HTML, or gets it without the token.

// tokenPlace is where the token stands in the page.
const tokenPlace = `<meta name="chatwright-token" content="`

// preparePage takes over what the console shows, and makes the page that carries the token.
func (s *Server) preparePage(cfg Config) error {
	if cfg.Console == nil || s.remote {
		s.page = &Console{}
		if cfg.Console != nil {
			s.page.Calls = cfg.Console.Calls
		}
		return nil
	}
	page := *cfg.Console
	if page.Token == "" {
		page.Token = rand.Text()
	}
	s.page = &page
	return nil
}

// withToken returns the page with the token in it.
func withToken(file consoleFile, token string) consoleFile {
	body := bytes.Replace(file.body, []byte(tokenPlace), []byte(tokenPlace+token), 1)
	return consoleFile{body, contentETag(body), file.contentType}
}

// mayHoldToken reports whether the answer goes to nobody but a page of this very origin, the address bar, or a program
// of this machine: whoever fetches it from elsewhere could read it, if the guard allows that origin.
func mayHoldToken(r *http.Request) bool {
	if len(r.Header["Origin"]) > 0 {
		return false
	}
	site := r.Header["Sec-Fetch-Site"]
	switch {
	case len(site) == 0:
		return true
	case len(site) > 1:
		return false
	case site[0] == "same-origin" || site[0] == "none":
		return true
	}
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" // a link to us, which nobody else reads
}

// ownPage lets only the console through: by its token, and by its origin where the caller names one.
func (s *Server) ownPage(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if !fromOwnOrigin(r) || !s.isPageToken(r.Header[proxy.TokenHeader]) {
			w.Header().Set("Connection", "close")
			httpx.WriteJSON(w, http.StatusForbidden, protocol.Refusal{
				Error: "only the console does this: the token of its page is missing, or is that of an earlier start",
				Hint:  "load the page again",
			})
			return
		}
		next(w, r)
	})
}

func (s *Server) isPageToken(sent []string) bool {
	return len(sent) == 1 && subtle.ConstantTimeCompare([]byte(sent[0]), []byte(s.page.Token)) == 1
}

// fromOwnOrigin reports whether the caller is a page of the origin that it calls, or no page. The guard has seen to it
// that the host is ours.
func fromOwnOrigin(r *http.Request) bool {
	if site := r.Header["Sec-Fetch-Site"]; len(site) > 1 || len(site) == 1 && site[0] != "same-origin" && site[0] != "none" {
		return false
	}
	origin := r.Header["Origin"]
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return len(origin) == 0 || len(origin) == 1 && origin[0] == scheme+r.Host
}
