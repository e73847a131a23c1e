//go:build !((linux && !android) || freebsd || openbsd || netbsd || windows)

package theme

import "context"

// Watch has nothing to tell: macOS colours the icon itself. It returns nil once ctx ends.
func Watch(ctx context.Context, _ func(bool)) error {
	<-ctx.Done()
	return nil
}
