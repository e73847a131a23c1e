package server

import (
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"chatwright.dev/tray/server/proxy"
)

// guard decides who may talk to the companion at all, before anything is routed and before a body is read. Each link
// of its chain keeps another stranger out:
//
//   - Host: a page on another site whose name was made to resolve to loopback (DNS rebinding) is "same-origin" to the
//     browser; only the name that it asks for gives it away.
//   - Origin: a page may send simple POSTs anywhere without asking; CORS only keeps the answer from it.
//   - Sec-Fetch-*: images, scripts and forms of another site come without an Origin.
//   - Service-Worker: a worker of Studio's would stand between the browser and every page here, the console too
//     (pagetoken.go), and outlive the copy that it came with. No page of ours has one.
//   - token: outside loopback there are other machines, which can say what they like in the headers above.
//
// Programs send none of these headers but Host, and pass.
type guard struct {
	hosts   map[string]bool // configured: "name" or "name:port", lower case
	origins map[string]bool // exact
	token   []byte          // nil: loopback only
	isPage  func(path string) bool
	next    http.HandlerFunc
}

func newGuard(cfg Config, isPage func(string) bool, next http.HandlerFunc) (*guard, error) {
	g := &guard{
		hosts:   map[string]bool{},
		origins: map[string]bool{"https://chatwright.dev": true, "http://chatwright.localhost": true},
		token:   cfg.RemoteToken,
		isPage:  isPage,
		next:    next,
	}
	if err := checkRemoteToken(cfg.RemoteToken); err != nil {
		return nil, err
	}
	for _, host := range cfg.AllowedHosts {
		if err := CheckHost(host); err != nil {
			return nil, fmt.Errorf("reading the allowed hosts: %w", err)
		}
		g.hosts[strings.ToLower(strings.TrimSuffix(host, "."))] = true
	}
	for _, origin := range cfg.AllowedOrigins {
		if err := CheckOrigin(origin); err != nil {
			return nil, fmt.Errorf("reading the allowed origins: %w", err)
		}
		g.origins[origin] = true
	}
	return g, nil
}

// Header values that are the same for every answer are shared, since this is the hot path. Each has no spare capacity,
// so that whoever adds to one gets a copy.
var (
	varyOrigin     = []string{"Origin"}
	corsTrue       = []string{"true"}
	corsMethods    = []string{"GET, POST, OPTIONS"}
	corsHeaders    = []string{"Content-Type, Authorization"}
	hostNotAllowed = "this Host is not served here: use localhost, chatwright.localhost, 127.0.0.1 or [::1] with the port of this server, or allow the name in the configuration"
)

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.admits(w, r) {
		g.next(w, r) // with little on the stack: it may be a stream that is open for hours
	}
}

// admits reports whether the request may go on. If not, it has been answered.
func (g *guard) admits(w http.ResponseWriter, r *http.Request) bool {
	h := w.Header()
	h["Vary"] = varyOrigin
	origins := r.Header["Origin"]
	ours := g.ourHost(r)
	allowed := len(origins) == 1 && g.allowedOrigin(origins[0], r.Host, ours)
	if allowed {
		h["Access-Control-Allow-Origin"] = origins
		h["Access-Control-Allow-Private-Network"] = corsTrue
		h["Access-Control-Allow-Methods"] = corsMethods
		h["Access-Control-Allow-Headers"] = corsHeaders
		if asked := r.Header["Access-Control-Request-Headers"]; len(asked) > 0 {
			h["Access-Control-Allow-Headers"] = asked
		}
	}
	switch {
	case !ours:
		refuse(w, r, http.StatusForbidden, "host_not_allowed", hostNotAllowed)
	case r.Method == http.MethodOptions:
		// Without the headers above a browser takes this as a no, and the request never comes.
		w.WriteHeader(http.StatusNoContent)
	case len(origins) > 0 && !allowed:
		refuse(w, r, http.StatusForbidden, "origin_not_allowed", "this origin is not allowed here: allow it with --allow-origin")
	case len(origins) == 0 && !g.fetchedByUs(r):
		refuse(w, r, http.StatusForbidden, "cross_site", "requests from pages of other sites are not allowed here")
	case forServiceWorker(r):
		refuse(w, r, http.StatusForbidden, "service_worker", "no service worker is allowed here: it would stand between the browser and the console")
	case g.token != nil && r.URL.Path != "/health" && !g.authorized(r):
		h.Set("WWW-Authenticate", `Basic realm="chatwright", charset="UTF-8"`)
		refuse(w, r, http.StatusUnauthorized, "token_required", "a token is required: send it as Authorization: Bearer …, or as X-Chatwright-Token")
	default:
		return true
	}
	return false
}

// refuse answers without having read the body, and ends the connection: what else is on it is not to be trusted.
func refuse(w http.ResponseWriter, r *http.Request, status int, code, message string) {
	w.Header().Set("Connection", "close")
	writeError(w, r.URL.Path, status, code, message)
}

// ourHost reports whether the request names a host that is this machine, and the port that it came in on.
func (g *guard) ourHost(r *http.Request) bool {
	name, port, ok := splitHost(r.Host)
	if !ok {
		return false
	}
	if len(g.hosts) > 0 {
		bare := strings.ToLower(strings.TrimSuffix(name, "."))
		if g.hosts[bare] || g.hosts[bare+strings.ToLower(r.Host[len(name):])] {
			return true
		}
	}
	if port == 0 {
		port = 80
		if r.TLS != nil {
			port = 443
		}
	}
	// Without a TCP connection (a handler called in process) there is no port to compare with.
	local, onTCP := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if onTCP && port != local.Port {
		return false
	}
	return isOwnName(name) || g.token != nil && onTCP && isAddress(name, local)
}

// isAddress reports whether name spells the address that the connection came in on: whoever may listen there may be
// called by it.
func isAddress(name string, local *net.TCPAddr) bool {
	addr, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil && addr == local.AddrPort().Addr().Unmap().WithZone("")
}

// allowedOrigin reports whether a page of this origin may call. A page that was served here under a name of ours may
// call under the same name.
func (g *guard) allowedOrigin(origin, host string, hostIsOurs bool) bool {
	if g.origins[origin] {
		return true
	}
	scheme, name, _, ok := splitOrigin(origin)
	if !ok {
		return false
	}
	return isLocalName(name) || hostIsOurs && origin[len(scheme)+len("://"):] == host
}

// fetchedByUs reports whether a request without an Origin comes from a program, from a page of our own origin, from
// the address bar, or by a link to one of our pages.
func (g *guard) fetchedByUs(r *http.Request) bool {
	site := r.Header["Sec-Fetch-Site"]
	if len(site) == 0 {
		return true
	}
	if len(site) == 1 && (site[0] == "same-origin" || site[0] == "none") {
		return true
	}
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && g.isPage(r.URL.Path)
}

// forServiceWorker reports whether a browser fetches the code of a service worker. It has said so by the first header for
// as long as there have been any.
func forServiceWorker(r *http.Request) bool {
	return len(r.Header["Service-Worker"]) > 0 || r.Header.Get("Sec-Fetch-Dest") == "serviceworker"
}

// authorized looks for the token where programs (Bearer, or a header of its own when Authorization is meant for the
// upstream) and browsers (the password of Basic) put it, and takes it out of every place that holds it: it is not for
// the upstream to see.
func (g *guard) authorized(r *http.Request) bool {
	scheme, sent, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		_, sent, _ = r.BasicAuth()
	}
	inAuthorization := g.isToken(sent)
	if inAuthorization {
		r.Header.Del("Authorization")
	}
	if own := r.Header.Get(proxy.TokenHeader); own != "" {
		return g.isToken(own)
	}
	return inAuthorization
}

func (g *guard) isToken(sent string) bool {
	return subtle.ConstantTimeCompare([]byte(sent), g.token) == 1
}
