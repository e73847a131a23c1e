//go:build !((linux && !android) || freebsd || openbsd || netbsd || windows || (darwin && cgo && !ios))

package desktop

import "context"

// run is for systems the toolkit does not know, and for macOS without cgo, where it cannot be built.
func (d *Driver) run(ctx context.Context) error {
	d.unavailable("this build has no tray", "run it with --headless, or use a build made for this system (on macOS: with cgo)")
	<-ctx.Done()
	return nil
}
