// Package instance sees to it that one daemon runs for one state folder, and finds the one that runs. The authority is
// the held lock and the answering socket; daemon.json only says where to ask.
package instance

import (
	"context"
	"errors"
	"fmt"

	"chatwright.dev/tray/app/paths"
	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/protocol"
)

// What Acquire and Running say. ErrAbsent and ErrStale are both client.ErrNotRunning: a daemon may be started. After
// any other error of Running it may not.
var (
	ErrHeld     = errors.New("another instance is running")                                       // the lock is taken
	ErrAbsent   = fmt.Errorf("%w", client.ErrNotRunning)                                          // no trace of one
	ErrStale    = fmt.Errorf("%w: daemon.json is left from one that ended", client.ErrNotRunning) // proven, by socket and lock
	ErrStarting = errors.New("the daemon is starting or ending and does not answer")              // the lock is taken, the socket is not there
)

// Lock is held for the life of the process.
type Lock struct{}

// Acquire takes the lock at path, or returns ErrHeld.
func Acquire(path string) (*Lock, error) { return nil, errors.ErrUnsupported }

// Release gives the lock back. It may be called more than once.
func (l *Lock) Release() error { return errors.ErrUnsupported }

// NewInstanceID returns a name for one run of the daemon that no other has.
func NewInstanceID() string { return "" }

// WriteDiscovery replaces daemon.json whole, mode 0600.
func WriteDiscovery(path string, d protocol.Discovery) error { return errors.ErrUnsupported }

// ReadDiscovery reads daemon.json. A missing file satisfies errors.Is(err, fs.ErrNotExist).
func ReadDiscovery(path string) (protocol.Discovery, error) {
	return protocol.Discovery{}, errors.ErrUnsupported
}

// RemoveDiscovery removes daemon.json if it still is that of instanceID.
func RemoveDiscovery(path, instanceID string) error { return errors.ErrUnsupported }

// Running finds the daemon that runs.
func Running(ctx context.Context, p paths.Paths) (*client.Client, protocol.Discovery, error) {
	return nil, protocol.Discovery{}, errors.ErrUnsupported
}

// HandOver asks the running daemon to open target and returns the URL. It waits, as long as ctx lasts, for one that is
// just starting.
func HandOver(ctx context.Context, p paths.Paths, target protocol.OpenTarget) (url string, err error) {
	return "", errors.ErrUnsupported
}
