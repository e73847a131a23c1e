package proxy

import (
	"net/http"
	"net/http/httputil"
	"strings"

	"chatwright.dev/tray/server/internal/coding"
)

// rewrite makes the request that goes up. ReverseProxy has taken away the hop-by-hop headers and those that Connection
// names, before.
func (c *call) rewrite(r *httputil.ProxyRequest) {
	out, in := r.Out, r.In
	out.URL = c.target.URL(c.path)
	out.URL.RawQuery = in.URL.RawQuery // as it came: ReverseProxy drops what it cannot parse
	out.Host = ""                      // the upstream's own
	h := out.Header
	for name := range h {
		if stays(name) {
			delete(h, name)
		}
	}
	if c.target.APIKey != "" && h.Get("Authorization") == "" {
		h.Set("Authorization", "Bearer "+c.target.APIKey)
		h.Set("Accept-Encoding", coding.None) // in a compressed answer maskKey would see nothing
		c.keyed = true
	}
	if c.request == nil {
		// A HEAD is asked as a GET: not every server knows HEAD here, and net/http leaves the body out.
		out.Method, out.Body, out.ContentLength = http.MethodGet, nil, 0
		return
	}
	if _, ok := h["Content-Type"]; !ok {
		h.Set("Content-Type", "application/json")
	}
	if out.Body == nil || c.body.whole {
		out.ContentLength = int64(len(c.body.head))
		out.TransferEncoding, out.Trailer = nil, nil
	}
	if out.ContentLength == 0 {
		out.Body = nil
	} else {
		out.Body = c.body.reader(out.Body)
	}
}

// TokenHeader is a header for the token of this server, for callers whose Authorization is meant for the upstream.
const TokenHeader = "X-Chatwright-Token"

// stays says whether a request header stays here: those that tell of the browser and of the page that called, of the
// way to us (also where this server wants no token: the caller may know one of another), or of a switch of protocols
// that no route has. Names are in canonical form.
func stays(name string) bool {
	switch name {
	case "Origin", "Referer", "Cookie", "Proxy-Authorization", TokenHeader,
		"Te", "Upgrade", "Connection", // ReverseProxy puts them back for protocol switches and trailers
		"Expect": // we answer it ourselves by reading the body
		return true
	}
	return strings.HasPrefix(name, "Sec-") || strings.HasPrefix(name, "X-Forwarded-") ||
		strings.HasPrefix(name, "Access-Control-Request-")
}

// cleanAnswer takes away from the header of an answer what would speak for us to a browser: cookies for our origin, leave
// for other pages to read it, and what says how pages and workers of our origin are kept apart, or that all that they
// stored shall go. Where we have set a header already, ours holds.
func (c *call) cleanAnswer(h http.Header) {
	dropUpstreamOnly(h)
	for _, own := range c.own {
		if own.name != "Vary" { // all that an answer varies by counts
			delete(h, own.name)
		}
	}
}

// dropUpstreamOnly takes it away from a header of any kind: that of an answer, of what comes before one, or a trailer.
func dropUpstreamOnly(h http.Header) {
	for name := range h {
		if upstreamOnly(name) {
			delete(h, name)
		}
	}
}

func upstreamOnly(name string) bool {
	switch name {
	case "Set-Cookie", "Set-Cookie2", "Service-Worker-Allowed", "Clear-Site-Data", "Origin-Agent-Cluster":
		return true
	}
	return strings.HasPrefix(name, "Access-Control-") || strings.HasPrefix(name, "Cross-Origin-")
}
