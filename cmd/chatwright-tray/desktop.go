package main

import (
	"context"
	"sync"

	"chatwright.dev/tray/app"
	"chatwright.dev/tray/app/theme"
	"chatwright.dev/tray/app/tray/desktop"
	"chatwright.dev/tray/server/protocol"
)

// runWithTray runs the app with a tray. The tray has the main goroutine, as some systems demand; it comes once the app
// answers, and goes as soon as the app begins to end.
func (c *cli) runWithTray(ctx context.Context, cfg app.Config) error {
	screenCtx, hide := context.WithCancel(ctx)
	defer hide()
	ready := make(chan struct{})
	noPanel := make(chan string, 1) // told once at most
	driver := desktop.New(desktop.Config{
		Unavailable: func(text, way string) { c.warn("no tray icon: " + text + "; " + way) },
		NoPanel:     func(way string) { noPanel <- way },
	})
	cfg.Screen, cfg.Stopping, cfg.Notify, cfg.NoPanel = driver, hide, true, noPanel
	say := cfg.Ready
	cfg.Ready = func(s protocol.Status) { say(s); close(ready) }

	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx, cfg) }()
	select {
	case <-ready:
	case err := <-ended:
		return err
	}
	var look sync.WaitGroup
	defer look.Wait()
	look.Go(func() { // the icon is the lighter or the darker drawing, as the panel asks for
		if err := theme.Watch(screenCtx, driver.SetLightPanel); err != nil {
			c.warn("the icon does not follow the theme: " + err.Error())
		}
	})
	if err := driver.Run(screenCtx); err != nil {
		c.warn("no tray icon: " + err.Error()) // the daemon runs on without one
	}
	return <-ended
}
