package servertest

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"

	"chatwright.dev/tray/server"
)

// Running is a companion that serves on a private port of loopback. It ends with the test, at once.
type Running struct {
	Server *server.Server
	Addr   string // host:port
	URL    string // http://host:port
	Client *http.Client

	t    testing.TB
	stop context.CancelFunc
	wait func() error
}

// Start makes a companion of cfg and serves it. An empty Version becomes "test".
func Start(t testing.TB, cfg server.Config) *Running {
	t.Helper()
	if cfg.Version == "" {
		cfg.Version = "test"
	}
	var abort chan struct{}
	if cfg.Abort == nil {
		abort = make(chan struct{})
		cfg.Abort = abort
	}
	s, err := server.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()

	transport := &http.Transport{}
	r := &Running{
		Server: s,
		Addr:   ln.Addr().String(),
		URL:    "http://" + ln.Addr().String(),
		Client: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		t:    t,
		stop: stop,
		wait: sync.OnceValue(func() error { return <-done }),
	}
	t.Cleanup(func() {
		if abort != nil {
			close(abort)
		}
		stop()
		if err := r.wait(); err != nil {
			t.Errorf("serving ended with: %v", err)
		}
		transport.CloseIdleConnections()
	})
	return r
}

// End ends the context that Serve was given, and does not wait.
func (r *Running) End() { r.stop() }

// Wait returns what Serve returned, once it has.
func (r *Running) Wait() error { return r.wait() }
