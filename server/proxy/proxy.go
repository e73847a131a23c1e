// Package proxy passes calls on to a model server and measures them as they pass. The body goes up verbatim and the
// answer comes back as it is, status, headers and bytes; what is read from them is read on the side.
package proxy

import (
	"log/slog"
	"net/http"
	"net/http/httputil"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

// Config is what a Proxy needs. Only Target is required.
type Config struct {
	Target  func() *upstream.Target // where a call goes that starts now
	Begin   func(model string)      // a chat call starts; nil: nobody counts
	End     func(protocol.Call)     // the same call ended; called once for each Begin; nil: nobody records
	MaxBody int64                   // cap of a request body in bytes; 0: 64 MiB
	Timeout time.Duration           // bounds calls that are not streamed; 0: nothing does
	Log     *slog.Logger            // nil: silent
}

// Proxy passes calls on. Make one with New.
type Proxy struct {
	cfg     Config
	reverse *httputil.ReverseProxy
}

// New returns a Proxy.
func New(cfg Config) *Proxy {
	p := &Proxy{cfg: cfg}
	p.reverse = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(cfg.Target().BaseURL) }}
	return p
}

// ChatCompletions answers POST /v1/chat/completions.
func (p *Proxy) ChatCompletions() http.Handler { return p.reverse }

// Models answers GET /v1/models.
func (p *Proxy) Models() http.Handler { return p.reverse }
