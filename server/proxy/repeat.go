package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"
)

// repeater sends one call. It sends the call a second time when the first went into a connection that the
// upstream was just closing: one that had been used before, with not a byte of an answer. net/http does that by itself
// only for methods without effect, and then as often as it finds stale connections.
type repeater struct {
	next http.RoundTripper
	body *requestBody // nil: the call has none

	mu       sync.Mutex
	began    time.Time // the call was ready to go up
	reused   bool
	wrote    time.Time // the request is out: waiting begins
	answered time.Time // the first byte of an answer came; zero: none did
	waited   time.Duration
}

// send sends the call, which watch has seen to.
func (t *repeater) send(r *http.Request) (*http.Response, error) {
	answer, err := t.sendTwice(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.answered.IsZero() { // there was none, or it is the demo's, which has no connection
		t.answered = time.Now()
		t.waited += t.answered.Sub(later(t.began, t.wrote))
	}
	return answer, err
}

// sendTwice sends the call, the second time if need be.
func (t *repeater) sendTwice(r *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(r)
	if err != nil && t.stale(r.Context(), err) {
		// The other idle connections are as old as this one was.
		if pool, ok := t.next.(interface{ CloseIdleConnections() }); ok {
			pool.CloseIdleConnections()
		}
		again := *r
		if t.body != nil && len(t.body.head) > 0 {
			again.Body = io.NopCloser(bytes.NewReader(t.body.kept()))
		}
		answer, err = t.next.RoundTrip(&again)
	}
	return answer, err
}

// startAgain forgets an answer that is not passed on. All the time it took was waiting.
func (t *repeater) startAgain() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.waited += now.Sub(t.answered)
	t.began, t.wrote, t.answered = now, time.Time{}, time.Time{}
}

// stale says whether the call may be sent once more.
func (t *repeater) stale(ctx context.Context, err error) bool {
	if t.body != nil && (!t.body.whole || len(t.body.head) > keepBody || t.body.failure() != nil) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.reused || !t.answered.IsZero() || ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	now := time.Now()
	t.waited += now.Sub(later(t.began, t.wrote))
	t.began = now
	return true
}

// watch makes the transport tell what stale and the time spent waiting need to know. It tells that from goroutines of
// its own.
func (t *repeater) watch(r *http.Request) *http.Request {
	// ReverseProxy has made a trace for this very call. Adding to it spares a copy of the request and a composition by
	// reflection, a fifth of what the proxy itself costs.
	trace := httptrace.ContextClientTrace(r.Context())
	if trace == nil || trace.GotConn != nil || trace.GotFirstResponseByte != nil || trace.WroteRequest != nil || trace.WroteHeaders != nil {
		trace = &httptrace.ClientTrace{}
		r = r.WithContext(httptrace.WithClientTrace(r.Context(), trace))
	}
	trace.GotConn = t.gotConn
	trace.GotFirstResponseByte = t.gotByte
	if t.body == nil || t.body.whole {
		trace.WroteRequest = func(httptrace.WroteRequestInfo) { t.wroteAll() }
	} else {
		// The rest of a large body comes from the caller as the upstream takes it: that is waiting for both.
		trace.WroteHeaders = t.wroteAll
	}
	return r
}

func (t *repeater) gotConn(info httptrace.GotConnInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reused = info.Reused
	if !info.Reused {
		now := time.Now()
		t.waited += now.Sub(t.began)
		t.began = now
	}
}

func (t *repeater) wroteAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.answered.IsZero() {
		t.wrote = time.Now()
	}
}

func (t *repeater) gotByte() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.answered.IsZero() {
		return
	}
	t.answered = time.Now()
	if !t.wrote.IsZero() {
		t.waited += t.answered.Sub(t.wrote)
	}
}

// times are when the first byte of an answer came, and how long was waited until then.
func (t *repeater) times() (answered time.Time, waited time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.answered, t.waited
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
