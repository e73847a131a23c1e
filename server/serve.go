package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"chatwright.dev/tray/server/studio"
)

// The bounds of the listener. There is no WriteTimeout: a stream may be silent for as long as a model thinks.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 120 * time.Second
	maxHeaderBytes    = 64 << 10
)

// Serve answers on ln until ctx ends and everything that it started has ended; it closes ln. Event streams of our own
// end with ctx. Calls that are proxied get the grace; those still going after it are cut off, so that no client takes
// half an answer for a whole one. Nil means that it ended because ctx did.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	if err := s.checkListener(ln.Addr()); err != nil {
		_ = ln.Close() // it never served
		return err
	}
	if dir := s.ui.ownFolder(); dir != "" { // it may be a copy that ResolveOfflineUI named
		defer studio.Use(dir)()
	}
	// Requests outlive ctx by the grace; what must end with ctx itself asks for stopping.
	calls, cut := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), stoppingKey{}, ctx.Done()))
	defer cut()
	open := newConns()
	hs := s.httpServer(calls, open)
	served := make(chan error, 1)
	go func() { served <- hs.Serve(ln) }()
	s.log.Info("listening", "addr", ln.Addr().String())

	var err error
	select {
	case <-ctx.Done():
		s.drain(hs, open)
		err = <-served
	case err = <-served:
		open.end()
		_ = hs.Close() // the listener broke: there is nothing more to say than that
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	} else {
		err = fmt.Errorf("serving on %s: %w", ln.Addr(), err)
	}
	cut()
	if !open.wait() {
		s.log.Error("handlers still run though their connections have ended", "connections", open.count())
	}
	s.log.Info("stopped listening", "addr", ln.Addr().String())
	return err
}

func (s *Server) httpServer(base context.Context, open *conns) *http.Server {
	return &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		// net/http answers "OPTIONS *" itself otherwise, past the guard.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		BaseContext:                  func(net.Listener) context.Context { return base },
		ConnState:                    open.track,
	}
}

// drain ends what is on hs: at once what waits for nothing, at the end of the grace the rest.
func (s *Server) drain(hs *http.Server, open *conns) {
	grace, end := context.WithTimeout(context.Background(), s.grace)
	defer end()
	go func() {
		select {
		case <-s.abort:
			end()
		case <-grace.Done():
		}
	}()
	open.end()
	if err := hs.Shutdown(grace); err != nil {
		s.log.Warn("calls in flight were cut off", "connections", open.count())
		// The connections before the contexts: a handler that sees its context end may still tidy up its answer, and
		// nothing of that may reach the client as a clean end.
		_ = hs.Close()
	}
}

type stoppingKey struct{}

// stopping returns a channel that is closed when the Serve that r came through begins to end; nil outside Serve.
func stopping(r *http.Request) <-chan struct{} {
	done, _ := r.Context().Value(stoppingKey{}).(<-chan struct{})
	return done
}

// conns knows the connections of one http.Server. Shutdown gives one that has not sent its first request 5 s, and
// browsers open such connections ahead of need: conns ends these at once. And Close does not wait for the handlers of
// the connections it closes, but Serve must.
type conns struct {
	mu     sync.Mutex
	n      int
	fresh  map[net.Conn]bool // without a request so far
	ending bool
	none   chan struct{} // set by wait, closed when n is 0
}

func newConns() *conns {
	return &conns{fresh: map[net.Conn]bool{}}
}

func (c *conns) track(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.n++
		c.fresh[conn] = true
		if c.ending {
			_ = conn.Close() // it reached the listener in its last moment
		}
	case http.StateActive:
		delete(c.fresh, conn)
	case http.StateClosed, http.StateHijacked:
		delete(c.fresh, conn)
		c.n--
		if c.none != nil && c.n == 0 {
			close(c.none)
			c.none = nil
		}
	}
}

// end closes the connections on which nothing was asked yet, now and from now on.
func (c *conns) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = true
	for conn := range c.fresh {
		_ = conn.Close()
	}
}

func (c *conns) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// maxUnwind is how long handlers may take to notice that their connection and their context have ended.
const maxUnwind = 5 * time.Second

// wait returns when every connection has ended, handler and all, and reports whether they have. It is called once, when
// the listener is closed.
func (c *conns) wait() bool {
	none := make(chan struct{})
	c.mu.Lock()
	if c.n == 0 {
		close(none)
	} else {
		c.none = none
	}
	c.mu.Unlock()
	select {
	case <-none:
		return true
	case <-time.After(maxUnwind):
		return false
	}
}
