package upstream

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
)

const (
	// idleConns is how many connections to the upstream wait for the next call. The default of net/http, 2, makes
	// every third concurrent call dial anew.
	idleConns = 64
	// dialTimeout bounds connecting, never waiting for an answer: a model may think for minutes.
	dialTimeout = 10 * time.Second
	// writeBuffer takes a header with a short body; longer bodies pass it by. A connection holds it for as long as its
	// stream is open.
	writeBuffer = 2 << 10
	// maxAnswerHeader bounds the header of an answer.
	maxAnswerHeader = 1 << 20
)

// newTransport returns the transport for an upstream at host. It has no ResponseHeaderTimeout: a silent prefill of ten
// minutes is no fault. It follows no redirects, as no RoundTripper does.
func newTransport(host string) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout}
	t := &http.Transport{
		DialContext:            dialer.DialContext,
		MaxIdleConns:           idleConns,
		MaxIdleConnsPerHost:    idleConns,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: maxAnswerHeader,
		WriteBufferSize:        writeBuffer,
		ForceAttemptHTTP2:      true, // a DialContext of one's own would switch it off
		// A dead HTTP/2 connection shows by its pings; TCP keep-alive does the same for HTTP/1.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		// What the caller did not ask for must not be compressed, and what is compressed goes down as it is.
		DisableCompression: true,
	}
	if isLocalhost(host) {
		t.DialContext = dialBoth(dialer)
	}
	if !isLocal(host) {
		// Read here and not cached for the process, so that a new Target sees the environment as it is.
		proxy := httpproxy.FromEnvironment().ProxyFunc()
		t.Proxy = func(r *http.Request) (*url.URL, error) { return proxy(r.URL) }
	}
	return t
}

// Proxy is the web proxy that the environment has for calls to t; nil when they go straight there, as those to this
// machine always do.
func (t *Target) Proxy() (*url.URL, error) {
	if t.Inside() || isLocal(t.BaseURL.Hostname()) {
		return nil, nil
	}
	return httpproxy.FromEnvironment().ProxyFunc()(t.BaseURL)
}

// dialBoth connects to a name that means this machine by both families, whatever the resolver says: model servers
// listen on 127.0.0.1 or on ::1, and /etc/hosts often knows only one of them. Loopback refuses at once, so one after
// the other costs nothing; IPv4 is where most of them are.
func dialBoth(d *net.Dialer) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		conn, err4 := d.DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
		if err4 == nil {
			return conn, nil
		}
		conn, err6 := d.DialContext(ctx, network, net.JoinHostPort("::1", port))
		if err6 == nil {
			return conn, nil
		}
		return nil, errors.Join(err4, err6)
	}
}

// isLocalhost says whether host is "localhost" or below it, names that RFC 6761 gives to this machine.
func isLocalhost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// isLocal says whether host is this machine or the one that runs our container or virtual machine: a web proxy cannot
// reach either. Besides loopback these are host.docker.internal and its kin.
func isLocal(host string) bool {
	if isLocalhost(host) {
		return true
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, suffix := range []string{".docker.internal", ".containers.internal"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	// host.lima.internal, host.orb.internal, host.minikube.internal …
	return strings.HasPrefix(host, "host.") && strings.HasSuffix(host, ".internal")
}
