// Package localsock opens and dials the private local socket of one user: a Unix domain socket, or a named pipe on
// Windows. What makes it private is decided here once (the folder, the file's mode, who is on the other end), so that
// the HTTP above it needs no authentication.
package localsock

import (
	"errors"
	"time"
)

// Options say whom a listener lets in.
type Options struct {
	// AllowRoot lets root (on Windows: administrators and the system) connect to a socket that another user owns.
	// False: only the owner.
	AllowRoot bool
	// Log hears of connections that were turned away. Nil: silent.
	Log func(string)
}

// ErrInUse says that somebody listens on the socket already.
var ErrInUse = errors.New("another process listens there")

// dialTimeout bounds one attempt to connect. A local connection is made at once or never; only a listener whose
// backlog is full, or a stopped machine, takes longer.
const dialTimeout = 2 * time.Second
