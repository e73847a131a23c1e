package servertest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Provider is a scripted model server on a private port. Each scenario has a base URL of its own, so that a test
// chooses one by the upstream that it gives the companion. It ends with the test.
type Provider struct {
	t         testing.TB
	server    *httptest.Server
	scenarios map[string]Scenario
	ended     chan struct{}

	mu    sync.Mutex
	seen  []Request
	woken chan struct{} // closed and replaced when seen grows
}

// Scenario says how the provider answers every request of one base URL.
type Scenario struct {
	Status int         // 0: 200
	Header http.Header // Content-Type is application/json, or text/event-stream with Pieces, where it is not set
	Body   string      // written whole, before Pieces
	Pieces []string    // written and flushed one by one
	// Before is received from before anything is answered, headers too. Nil: the answer begins at once.
	Before <-chan struct{}
	// Next is received from before each piece but the first. Nil: they follow at once.
	Next <-chan struct{}
	End  End
	// Models is what a list of models is answered with, at once. Empty: it is answered as everything else.
	Models string
}

// End says how an answer ends.
type End int

// The ends of an answer.
const (
	// EndWhole is the end that HTTP has for a whole answer.
	EndWhole End = iota
	// EndReset resets the connection.
	EndReset
	// EndCut closes the connection in the middle of the answer.
	EndCut
	// EndStall keeps the connection open in silence until the caller leaves or the test ends.
	EndStall
)

// Request is one request that the provider got.
type Request struct {
	Scenario string
	From     string // the caller's address: requests on one connection share it
	Method   string
	Path     string // without the scenario: "/v1/models"
	Query    string
	Header   http.Header
	Body     string
	left     <-chan struct{}
}

// Authorization is the header of that name.
func (r Request) Authorization() string { return r.Header.Get("Authorization") }

// Left is closed when the caller is no longer there for the answer, or has got it.
func (r Request) Left() <-chan struct{} { return r.left }

// NewProvider starts a provider with these scenarios by name.
func NewProvider(t testing.TB, scenarios map[string]Scenario) *Provider {
	t.Helper()
	p := &Provider{t: t, scenarios: scenarios, ended: make(chan struct{}), woken: make(chan struct{})}
	p.server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(func() {
		close(p.ended) // before Close, which waits for the handlers
		p.server.CloseClientConnections()
		p.server.Close()
	})
	return p
}

// BaseURL is what to give the companion as its upstream.
func (p *Provider) BaseURL(scenario string) string {
	p.t.Helper()
	if _, ok := p.scenarios[scenario]; !ok {
		p.t.Fatalf("the provider has no scenario %q", scenario)
	}
	return p.server.URL + "/" + scenario + "/v1"
}

// Requests returns what came so far, in that order.
func (p *Provider) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Request(nil), p.seen...)
}

// Await returns the n-th request, from 1, as soon as it has come with its whole body.
func (p *Provider) Await(n int) Request {
	p.t.Helper()
	timeout := time.After(10 * time.Second)
	for {
		p.mu.Lock()
		seen, woken := p.seen, p.woken
		p.mu.Unlock()
		if len(seen) >= n {
			return seen[n-1]
		}
		select {
		case <-woken:
		case <-timeout:
			p.t.Fatalf("the provider got %d requests, want %d", len(seen), n)
		}
	}
}

func (p *Provider) serve(w http.ResponseWriter, r *http.Request) {
	name, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	scenario, ok := p.scenarios[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller left before it had said all
	}
	ctx, done := context.WithCancel(r.Context())
	defer done()
	p.mu.Lock()
	p.seen = append(p.seen, Request{
		Scenario: name, From: r.RemoteAddr, Method: r.Method, Path: "/" + path, Query: r.URL.RawQuery,
		Header: r.Header.Clone(), Body: string(body), left: ctx.Done(),
	})
	close(p.woken)
	p.woken = make(chan struct{})
	p.mu.Unlock()
	if r.Method == http.MethodGet && scenario.Models != "" {
		scenario = Scenario{Body: scenario.Models}
	}
	if scenario.Before != nil && !p.wait(ctx, scenario.Before) {
		return
	}
	p.answer(ctx, w, scenario)
}

// wait reports whether c came before the caller left and the test ended.
func (p *Provider) wait(ctx context.Context, c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	case <-ctx.Done():
	case <-p.ended:
	}
	return false
}

func (p *Provider) answer(ctx context.Context, w http.ResponseWriter, s Scenario) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if len(s.Pieces) > 0 {
		h.Set("Content-Type", "text/event-stream")
	}
	for name, values := range s.Header {
		h[name] = values
	}
	if s.Status != 0 {
		w.WriteHeader(s.Status)
	}
	ctl := http.NewResponseController(w)
	if _, err := io.WriteString(w, s.Body); err != nil {
		return
	}
	for i, piece := range s.Pieces {
		if i > 0 && s.Next != nil && !p.wait(ctx, s.Next) {
			return
		}
		if _, err := io.WriteString(w, piece); err != nil || ctl.Flush() != nil {
			return
		}
	}
	if s.End == EndWhole {
		return
	}
	if ctl.Flush() != nil {
		return
	}
	switch s.End {
	case EndStall:
		p.wait(ctx, nil)
	case EndReset:
		p.reset(ctl)
	}
	panic(http.ErrAbortHandler)
}

func (p *Provider) reset(ctl *http.ResponseController) {
	conn, _, err := ctl.Hijack()
	if err != nil {
		p.t.Errorf("the provider cannot reset: %v", err)
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		err = tcp.SetLinger(0)
	}
	if err = errors.Join(err, conn.Close()); err != nil {
		p.t.Errorf("the provider cannot reset: %v", err)
	}
}
