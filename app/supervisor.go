package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"
	"time"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

// The rhythm of the supervisor.
const (
	retryHeldPort = 2 * time.Second // how often a held address is tried again
	firstBackoff  = 500 * time.Millisecond
	lastBackoff   = 8 * time.Second
	maxRestarts   = 5 // in restartWindow; then the phase is failed
	restartWindow = time.Minute
)

// A serveFunc serves on the listener until the context ends and the calls in flight have had their grace.
type serveFunc func(ctx context.Context, ln net.Listener) error

// A supervisor owns the HTTP server's life. All its fields are set before Run and not changed after.
type supervisor struct {
	// prepare makes a server from the settings in force; its error is one of configuration. Closing cut skips what is
	// left of the server's grace.
	prepare func(cut <-chan struct{}) (serveFunc, error)
	addr    func() string                                         // where to listen; asked at each start
	listen  func(addr string) (net.Listener, error)               // net.Listen, but for tests
	holder  func(ctx context.Context, addr string) *PortHeldError // who holds addr
	// follow reads the metrics of another companion until it is gone or ctx ends.
	follow func(ctx context.Context, addr string, onMetrics func(protocol.Metrics))
	board  board
	log    *slog.Logger
	abort  <-chan struct{} // closed: the whole program ends now
	// firstHeld makes an address that is held at the very start an error of Run: a headless start that cannot serve
	// has no menu to say so.
	firstHeld bool

	commands chan command
	ended    chan struct{} // closed when Run has returned
}

// errEnding refuses an action that comes when the end has begun.
var errEnding = hint.With(errors.New("the companion is ending"), "start it again when it has ended: chatwright-tray start")

// A command asks for an action and is answered once its outcome is known.
type command struct {
	action protocol.ServerAction
	done   chan error
}

// Do carries out an action and returns when the server has reached what was asked for, or the reason why not.
func (s *supervisor) Do(ctx context.Context, action protocol.ServerAction) error {
	c := command{action: action, done: make(chan error, 1)}
	select {
	case s.commands <- c:
	case <-s.ended: // nobody takes it any more
		return errEnding
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A phase is one state of the machine; it returns the next, or nil when the context has ended.
type phase func(context.Context, *run) (phase, error)

// run is what the machine carries from phase to phase.
type run struct {
	waiting  []command // answered by the next phase that is not a step on the way
	failures []time.Time
	begun    bool // the start is over: the server answered, or the menu says why it does not
}

func (r *run) settle(err error) {
	for _, c := range r.waiting {
		c.done <- err
	}
	r.waiting = nil
}

// Run supervises until ctx ends. It returns an error only for a start that cannot succeed: a bad configuration, or,
// with firstHeld, a held address.
func (s *supervisor) Run(ctx context.Context) error {
	r := &run{}
	defer close(s.ended)
	defer r.settle(errEnding)
	for current := phase(s.starting); current != nil; {
		next, err := current(ctx, r)
		if err != nil {
			return err
		}
		current = next
	}
	return nil
}

func (s *supervisor) starting(ctx context.Context, r *run) (phase, error) {
	if ctx.Err() != nil {
		return nil, nil
	}
	addr := s.addr()
	cut := make(chan struct{})
	serve, err := s.prepare(cut)
	if err == nil {
		var ln net.Listener
		if ln, err = s.listen(addr); err == nil {
			return s.serving(serve, ln, cut), nil
		}
		if errors.Is(err, syscall.EADDRINUSE) {
			return s.heldBy(ctx, r, addr)
		}
		err = hint.With(fmt.Errorf("listening on %s: %w", addr, err), "choose another address with --addr 127.0.0.1:PORT")
	}
	switch {
	case !r.begun && r.waiting == nil: // the very start: the caller says so and ends
		return nil, err
	case r.waiting == nil: // nobody asked just now; what made a restart fail may pass, like too many open files
		return s.afterServing(ctx, r, err), nil
	}
	return s.broken(err), nil
}

func (s *supervisor) serving(serve serveFunc, ln net.Listener, cut chan struct{}) phase {
	return func(ctx context.Context, r *run) (phase, error) {
		serveCtx, stop := context.WithCancel(ctx)
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- serve(serveCtx, ln) }()

		addr := ln.Addr().String()
		s.board.Update(func(p parts) parts { p.addr = addr; return p })
		s.board.setPhase(protocol.PhaseRunning, "")
		s.board.clear(causePort)
		r.begun = true
		r.settle(nil)

		for {
			select {
			case err := <-ended:
				return s.afterServing(ctx, r, err), nil
			case <-ctx.Done():
				s.drain(ctx, r, ended, cut)
				return nil, nil
			case c := <-s.commands:
				if c.action == protocol.ServerStart {
					c.done <- nil
					continue
				}
				r.waiting = append(r.waiting, c)
				s.board.setPhase(protocol.PhaseRunning, drainDetail(c.action))
				stop()
				s.drain(ctx, r, ended, cut)
				return s.asked(r), nil
			}
		}
	}
}

// asked is the phase that was asked for last. While a server drains more than one may be asked for.
func (s *supervisor) asked(r *run) phase {
	if r.waiting[len(r.waiting)-1].action == protocol.ServerStop {
		return s.stopped
	}
	return s.starting
}

// The details of a running server that drains.
const (
	detailStopping   = "stopping"
	detailRestarting = "restarting"
)

func drainDetail(action protocol.ServerAction) string {
	if action == protocol.ServerRestart {
		return detailRestarting
	}
	return detailStopping
}

// drain waits until the server has ended. A second stop while it drains, or the program's abort, cuts the grace; when
// ctx is over, no other action makes sense any more.
func (s *supervisor) drain(ctx context.Context, r *run, ended <-chan error, cut chan struct{}) {
	abort := s.abort
	for {
		select {
		case err := <-ended:
			if err != nil {
				s.log.Warn("server ended while it drained", "err", err)
			}
			return
		case <-abort:
			abort = nil
			closeOnce(cut)
		case c := <-s.commands:
			if ctx.Err() != nil && c.action != protocol.ServerStop {
				c.done <- errEnding
				continue
			}
			r.waiting = append(r.waiting, c)
			if c.action == protocol.ServerStop {
				closeOnce(cut)
			}
		}
	}
}

// closeOnce closes c unless it is closed. Only one goroutine may call it for a channel.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// afterServing decides what follows a server that ended by itself: another try after a pause that grows, or the phase
// failed when trying again has not helped.
func (s *supervisor) afterServing(ctx context.Context, r *run, err error) phase {
	if ctx.Err() != nil {
		return nil
	}
	if err == nil {
		err = errors.New("the server ended without a reason")
	}
	now := time.Now()
	r.failures = append(r.failures, now)
	for len(r.failures) > 0 && now.Sub(r.failures[0]) > restartWindow {
		r.failures = r.failures[1:]
	}
	s.log.Error("server does not serve", "err", err, "failures", len(r.failures))
	if len(r.failures) > maxRestarts {
		return s.broken(err)
	}
	pause := min(firstBackoff<<(len(r.failures)-1), lastBackoff)
	s.board.setPhase(protocol.PhaseStarting, "")
	return s.pausing(pause, s.starting)
}

// pausing waits, unless a command comes first, and goes on to next.
func (s *supervisor) pausing(pause time.Duration, next phase) phase {
	return func(ctx context.Context, r *run) (phase, error) {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return nil, nil
		case <-timer.C:
			return next, nil
		case c := <-s.commands:
			r.waiting = append(r.waiting, c)
			return s.asked(r), nil
		}
	}
}

// broken is the phase failed: nothing is tried until somebody asks.
func (s *supervisor) broken(cause error) phase {
	return func(ctx context.Context, r *run) (phase, error) {
		s.board.setPhase(protocol.PhaseFailed, cause.Error())
		r.settle(cause)
		r.failures = nil
		return s.waitForStart(ctx, r)
	}
}

func (s *supervisor) stopped(ctx context.Context, r *run) (phase, error) {
	s.board.setPhase(protocol.PhaseStopped, "")
	s.board.clear(causePort)
	s.log.Info("server stopped")
	r.settle(nil)
	return s.waitForStart(ctx, r)
}

func (s *supervisor) waitForStart(ctx context.Context, r *run) (phase, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, nil
		case c := <-s.commands:
			if c.action == protocol.ServerStop {
				c.done <- nil
				continue
			}
			r.waiting = append(r.waiting, c)
			return s.starting, nil
		}
	}
}
