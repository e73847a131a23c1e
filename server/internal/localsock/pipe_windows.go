package localsock

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"

	"chatwright.dev/tray/server/hint"
)

// Listen opens the named pipe at path for its owner. The system refuses the name when somebody else has it, and lets
// nobody in whom the descriptor does not name.
func Listen(path string, o Options) (net.Listener, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return nil, fmt.Errorf("looking up the owner of the control pipe: %w", err)
	}
	descriptor := "D:P(A;;GA;;;" + user.User.Sid.String() + ")" // protected: nothing is inherited
	if o.AllowRoot {
		descriptor += "(A;;GA;;;SY)(A;;GA;;;BA)"
	}
	ln, err := winio.ListenPipe(path, &winio.PipeConfig{SecurityDescriptor: descriptor})
	if errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_PIPE_BUSY) {
		return nil, hint.With(fmt.Errorf("control pipe %s: %w", path, ErrInUse),
			"another Chatwright Tray is running: see chatwright-tray status")
	}
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", path, err)
	}
	return ln, nil
}

// Dial connects to the named pipe at path.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return winio.DialPipeContext(ctx, path)
}

// NobodyListens reports whether an error of Dial proves that there is no listener.
func NobodyListens(err error) bool { return errors.Is(err, windows.ERROR_FILE_NOT_FOUND) }
