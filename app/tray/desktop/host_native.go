//go:build windows || (darwin && cgo && !ios)

package desktop

import (
	"context"
	"time"

	"fyne.io/systray"

	"chatwright.dev/tray/app/tray"
)

const (
	// readyPatience is how long the system's own panel may take to give the icon its place.
	readyPatience = 5 * time.Second
	// logoutPatience is how long the system's log-out is held up for the app to end in its own way.
	logoutPatience = 3 * time.Second
)

// run waits for something to show, and then hands the thread to the toolkit's event loop.
func (d *Driver) run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-d.newer:
	}
	ready := make(chan *pool, 1)
	onReady := func() { // must return, or the menu never appears; earlier the setters have no effect here
		pool := d.build(*d.view.Load())
		systray.SetOnTapped(pool.tap)
		ready <- pool
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.paintWhenReady(ctx, ready)
	}()
	loop(ctx, func() { systray.Run(onReady, func() { d.loggedOut(ctx) }) })
	<-ctx.Done() // the loop ended by itself: the daemon lives on
	<-ended
	return nil
}

func (d *Driver) paintWhenReady(ctx context.Context, ready <-chan *pool) {
	timer := time.NewTimer(readyPatience)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			systray.Quit()
			return
		case <-timer.C:
			d.unavailable("the system gave the tray icon no place", "restart it once the desktop is up, or run it with --headless")
		case pool := <-ready:
			pool.paint(ctx)
			systray.Quit()
			return
		}
	}
}

// loggedOut is called when the toolkit ends: on our own Quit, when ctx is over, and at log-out, when it is the only
// call there is and the system ends the process as soon as it returns. No setter may be called from here.
func (d *Driver) loggedOut(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	d.click(tray.Quit)
	select {
	case <-ctx.Done():
	case <-time.After(logoutPatience):
	}
}
