// Package client speaks to a running daemon over its control socket: one method an operation.
package client

import (
	"context"
	"errors"
	"time"

	"chatwright.dev/tray/server/protocol"
)

// ErrNotRunning says that nobody listens on the socket: there is no such file, or a connection is refused. A daemon
// that is slow, or a socket that we may not open, is another error.
var ErrNotRunning = errors.New("the daemon is not running")

// Error is an error answer of the daemon.
type Error struct {
	Status  int // HTTP
	Code    protocol.ErrorCode
	Message string
	Hint    string // what to do about it; "" when there is nothing to say
}

func (e *Error) Error() string { return e.Message }

// Client speaks to one daemon. It is safe for concurrent use and holds no connection between calls.
type Client struct {
	path string
}

// New returns a client of the daemon that listens on socketPath. It does not connect.
func New(socketPath string) *Client { return &Client{path: socketPath} }

// SocketPath is where the client connects to.
func (c *Client) SocketPath() string { return c.path }

// Health asks whether the daemon answers.
func (c *Client) Health(ctx context.Context) error { return errors.ErrUnsupported }

// Version asks which daemon this is.
func (c *Client) Version(ctx context.Context) (protocol.VersionInfo, error) {
	return protocol.VersionInfo{}, errors.ErrUnsupported
}

// Status asks for the state of the daemon.
func (c *Client) Status(ctx context.Context) (protocol.Status, error) {
	return protocol.Status{}, errors.ErrUnsupported
}

// StatusEvents calls f with the state now and with each newer one, until ctx ends or f returns an error.
func (c *Client) StatusEvents(ctx context.Context, f func(protocol.Status) error) error {
	return errors.ErrUnsupported
}

// Calls asks for the calls that ended after the cursor, at most limit of them; limit 0 leaves it to the daemon.
func (c *Client) Calls(ctx context.Context, after uint64, limit int) (protocol.CallsPage, error) {
	return protocol.CallsPage{}, errors.ErrUnsupported
}

// Shutdown asks the daemon with this instance id, and no other, to end.
func (c *Client) Shutdown(ctx context.Context, instanceID string, grace *time.Duration) error {
	return errors.ErrUnsupported
}

// Open asks the daemon to open a page in the user's browser, and returns its URL.
func (c *Client) Open(ctx context.Context, target protocol.OpenTarget) (url string, err error) {
	return "", errors.ErrUnsupported
}

// Server starts, stops or restarts the daemon's HTTP server.
func (c *Client) Server(ctx context.Context, action protocol.ServerAction) error {
	return errors.ErrUnsupported
}
