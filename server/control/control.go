// Package control serves the control socket: HTTP/1.1 and server-sent events on a private Unix domain socket (a named
// pipe on Windows), through which the command line, a second launch and the tests ask the running daemon and steer
// it. The socket is the trust boundary: whoever can open it is its owner, so there is no authentication above it.
package control

import (
	"context"
	"errors"
	"net/http"
	"time"

	"chatwright.dev/tray/server/protocol"
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
	// Shutdown is called once the 202 is on its way. It must return at once; a nil grace means the daemon's own. Nil:
	// the route answers 404.
	Shutdown func(grace *time.Duration)
	// Open opens a page in the user's browser and returns its URL. Nil: the route answers 404.
	Open func(ctx context.Context, target protocol.OpenTarget) (url string, err error)
	// Server starts, stops or restarts the HTTP server and returns when that is done. Nil: the routes answer 404.
	Server func(ctx context.Context, action protocol.ServerAction) error
	// PingEvery is the time between two pings on a quiet event stream. Zero: 15 s.
	PingEvery time.Duration
	// Grace is how long requests in flight may take to finish once Serve's ctx has ended. Zero: 5 s.
	Grace time.Duration
	// AllowRoot lets root connect to a socket that another user owns. False: only the owner.
	AllowRoot bool
	// Log hears of what nobody else is told of. Nil: silent.
	Log func(string)
}

// Server is the control socket of one daemon. Make it with New.
type Server struct {
	cfg Config
}

// New returns a Server that does not listen yet.
func New(cfg Config) *Server { return &Server{cfg: cfg} }

// Addr is the path of the socket, or the name of the pipe.
func (s *Server) Addr() string { return s.cfg.SocketPath }

// Handler is the whole HTTP surface, for a test or another listener.
func (s *Server) Handler() http.Handler { return http.NotFoundHandler() }

// Listen opens the socket.
func (s *Server) Listen() error { return errors.ErrUnsupported }

// Serve answers until ctx ends.
func (s *Server) Serve(ctx context.Context) error { return errors.ErrUnsupported }

// Refuse returns an error for Config.Open and Config.Server that is answered with code (and the status that belongs to
// it) instead of 500.
func Refuse(code protocol.ErrorCode, message string) error { return errors.New(message) }
