package server

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"chatwright.dev/tray/assets"
	"chatwright.dev/tray/server/datastate"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/internal/httpx"
	"chatwright.dev/tray/server/metrics"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/proxy"
	"chatwright.dev/tray/server/upstream"
	"chatwright.dev/tray/server/watch"
)

const (
	// DefaultAddr is where the companion listens, and where Studio looks for it.
	DefaultAddr = "127.0.0.1:4319"
	// DefaultUpstreamBaseURL is Ollama on its own port.
	DefaultUpstreamBaseURL = "http://localhost:11434/v1"
)

// DefaultGrace is how long calls in flight may go on after the end of Serve's context.
const DefaultGrace = 10 * time.Second

// CallMetric is one call as GET /metrics lists it.
type CallMetric = protocol.Call

// Config says what a Server is made of. Only Version is required.
type Config struct {
	// Version is what /health says.
	Version string
	// UpstreamBaseURL is the model server's base URL, with its "/v1", or the word "demo". Empty:
	// DefaultUpstreamBaseURL. Not read when Upstream is set.
	UpstreamBaseURL string
	// FixturesPath names a fixtures file that answers /datastate/query. Empty: no store, the verdict is "unsupported".
	FixturesPath string
	// Logger gets one line for each thing that a person may want to know. Nil: silent.
	Logger *log.Logger
	// HTTPClient carries the calls to the upstream. Its Transport is used, and its Timeout as UpstreamTimeout where
	// that is zero, so it never cuts a stream. Nil: a transport made for long local inference.
	HTTPClient *http.Client
	// MetricsCapacity is how many calls /metrics keeps. Zero: 200. Not read when Metrics is set.
	MetricsCapacity int
	// AllowedOrigins are origins besides the built-in ones, as exact strings.
	AllowedOrigins []string
	// UIDir is a folder with a Studio build to serve at "/". Empty: the embedded console. Not read when UI is set.
	UIDir string

	// Slog gets what Logger gets, with its attributes, and one line a request at debug. Nil: none.
	Slog *slog.Logger
	// AllowedHosts are Host names besides loopback's own: "name" for any port, "name:port" for that one.
	AllowedHosts []string
	// Upstream chooses where calls go, and can be switched while they do. Nil: UpstreamBaseURL for good.
	Upstream *upstream.Selector
	// Metrics keeps the calls. Nil: a store of its own.
	Metrics *metrics.Store
	// Record is told of each call that ended, once Metrics knows of it. It must not block. Nil: nobody is.
	Record func(protocol.Call)
	// Through may stand between callers and upstreams, for every call, such as what records them: see proxy.Config. Nil:
	// nothing does.
	Through func(target *upstream.Target, next http.RoundTripper) http.RoundTripper
	// Status is what /console/events shows. Nil: composed here from what the server itself knows.
	Status *watch.Value[protocol.Status]
	// Sessions is what the console shows of conversations with models, to pages of this address alone. Nil: nothing, as
	// on every listener outside loopback.
	Sessions *Sessions
	// Console is what the console shows and does besides. Nil: it shows what the server knows, and does nothing; so on
	// every listener outside loopback.
	Console *Console
	// Tap may stand before Through, for one chat call: see proxy.Config. Nil: nothing does.
	Tap func(id string, target *upstream.Target, next http.RoundTripper) http.RoundTripper
	// UI is what "/" serves, and can be switched. Nil: UIDir for good.
	UI *UISource
	// Studio is the state of the offline copy, for GET /studio/status. Nil: the route answers 404.
	Studio *watch.Value[protocol.StudioStatus]
	// DataState answers /datastate/query instead of fixtures and databases, and is not listed. Nil: FixturesPath, Databases.
	DataState *datastate.Runner
	// Databases answer /datastate/query beside the fixtures. They outlive the server. Nil: there are none.
	Databases Databases
	// Grace is how long calls in flight may go on when Serve ends. Zero: DefaultGrace.
	Grace time.Duration
	// Abort, once closed, ends what is left of the grace. Nil: never.
	Abort <-chan struct{}
	// MaxChatBody bounds the body of a chat completion, in bytes. Zero: 64 MiB.
	MaxChatBody int64
	// UpstreamTimeout bounds a call that is not streamed. Zero: no bound.
	UpstreamTimeout time.Duration
	// MeterUsage has the upstream say the usage of streams whose callers did not ask for it; they do not see it. False:
	// every body goes up as it came.
	MeterUsage bool
	// RemoteToken, at least 32 bytes, allows a listener outside loopback: every route but /health then wants it. Nil:
	// loopback only.
	RemoteToken []byte
}

// Server is the companion's HTTP surface. It is safe for concurrent use, and may be served more than once, also one
// time after another.
type Server struct {
	version    string
	log        *slog.Logger
	upstream   *upstream.Selector
	metrics    *metrics.Store
	prometheus http.Handler
	status     *watch.Value[protocol.Status] // nil: ownStatus
	ui         *UISource
	studio     *watch.Value[protocol.StudioStatus] // nil: no copy is kept
	sessions   *Sessions                           // nil: none are shown
	console    map[string]consoleFile
	tokenPage  consoleFile // its index.html with the token of page
	page       *Console    // never nil
	proxy      *proxy.Proxy
	data       *datastate.Runner // nil: no store
	holders    *holderStore      // nil: there are none that could be listed
	started    time.Time
	grace      time.Duration
	abort      <-chan struct{}
	remote     bool
	health     []byte
	routes     map[string]route
	handler    http.Handler
}

// New checks cfg and returns a Server. It opens no listener and touches no network.
func New(cfg Config) (*Server, error) {
	if cfg.Version == "" {
		return nil, errors.New("making the server: Config.Version is empty")
	}
	s := &Server{
		version:  cfg.Version,
		log:      cfg.logger(),
		upstream: cfg.Upstream,
		metrics:  cfg.Metrics,
		status:   cfg.Status,
		ui:       cfg.UI,
		studio:   cfg.Studio,
		data:     cfg.DataState,
		started:  time.Now().UTC(),
		grace:    cfg.Grace,
		abort:    cfg.Abort,
		remote:   cfg.RemoteToken != nil,
	}
	if !s.remote {
		s.sessions = cfg.Sessions
	}
	if s.grace == 0 {
		s.grace = DefaultGrace
	}
	if s.metrics == nil {
		s.metrics = metrics.New(cfg.MetricsCapacity)
	}
	s.prometheus = s.metrics.Prometheus()
	for _, prepare := range []func(Config) error{
		s.prepareUpstream, s.prepareData, s.prepareUI, s.preparePage, s.prepareConsole, s.prepareRoutes,
	} {
		if err := prepare(cfg); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Server) prepareUpstream(cfg Config) error {
	if s.upstream != nil {
		return nil
	}
	base := cfg.UpstreamBaseURL
	if base == "" {
		base = DefaultUpstreamBaseURL
	}
	target, err := upstream.Parse(base)
	if err != nil {
		return fmt.Errorf("reading the upstream's address: %w", err)
	}
	if cfg.HTTPClient != nil && cfg.HTTPClient.Transport != nil && !target.Demo {
		target.Transport = cfg.HTTPClient.Transport
	}
	s.upstream = upstream.NewSelector(target)
	return nil
}

func (s *Server) prepareUI(cfg Config) error {
	if s.ui != nil {
		return nil
	}
	s.ui = NewUISource(cfg.UIDir)
	if cfg.UIDir == "" {
		return nil
	}
	info, err := os.Stat(cfg.UIDir)
	if err == nil && !info.IsDir() {
		err = errors.New("not a folder")
	}
	if err != nil {
		return hint.With(fmt.Errorf("opening the UI folder: %w", err), "name a folder that holds a Studio build, with index.html in it")
	}
	return nil
}

func (s *Server) prepareConsole(Config) error {
	files, err := loadConsole(assets.Console())
	s.console = files
	s.tokenPage = withToken(files[indexPage], s.page.Token)
	return err
}

func (s *Server) prepareRoutes(cfg Config) error {
	timeout := cfg.UpstreamTimeout
	if timeout == 0 && cfg.HTTPClient != nil {
		timeout = cfg.HTTPClient.Timeout
	}
	s.proxy = proxy.New(proxy.Config{
		Target:  s.upstream.Load,
		Begin:   s.metrics.Begin,
		End:     s.ended(cfg.Record),
		MaxBody: cfg.MaxChatBody,
		Timeout: timeout,
		Log:     s.log,
		Tap:     cfg.Tap,

		MeterUsage: cfg.MeterUsage,
		Through:    cfg.Through,
	})
	s.health = healthAnswer(cfg.Version)
	s.routes = s.table()
	g, err := newGuard(cfg, s.isPage, s.route)
	if err != nil {
		return err
	}
	s.handler = httpx.Lingering(s.logged(g))
	return nil
}

// ended is where the proxy reports a call that ended.
func (s *Server) ended(record func(protocol.Call)) func(protocol.Call) {
	if record == nil {
		return s.metrics.End
	}
	return func(c protocol.Call) {
		s.metrics.End(c)
		record(c)
	}
}

// logger puts the two places where log lines can go behind one.
func (c Config) logger() *slog.Logger {
	var handlers []slog.Handler
	if c.Slog != nil {
		handlers = append(handlers, c.Slog.Handler())
	}
	if c.Logger != nil {
		handlers = append(handlers, plainHandler(c.Logger))
	}
	switch len(handlers) {
	case 0:
		return slog.New(slog.DiscardHandler)
	case 1:
		return slog.New(handlers[0])
	}
	return slog.New(slog.NewMultiHandler(handlers...))
}

// Handler returns the whole surface, guard included. The guard wants the port of Host to be the one that the
// connection came in on, which it learns from the net/http server that calls it.
func (s *Server) Handler() http.Handler { return s.handler }

// ListenAndServe listens on addr and serves until ctx ends. An addr outside loopback needs Config.RemoteToken.
func (s *Server) ListenAndServe(ctx context.Context, addr string) error {
	if err := CheckAddr(addr, s.remote); err != nil {
		return err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", addr, err)
	}
	return s.Serve(ctx, ln)
}
