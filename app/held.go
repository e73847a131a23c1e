package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

// causePort is the cause of the notice that the address is taken.
const causePort = "port"

// PortHeldError says that the address is taken.
type PortHeldError struct {
	Addr   string
	Holder string // "nginx (pid 812)", or "" when the system does not tell
	Ours   bool   // another chatwright-server answers there
}

func (e *PortHeldError) Error() string {
	switch {
	case e.Ours:
		return "another Chatwright server is running on " + e.Addr
	case e.Holder != "":
		return fmt.Sprintf("listening on %s: the port is held by %s", e.Addr, e.Holder)
	}
	return fmt.Sprintf("listening on %s: the port is held by another program", e.Addr)
}

// errNotOurs refuses to stop a server that this program does not own.
var errNotOurs = errors.New("the server on this address belongs to another program")

// heldBy finds out who holds the address, and so which phase it is.
func (s *supervisor) heldBy(ctx context.Context, r *run, addr string) (phase, error) {
	held := s.holder(ctx, addr)
	if ctx.Err() != nil {
		return nil, nil
	}
	if s.firstHeld && !r.begun {
		way := "stop that program, or choose another port with --addr 127.0.0.1:PORT"
		if held.Ours {
			way = "use the one that runs, or end it first: chatwright-tray stop"
		}
		return nil, hint.With(held, way)
	}
	if held.Ours {
		return s.external(held), nil
	}
	return s.blocked(held), nil
}

// blocked is the phase in which a program that is not ours holds the address; it is tried again for as long as that
// lasts.
func (s *supervisor) blocked(held *PortHeldError) phase {
	return func(_ context.Context, r *run) (phase, error) {
		r.begun = true
		s.board.setPhase(protocol.PhaseBlocked, held.Holder)
		s.board.notify(protocol.Notice{Cause: causePort, Text: "The port is taken", // the status row says by whom
			Hint: "Stop that program, or set another address (addr) in tray.toml.", Since: time.Now()})
		r.settle(hint.With(held, "stop that program, or set another address (addr) in tray.toml"))
		return s.pausing(retryHeldPort, s.starting), nil
	}
}

// external is the phase in which another companion holds the address. Its metrics are shown; stopping it is not ours
// to do. When it is gone the address is tried again.
func (s *supervisor) external(held *PortHeldError) phase {
	return func(ctx context.Context, r *run) (phase, error) {
		r.begun = true
		s.board.setPhase(protocol.PhaseExternal, "")
		s.board.clear(causePort)
		r.settle(held)
		followCtx, stop := context.WithCancel(ctx)
		defer stop()
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			s.follow(followCtx, held.Addr, func(m protocol.Metrics) {
				s.board.Update(func(p parts) parts { p.external = &m; return p })
			})
		}()
		defer func() { stop(); <-gone }()
		for {
			select {
			case <-ctx.Done():
				return nil, nil
			case <-gone:
				return s.starting, nil
			case c := <-s.commands:
				if c.action != protocol.ServerStart {
					c.done <- errNotOurs
					continue
				}
				r.waiting = append(r.waiting, c)
				return s.starting, nil
			}
		}
	}
}
