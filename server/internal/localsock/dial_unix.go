//go:build linux || darwin || freebsd

package localsock

import (
	"context"
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"chatwright.dev/tray/server/hint"
)

// maxPath is how many bytes of a path the system takes: one less than its field, for the final zero.
const maxPath = len(unix.RawSockaddrUnix{}.Path) - 1

// Dial connects to the socket at path.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	if err := checkLength(path); err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: dialTimeout}
	return d.DialContext(ctx, "unix", path)
}

// NobodyListens reports whether an error of Dial proves that there is no listener. A timeout or a refused permission
// proves nothing.
func NobodyListens(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ECONNREFUSED)
}

func checkLength(paths ...string) error {
	for _, path := range paths {
		if len(path) > maxPath {
			return hint.With(fmt.Errorf("the path of the control socket has %d bytes, and the system takes %d: %s", len(path), maxPath, path),
				"choose a shorter one with --control-socket, or a shorter --state-dir")
		}
	}
	return nil
}
