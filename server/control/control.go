package control

import (
	"context"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"chatwright.dev/tray/server/internal/localsock"
	"chatwright.dev/tray/server/policy"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/session"
	"chatwright.dev/tray/server/watch"
)

// Config says what a Server answers with and whom it asks. SocketPath, InstanceID and Status are required.
type Config struct {
	SocketPath string
	Version    string
	InstanceID string
	// Status is what GET /v1/status and GET /v1/status/events show.
	Status *watch.Value[protocol.Status]
	// Calls answers GET /v1/calls. Nil: an empty page.
	Calls func(after uint64, limit int) protocol.CallsPage
	// History answers GET /v1/history. Nil: the route answers 404.
	History func(ctx context.Context, q protocol.HistoryQuery) (protocol.HistoryPage, error)
	// Shutdown is called once the 202 is on its way. It must return at once; a nil grace means the daemon's own. Nil:
	// the route answers 404.
	Shutdown func(grace *time.Duration)
	// Open opens a page in the user's browser and returns its URL. Nil: the route answers 404.
	Open func(ctx context.Context, target protocol.OpenTarget) (url string, err error)
	// URL returns the URL of a page and opens nothing. Nil: asking for it answers 404.
	URL func(ctx context.Context, target protocol.OpenTarget) (url string, err error)
	// Now returns the status as it is at this moment, for GET /v1/status. Nil: the newest of Status, which may lag.
	Now func() protocol.Status
	// Server starts, stops or restarts the HTTP server and returns when that is done. Its ctx outlives the caller's
	// connection, since half a restart helps nobody. Nil: the routes answer 404.
	Server func(ctx context.Context, action protocol.ServerAction) error
	// Studio keeps the offline copy of Studio. Nil: its routes answer 404.
	Studio Studio
	// Manager holds the sessions. Nil: one over the records of RecordDir, if that names a folder; otherwise the routes of
	// sessions answer 404.
	Manager *session.Manager
	// Build makes the session that POST /v1/sessions asks for. Its errors may be made with Refuse. Nil: Manager.Create.
	Build Builder
	// MaxSessions bounds the live sessions. Zero: 1,000.
	MaxSessions int
	// DefaultMode is the sandbox of sessions that ask for none. Zero: policy.ReadOnly.
	DefaultMode policy.SandboxMode
	// DefaultPolicy says when the user of a session is asked. Zero: policy.AskOnRequest.
	DefaultPolicy policy.ApprovalPolicy
	// RecordDir is where recorded sessions are read from when there is no Manager. "": nowhere.
	RecordDir string
	// Specs finds the folders of a workspace that hold specifications. Nil: there are none.
	Specs func(ctx context.Context, workspace string) []protocol.SpecFolder
	// PingEvery is the time between two pings on a quiet event stream. Zero: 15 s.
	PingEvery time.Duration
	// Grace is how long requests in flight may take to finish once Serve's ctx has ended. Zero: 5 s.
	Grace time.Duration
	// StreamsEnd, once closed, ends the event streams while the other routes go on answering: a daemon that is ending
	// must still hear a second shutdown. Nil: they end with Serve.
	StreamsEnd <-chan struct{}
	// AllowRoot lets root connect to a socket that another user owns. False: only the owner.
	AllowRoot bool
	// Log hears of what nobody else is told of, one line each. Nil: silent.
	Log func(string)
}

const (
	defaultPing  = 15 * time.Second
	defaultGrace = 5 * time.Second

	maxBody   = 64 << 10
	maxHeader = 64 << 10
)

// Server is the control socket of one daemon. Make it with New; it listens and serves once.
type Server struct {
	cfg    Config
	routes map[string]route
	places places

	stopping chan struct{} // closed when streams must end
	cut      chan struct{} // closed when the grace is over

	mu       sync.Mutex
	listener net.Listener          // taken by Serve
	fresh    map[net.Conn]struct{} // connections that have sent nothing yet
	closed   bool                  // no request is begun any more
	inFlight sync.WaitGroup
}

// New returns a Server that does not listen yet.
func New(cfg Config) *Server {
	if cfg.PingEvery == 0 {
		cfg.PingEvery = defaultPing
	}
	if cfg.Grace == 0 {
		cfg.Grace = defaultGrace
	}
	if cfg.Log == nil {
		cfg.Log = func(string) {}
	}
	cfg = withSessions(cfg)
	s := &Server{
		cfg:      cfg,
		stopping: make(chan struct{}),
		cut:      make(chan struct{}),
		fresh:    make(map[net.Conn]struct{}),
	}
	s.routes = s.table()
	return s
}

// withSessions fills in what a Config leaves out about sessions, and warns once of the one combination that leaves
// nothing between an agent and the machine.
func withSessions(cfg Config) Config {
	if cfg.MaxSessions == 0 {
		cfg.MaxSessions = defaultMaxSessions
	}
	if cfg.DefaultMode == "" {
		cfg.DefaultMode = policy.ReadOnly
	}
	if cfg.DefaultPolicy == "" {
		cfg.DefaultPolicy = policy.AskOnRequest
	}
	if policy.Unguarded(cfg.DefaultMode, cfg.DefaultPolicy) {
		cfg.Log("sessions have no sandbox and ask nobody: nothing stands between an agent and this machine")
	}
	if cfg.Manager == nil && cfg.RecordDir != "" {
		records, err := session.Open(session.Config{Dir: cfg.RecordDir, Log: cfg.Log})
		if err != nil {
			cfg.Log("recorded sessions cannot be read: " + err.Error())
		}
		cfg.Manager = records // which has no model, so that nothing begins in it
	} else if cfg.Manager != nil && cfg.Build == nil {
		cfg.Build = cfg.Manager.Create
	}
	return cfg
}

// Addr is the path of the socket, or the name of the pipe.
func (s *Server) Addr() string { return s.cfg.SocketPath }

// Handler is the whole HTTP surface, for a test or another listener.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serveHTTP) }

// Listen opens the socket: from now on clients can connect, and are answered as soon as Serve runs. The folder of the
// socket must be ours alone, and what is in the way must be a socket that nobody listens on; otherwise Listen says why
// and changes nothing. The caller holds the lock of the instance.
func (s *Server) Listen() error {
	ln, err := localsock.Listen(s.cfg.SocketPath, localsock.Options{AllowRoot: s.cfg.AllowRoot, Log: s.cfg.Log})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listener = ln
	return nil
}

// errorLog is where net/http says what it cannot tell a client.
func (s *Server) errorLog() *log.Logger {
	return log.New(logWriter(s.cfg.Log), "", 0)
}

type logWriter func(string)

func (w logWriter) Write(line []byte) (int, error) {
	w(strings.TrimSpace(string(line)))
	return len(line), nil
}
