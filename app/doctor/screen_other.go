//go:build !((linux && !android) || freebsd || openbsd || netbsd)

package doctor

import (
	"context"

	"chatwright.dev/tray/server/protocol"
)

// screen has nothing to find: the system's own panel is always there.
func screen(context.Context, Config) []protocol.Check { return nil }
