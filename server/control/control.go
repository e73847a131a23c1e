// Package control serves the control socket: HTTP/1.1 and server-sent events on a private Unix domain socket (a named
// pipe on Windows), through which the command line, a second launch and the tests ask the running daemon and steer
// it. The socket is the trust boundary: whoever can open it is its owner, so there is no authentication above it.
//
//	GET  /health              {"status":"ok"}
//	GET  /version             protocol.VersionInfo
//	GET  /v1/launch           protocol.Launch: how the daemon was started
//	GET  /v1/status           protocol.Status
//	GET  /v1/status/events    the same as server-sent events, newest wins
//	GET  /v1/calls            protocol.CallsPage; ?after=&limit=
//	GET  /v1/history          protocol.HistoryPage; ?since=&until=&model=&limit=&after=
//	POST /v1/shutdown         protocol.ShutdownRequest; 202, or 409 when another instance is meant
//	POST /v1/open             protocol.OpenRequest; protocol.OpenResponse
//	POST /v1/server/start     204 when it is done; so for stop and restart
//	GET  /v1/studio           protocol.StudioStatus
//	POST /v1/studio/update    protocol.StudioUpdateRequest; the StudioStatus when it is done. It joins one that runs
//	POST /v1/studio/rollback  the StudioStatus when it is done; 409 when there is nothing to go back to
//	POST /v1/studio/prune     protocol.StudioPruned
//	POST /v1/studio/cancel    ends a running update, whose own request is answered with 409
//	GET  /v1/upstreams        protocol.UpstreamList; ?ask=1 asks each whether it answers
//	GET  /v1/upstreams/{name}      protocol.UpstreamEntry
//	PUT  /v1/upstreams/{name}      protocol.PutUpstreamRequest; protocol.UpstreamEntry, 201 when it is new
//	DELETE /v1/upstreams/{name}    204
//	POST /v1/upstreams/{name}/use  204: Studio's calls go there from now on
//
// Every error is a protocol.Error.
//
// # Sessions
//
// Sessions are conversations with a model that go on whoever listens:
//
//	POST   /v1/sessions                  protocol.CreateSessionRequest; 201 protocol.Session
//	GET    /v1/sessions                  protocol.SessionList; ?recorded=1&workspace=
//	GET    /v1/sessions/{id}             protocol.Session, live or recorded
//	DELETE /v1/sessions/{id}             ends it, 204; ?purge=1 removes its record too
//	POST   /v1/sessions/{id}/name        protocol.RenameRequest; 204
//	GET    /v1/sessions/{id}/events      its events from ?from=N on, as a stream; or a protocol.EventsPage, by Accept
//	POST   /v1/sessions/{id}/turns       protocol.TurnRequest; 202 protocol.TurnResponse, 409 while a turn runs
//	POST   /v1/sessions/{id}/interrupt   ends the turn that runs, if one does; 204
//	POST   /v1/sessions/{id}/steer       protocol.SteerRequest; 202, 409 while no turn runs
//	POST   /v1/sessions/{id}/undo        protocol.UndoResponse; 404 as long as no turn changes files
//	POST   /v1/sessions/{id}/approvals/{approval_id}
//	                                     protocol.ApprovalRequest; 404 as long as no turn asks
//	GET    /v1/specs                     protocol.SpecList; ?workspace=
//
// # A session by hand
//
// SOCK is the path of the socket, as daemon.json in the state folder names it. The host in the URL is of no consequence.
//
//	$ curl -s --unix-socket $SOCK http://d/v1/sessions -d '{"workspace":"/tmp"}'
//	{"id":"20261130-154353764-k7ra","state":"idle","live":true,"workspace":"/tmp","model":"","upstream":"","sandbox_mode":"read-only","created_at":"2026-11-30T15:43:53.764717246Z","last_seq":1,"first_seq":1,"title":""}
//
//	$ curl -s --unix-socket $SOCK http://d/v1/sessions/20261130-154353764-k7ra/turns -d '{"text":"What is a cart?"}'
//	{"turn_id":"t2"}
//
//	$ curl -s --unix-socket $SOCK -H 'Accept: application/json' 'http://d/v1/sessions/20261130-154353764-k7ra/events?from=3'
//	{"events":[{"seq":3,"session_id":"20261130-154353764-k7ra","type":"message.delta","at":"2026-11-30T15:43:53.764717246Z","payload":{"turn_id":"t2","text":"It holds what you mean to buy."}},{"seq":4,"session_id":"20261130-154353764-k7ra","type":"turn.completed","at":"2026-11-30T15:43:53.764717246Z","payload":{"turn_id":"t2","reason":"done","model":"llama3.2"}}],"next":5}
//
//	$ curl -s --unix-socket $SOCK http://d/v1/sessions/20261130-154353764-k7ra/steer -d '{"text":"shorter"}'
//	{"code":"no_active_turn","message":"no turn is running","hint":"begin one"}
//
//	$ curl -s --unix-socket $SOCK -X DELETE http://d/v1/sessions/20261130-154353764-k7ra
//
// With curl -N the events come as they happen. A session that has ended says so, and the stream ends:
//
//	$ curl -sN --unix-socket $SOCK 'http://d/v1/sessions/20261130-154353764-k7ra/events?from=4'
//	retry: 1000
//
//	id: 4
//	data: {"seq":4,"session_id":"20261130-154353764-k7ra","type":"turn.completed","at":"2026-11-30T15:43:53.764717246Z","payload":{"turn_id":"t2","reason":"done","model":"llama3.2"}}
//
//	event: closed
//	data: {}
//
//	$ curl -s --unix-socket $SOCK 'http://d/v1/sessions?recorded=1&workspace=/tmp'
//	{"sessions":[{"id":"20261130-154353764-k7ra","state":"closed","live":false,"workspace":"/tmp","model":"","upstream":"","sandbox_mode":"read-only","created_at":"2026-11-30T15:43:53.764717246Z","last_seq":4,"first_seq":1,"title":"What is a cart?"}]}
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
	// Launch answers GET /v1/launch. Its arguments may hold passwords, which stay between programs of one user. Nil: the
	// route answers 404.
	Launch *protocol.Launch
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
	// Upstreams are the model servers that calls can go to. Nil: the routes answer 404.
	Upstreams Upstreams
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
