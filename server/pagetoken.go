package server

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"

	"chatwright.dev/tray/server/internal/httpx"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/proxy"
)

// The page of the console gets a token in its HTML, and sends it with every action and where it reads what was said to
// models. A page of another origin may be allowed to call models here, and could forge any request; but it cannot read
// that HTML. Studio could: it is served from this very origin, and its code is fetched from elsewhere. So the token is in
// no answer but that to a tab that opens the console (mayHoldToken), and no script reads such a tab:
//
//   - Whatever script fetches or frames says so in Sec-Fetch-Dest, which it cannot set; a service worker that relays a
//     navigation says "empty".
//   - A window that opened the console, or was opened by what the tab showed before, is cut off from it by
//     Cross-Origin-Opener-Policy, whose pages share nothing with one that lacks it, be it of the same origin.
//   - A service worker could make pages that have that policy, and share a window with the console. The guard lets none
//     be registered, nor do the headers of an upstream reach a page (proxy) or its markup this origin (route).
//
// What remains: a worker that a program before us had registered at this address, and programs of this machine, which can
// say what they like.

// tokenPlace is where the token stands in the page.
const tokenPlace = `<meta name="chatwright-token" content="`

// preparePage takes over what the console shows, and makes the page that carries the token.
func (s *Server) preparePage(cfg Config) error {
	var page Console
	if cfg.Console != nil {
		page = *cfg.Console
	}
	switch {
	case s.remote:
		page = Console{Calls: page.Calls}
	case page.Token == "" && (cfg.Console != nil || s.sessions != nil):
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

// mayHoldToken reports whether the answer becomes a document of its own, in a tab, which no script but its own reads.
// Browsers that do not say so, and plain names over HTTP, about which browsers say nothing, get the page without.
func mayHoldToken(r *http.Request) bool {
	return r.Method == http.MethodGet && only(r.Header["Sec-Fetch-Mode"], "navigate") && only(r.Header["Sec-Fetch-Dest"], "document")
}

// only reports whether a header was sent once, with this value.
func only(values []string, want string) bool { return len(values) == 1 && values[0] == want }

// ownPage lets only the console through: by its token, and by its origin where the caller names one.
func (s *Server) ownPage(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		sent := r.Header[proxy.TokenHeader]
		if fromOwnOrigin(r) && s.isPageToken(sent) {
			next(w, r)
			return
		}
		refusal := protocol.Refusal{
			Error: "only the console does this, and the token of this page is that of an earlier start",
			Hint:  "load the page again",
		}
		if len(sent) == 0 || sent[0] == "" {
			refusal = protocol.Refusal{
				Error: "only the console does this, and this page came without its token",
				Hint:  "open http://" + ownAddr(r) + "/console/ in a tab of a current browser",
			}
		}
		w.Header().Set("Connection", "close")
		httpx.WriteJSON(w, http.StatusForbidden, refusal)
	})
}

// ownAddr is an address at which browsers trust us as they trust a page over HTTPS: that of the connection, on loopback.
func ownAddr(r *http.Request) string {
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return addr.String()
	}
	return r.Host
}

func (s *Server) isPageToken(sent []string) bool {
	return len(sent) == 1 && s.page.Token != "" && subtle.ConstantTimeCompare([]byte(sent[0]), []byte(s.page.Token)) == 1
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
