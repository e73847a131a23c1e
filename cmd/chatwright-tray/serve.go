package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"chatwright.dev/tray/app"
	"chatwright.dev/tray/app/instance"
	"chatwright.dev/tray/app/paths"
	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

// handOverTimeout is how long a second launch waits for the first to open Studio, or to end if it is ending.
const handOverTimeout = 20 * time.Second

// serve runs the companion in this process until it is told to end.
func (c *cli) serve(ctx context.Context, headless bool) error {
	now, where, err := c.load()
	if err != nil {
		return err
	}
	c.warnVisible(now)
	c.warnStrays()
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the working folder: %w", err)
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	abort, stopCounting := secondSignal()
	defer stopCounting()
	defer outliveReaders()()
	shrinking, stopShrinking := context.WithCancel(ctx)
	var small sync.WaitGroup
	small.Go(func() { shrink(shrinking) })
	defer small.Wait()
	defer stopShrinking()

	login, err := loginEntry(now.StateDir)
	if err != nil {
		return err
	}
	cfg := app.Config{
		Settings: now, Paths: where, Version: version, Args: c.args, Dir: dir,
		OpenURL: c.opener(now), OpenFile: c.opener(now), CopyText: copyText,
		OpenTerminal: c.terminalOpener(now),
		Opener:       browserThere,
		Login:        login,
		Ready:        c.sayReady, Warn: c.warn,
		Reload: func() (settings.Settings, error) { next, _, err := c.load(); return next, err },
		Hangup: hangup, Abort: abort, Detect: c.detect,
	}
	for {
		if headless {
			err = app.Run(ctx, cfg)
		} else {
			err = c.runWithTray(ctx, cfg)
		}
		if !errors.Is(err, instance.ErrHeld) {
			return err
		}
		err = c.alreadyRunning(ctx, where, headless)
		if !errors.Is(err, client.ErrNotRunning) { // it has ended meanwhile, and its place is free
			return err
		}
	}
}

// outliveReaders keeps the process alive when whoever reads what it prints has gone: a write to such a pipe is then an
// error, which nobody minds, instead of a signal that cuts off the calls in flight. It is caught and not ignored, since
// the programs that we start would inherit the latter.
func outliveReaders() (stop func()) {
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	return func() { signal.Stop(broken) }
}

// secondSignal returns a channel that is closed at the second SIGINT or SIGTERM; the first begins the graceful end,
// through the context of main.
func secondSignal() (second <-chan struct{}, stop func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	abort, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		for range 2 {
			select {
			case <-signals:
			case <-stopped:
				return
			}
		}
		close(abort)
	}()
	return abort, func() { signal.Stop(signals); close(stopped) }
}

// alreadyRunning is what a second launch does: on a desktop the first one opens Studio, which is what whoever clicked
// the icon again wants; headless it is an error, since the caller wanted a process of its own.
func (c *cli) alreadyRunning(ctx context.Context, where paths.Paths, headless bool) error {
	if headless {
		err := errors.New("Chatwright is already running")
		if found, readErr := instance.ReadDiscovery(where.Discovery); readErr == nil {
			err = fmt.Errorf("Chatwright is already running on %s (pid %d)", found.Addr, found.PID)
		}
		return withCode(exitAlreadyRunning, hint.With(err, "use the one that runs, or end it first: chatwright-tray stop"))
	}
	ctx, cancel := context.WithTimeout(ctx, handOverTimeout)
	defer cancel()
	url, err := instance.HandOver(ctx, where, protocol.OpenStudio)
	if err != nil {
		return fmt.Errorf("Chatwright is already running; asking it to open Studio: %w", err)
	}
	_, _ = fmt.Fprintln(c.stderr, "Chatwright is already running; it opens Studio:", url)
	return nil
}

// sayReady tells the person who started the companion where it is.
func (c *cli) sayReady(s protocol.Status) {
	switch s.Phase {
	case protocol.PhaseRunning, protocol.PhaseDegraded:
		_, _ = fmt.Fprintf(c.stderr, "Chatwright %s is ready on http://%s (upstream: %s)\n", s.Version, s.Addr, s.Upstream.Name)
	case protocol.PhaseExternal:
		c.warn("another Chatwright server runs on " + s.Addr + "; its calls are shown")
	default:
		c.warn(notServing(s))
		for _, n := range s.Notices {
			c.sayHint(n.Hint)
		}
	}
}

// notServing says in a phrase why nothing is served.
func notServing(s protocol.Status) string {
	switch {
	case s.Phase == protocol.PhaseBlocked && s.Detail != "":
		return "the port of " + s.Addr + " is held by " + s.Detail
	case s.Phase == protocol.PhaseBlocked:
		return "the port of " + s.Addr + " is held by another program"
	case s.Detail != "":
		return "the server on " + s.Addr + " is " + string(s.Phase) + ": " + s.Detail
	}
	return "the server on " + s.Addr + " is " + string(s.Phase)
}

// warnNotices says what is wrong although the server answers, each with what to do.
func (c *cli) warnNotices(notices []protocol.Notice) {
	for _, n := range notices {
		c.warn(n.Text)
		c.sayHint(n.Hint)
	}
}

func (c *cli) sayHint(way string) {
	if way != "" {
		_, _ = fmt.Fprintln(c.stderr, "hint:", sentenceOf(way))
	}
}

// warnStrays tells of variables that were meant to be settings and have no effect. In the file such a slip is an error; a
// variable may be another program's.
func (c *cli) warnStrays() {
	for _, s := range settings.Strays(os.Environ()) {
		text := "the variable " + s.Name + " is no setting, and has no effect"
		if s.Nearest != "" {
			text += ": did you mean " + s.Nearest + "?"
		}
		c.warn(text)
	}
}

func (c *cli) warn(text string) { _, _ = fmt.Fprintln(c.stderr, "warning:", sentenceOf(text)) }
