// Package proxy passes calls on to a model server and measures them as they pass. The body goes up verbatim and the
// answer comes back as it is: status, headers and bytes. What is read from them is read on the side, in memory that does
// not grow with what passes. Only Config.MeterUsage changes anything, for what it says.
package proxy

import (
	"io"
	"log"
	"log/slog"
	"net/http"
	"time"

	"chatwright.dev/tray/server/internal/httpx"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/proxy/internal/meter"
	"chatwright.dev/tray/server/upstream"
)

// defaultMaxBody caps a request body when Config.MaxBody is 0.
const defaultMaxBody = 64 << 20

// Config is what a Proxy needs. Only Target is required, and that for the handlers alone.
type Config struct {
	Target  func() *upstream.Target // where a call goes that starts now; Direct does not ask
	Begin   func(model string)      // a chat call starts; nil: nobody counts
	End     func(protocol.Call)     // it ended, once for each Begin; nil: nobody records
	MaxBody int64                   // cap of a request body in bytes; 0: 64 MiB
	Timeout time.Duration           // bounds calls that are not streamed; 0: nothing does
	Log     *slog.Logger            // nil: silent

	// Through returns what every call goes through before next, which sends it up, such as what records it. It sees the
	// call as the caller made it, and the answer as the caller gets it. Nil: nothing stands between.
	Through func(target *upstream.Target, next http.RoundTripper) http.RoundTripper
	// Tap returns the same for a chat call, before Through, or that very next. It is asked once for each call, by its id.
	// Nil: nothing stands between.
	Tap func(id string, target *upstream.Target, next http.RoundTripper) http.RoundTripper

	// MeterUsage asks for the usage of streams whose callers did not, and keeps the answer to that from them: see
	// askForUsage. False: no body is touched.
	MeterUsage bool
	// KeepUsage leaves what MeterUsage asked for in the answer, for callers who want to know it themselves.
	KeepUsage bool
}

// Proxy passes calls on. Make one with New; it is safe for concurrent use.
type Proxy struct {
	cfg     Config
	reader  *meter.Reader
	buffers *buffers
	silent  *log.Logger // for ReverseProxy, whose every word is in the record already
	ids     ids
	refusal refusals
}

// New returns a Proxy.
func New(cfg Config) *Proxy {
	if cfg.Begin == nil {
		cfg.Begin = func(string) {}
	}
	if cfg.End == nil {
		cfg.End = func(protocol.Call) {}
	}
	if cfg.MaxBody <= 0 {
		cfg.MaxBody = defaultMaxBody
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Proxy{cfg: cfg, reader: meter.NewReader(), buffers: newBuffers(), silent: log.New(io.Discard, "", 0)}
}

// ChatCompletions answers POST /v1/chat/completions with what the upstream answers to it, and records the call.
func (p *Proxy) ChatCompletions() http.Handler {
	return httpx.Lingering(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.chat(w, r, p.cfg.Target()) }))
}

// Models answers GET /v1/models with what the upstream answers to it.
func (p *Proxy) Models() http.Handler {
	return httpx.Lingering(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.models(w, r, p.cfg.Target()) }))
}

// The paths that Direct knows, as they stand below an upstream's base URL.
const (
	ChatPath   = "/chat/completions"
	ModelsPath = "/models"
)

// Direct returns a transport that passes calls of this very process on to target, as the handlers do those that come in
// over a listener, and records them likewise. It goes by the path of a request, ChatPath or ModelsPath; its host means
// nothing. Once the body of an answer is closed, the call is recorded.
func (p *Proxy) Direct(target *upstream.Target) http.RoundTripper {
	return httpx.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case ChatPath:
			p.chat(w, r, target)
		case ModelsPath:
			p.models(w, r, target)
		default:
			httpx.WriteOpenAIError(w, http.StatusNotFound, "not found", httpx.TypeInvalidRequest, "not_found")
		}
	}))
}

func (p *Proxy) chat(w http.ResponseWriter, r *http.Request, target *upstream.Target) {
	if r.Method != http.MethodPost {
		refuseMethod(w, http.MethodPost)
		return
	}
	c := p.newChat(w, r, target)
	// Deferred, so that a call that is broken off is recorded too: breaking off is a panic (http.ErrAbortHandler) that
	// must reach net/http.
	defer func() { p.cfg.End(c.record()) }()

	if r.ContentLength > p.cfg.MaxBody {
		p.cfg.Begin("")
		c.fail(&httpx.TooLargeError{Limit: p.cfg.MaxBody})
		return
	}
	err := c.body.readHead(r.ContentLength)
	p.cfg.Begin(c.request.Model)
	if err != nil {
		c.fail(err)
	} else {
		if p.cfg.MeterUsage {
			c.askForUsage()
		}
		c.pass(p.cfg.Timeout)
	}
	if c.sent == 0 {
		panic(http.ErrAbortHandler) // the caller is gone; should they still listen, no answer must look like one
	}
}

func (p *Proxy) newChat(w http.ResponseWriter, r *http.Request, target *upstream.Target) *call {
	c := p.newCall(w, r, ChatPath, target)
	c.request = p.reader.Request()
	c.body = requestBody{from: r.Body, limit: p.cfg.MaxBody, request: c.request, read: c.start}
	return c
}

func (p *Proxy) models(w http.ResponseWriter, r *http.Request, target *upstream.Target) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		refuseMethod(w, http.MethodGet)
		return
	}
	c := p.newCall(w, r, ModelsPath, target)
	c.pass(p.cfg.Timeout)
	if c.sent == 0 {
		panic(http.ErrAbortHandler)
	}
}

func refuseMethod(w http.ResponseWriter, allowed string) {
	w.Header().Set("Allow", allowed)
	httpx.WriteOpenAIError(w, http.StatusMethodNotAllowed, "method not allowed", httpx.TypeInvalidRequest, "method_not_allowed")
}
