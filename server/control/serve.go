package control

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Serve answers until ctx ends, then stops in this order: no new connection is taken and the socket file goes; event
// streams end; requests in flight finish within the grace; what is left is cut off. It returns when all that it
// started has ended, nil for a clean end. Without a Listen before it, it listens itself.
func (s *Server) Serve(ctx context.Context) error {
	ln, err := s.takeListener()
	if err != nil {
		return err
	}
	srv := &http.Server{
		Handler:           http.HandlerFunc(s.track),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
		ConnState:         s.noteState,
		ErrorLog:          s.errorLog(),
	}
	served := make(chan struct{})
	var broken error
	go func() {
		defer close(served)
		broken = srv.Serve(ln)
	}()
	select {
	case <-served: // the listener broke; what is in flight still gets its end
		err = fmt.Errorf("serving the control socket: %w", broken)
	case <-ctx.Done():
	}
	s.stop(context.WithoutCancel(ctx), srv)
	<-served
	return err
}

func (s *Server) takeListener() (net.Listener, error) {
	s.mu.Lock()
	ln := s.listener
	s.mu.Unlock()
	if ln != nil {
		return ln, nil
	}
	if err := s.Listen(); err != nil {
		return nil, err
	}
	return s.takeListener()
}

func (s *Server) stop(ctx context.Context, srv *http.Server) {
	grace, cancel := context.WithTimeout(ctx, s.cfg.Grace)
	defer cancel()

	// Shutdown would wait for a connection that never asked for anything.
	close(s.stopping)
	s.closeFresh()
	if err := srv.Shutdown(grace); err != nil {
		s.cfg.Log("requests were cut off at the end of the grace")
		close(s.cut)
		_ = srv.Close()
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.inFlight.Wait()
}

// noteState keeps the connections that have not sent a byte.
func (s *Server) noteState(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state != http.StateNew {
		delete(s.fresh, conn)
		return
	}
	select {
	case <-s.stopping: // accepted a moment before the listener closed
		_ = conn.Close()
	default:
		s.fresh[conn] = struct{}{}
	}
}

func (s *Server) closeFresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.fresh {
		_ = conn.Close()
	}
}

// track counts the requests in flight, so that Serve can wait for handlers whose connection it cut.
func (s *Server) track(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		panic(http.ErrAbortHandler) // returning would answer 200
	}
	s.inFlight.Add(1)
	s.mu.Unlock()
	defer s.inFlight.Done()
	s.serveHTTP(w, r)
}

// untilCut returns a context that outlives the caller's connection and ends when the grace of the shutdown is over.
func (s *Server) untilCut(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	go func() {
		select {
		case <-s.cut:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
