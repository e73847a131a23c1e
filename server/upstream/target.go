// Package upstream holds what a model server is to the proxy: an address with its own transport, the one that is
// chosen now, how to ask whether it answers, and the demo model that is built in.
package upstream

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/internal/httpx"
)

// DemoName is the word that names the built-in demo model where a base URL is expected.
const DemoName = "demo"

// Target is one upstream. It is not changed after it is made, so that calls in flight keep what they started with.
type Target struct {
	Name      string            // as a person reads it: "localhost:11434", "Demo model"
	BaseURL   *url.URL          // routes such as /models are appended to its path
	Demo      bool              // the built-in model: BaseURL is a name only
	Transport http.RoundTripper // its own, so that pools of idle connections are not shared
	APIKey    string            // sent as a bearer token when the caller sent no Authorization; "" for none
	Verbatim  bool              // it knows calls by their bytes: nothing of ours is added to them

	inside string // of one that is no server: what it is where a base URL is shown; "" for a server
}

// Parse makes the Target of a base URL such as "http://localhost:11434/v1", or of the word "demo". The errors name
// what is wrong without repeating what may hold a secret, and carry a hint.
func Parse(baseURL string) (*Target, error) {
	baseURL = strings.TrimSpace(baseURL)
	if baseURL == DemoName {
		return NewDemo(DemoConfig{}), nil
	}
	u, err := parseBase(baseURL)
	if err != nil {
		return nil, fmt.Errorf("parsing upstream URL: %w", err)
	}
	return &Target{Name: u.Host, BaseURL: u, Transport: newTransport(u.Hostname())}, nil
}

const hintExample = `write it like http://localhost:11434/v1, or "demo" for the built-in demo model`

func parseBase(baseURL string) (*url.URL, error) {
	if baseURL == "" {
		return nil, hint.With(errors.New("it is empty"), hintExample)
	}
	u, err := url.Parse(baseURL)
	if err != nil {
		if _, ok := hasScheme(baseURL); !ok {
			return nil, noScheme(baseURL)
		}
		// The parser's own text repeats the input, password included.
		return nil, hint.With(errors.New("it is not a URL"), hintExample)
	}
	switch {
	case u.User != nil:
		return nil, hint.With(errors.New("it holds a user name or password"),
			"leave out what stands before the @; keys are sent in the Authorization header")
	case u.RawQuery != "" || u.ForceQuery:
		return nil, hint.With(errors.New("it holds a query"), "leave out the ? and what follows it")
	case u.Fragment != "" || strings.Contains(baseURL, "#"):
		return nil, hint.With(errors.New("it holds a fragment"), "leave out the # and what follows it")
	}
	if scheme, ok := hasScheme(baseURL); !ok {
		return nil, noScheme(baseURL)
	} else if scheme != "http" && scheme != "https" {
		return nil, hint.With(fmt.Errorf("scheme %q is neither http nor https", scheme), hintExample)
	}
	if u.Hostname() == "" {
		return nil, hint.With(errors.New("it names no host"), hintExample)
	}
	return u, normalise(u)
}

// hasScheme looks for "scheme://": without the slashes "localhost:11434" would read as a scheme.
func hasScheme(baseURL string) (string, bool) {
	scheme, _, ok := strings.Cut(baseURL, "://")
	return strings.ToLower(scheme), ok && !strings.ContainsAny(scheme, "/?#@")
}

func noScheme(baseURL string) error {
	way := hintExample
	if !strings.ContainsAny(baseURL, "@?# ") { // nothing secret can be in it: repeat it as it should be
		way = "write http://" + strings.TrimLeft(baseURL, "/")
		if !strings.Contains(strings.TrimLeft(baseURL, "/"), "/") {
			way += "/v1" // where most model servers have their API
		}
	}
	return hint.With(errors.New("it has no scheme"), way)
}

// normalise checks the port, drops trailing slashes and turns an address to listen on into one to connect to.
func normalise(u *url.URL) error {
	host, port := u.Hostname(), u.Port()
	if port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return hint.With(fmt.Errorf("port %q is not between 1 and 65535", port), hintExample)
		}
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.Unmap().IsUnspecified() {
		host = "127.0.0.1"
		if addr.Is6() && !addr.Is4In6() {
			host = "::1"
		}
	}
	switch {
	case port != "":
		u.Host = net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		u.Host = "[" + host + "]"
	default:
		u.Host = host
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	return nil
}

// URL returns the address of a route below the base URL; path starts with a slash.
func (t *Target) URL(path string) *url.URL {
	u := *t.BaseURL
	u.Path += path
	if u.RawPath != "" {
		u.RawPath += path
	}
	return &u
}

// LeadsTo reports whether calls to t would come in at local, an address that this process listens on.
func (t *Target) LeadsTo(local net.Addr) bool {
	tcp, ok := local.(*net.TCPAddr)
	if !ok || t.Inside() || t.port() != strconv.Itoa(tcp.Port) {
		return false
	}
	host := t.BaseURL.Hostname()
	if isLocalhost(host) {
		return tcp.IP.IsLoopback()
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap() == tcp.AddrPort().Addr().Unmap()
}

// NewHandler returns a Target whose calls handler answers, in this process and with no network. The paths that it sees
// are those below a base URL, such as "/models". word stands where a base URL is shown.
func NewHandler(name, word string, handler http.Handler) *Target {
	return &Target{
		Name: name, BaseURL: &url.URL{Scheme: "http", Host: "inside.invalid"}, inside: word,
		Transport: httpx.InProcess(handler),
	}
}

// Inside says whether t is answered by this process, as the demo model is. Its BaseURL leads nowhere then.
func (t *Target) Inside() bool { return t.Demo || t.inside != "" }

// String is the base URL as a person writes it: "demo" for the built-in model. It holds no secret.
func (t *Target) String() string {
	switch {
	case t.Demo:
		return DemoName
	case t.inside != "":
		return t.inside
	}
	return t.BaseURL.String()
}

// Selector holds the Target that new calls go to. It is safe for concurrent use.
type Selector struct{ current atomic.Pointer[Target] }

// NewSelector returns a Selector that holds t.
func NewSelector(t *Target) *Selector {
	s := new(Selector)
	s.current.Store(t)
	return s
}

// Load returns the present Target.
func (s *Selector) Load() *Target { return s.current.Load() }

// Store makes t the present Target. Calls in flight end where they began.
func (s *Selector) Store(t *Target) { s.current.Store(t) }
