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

// repeater is the transport of one call. It sends the call a second time when the first went into a connection that the
// upstream was just closing: one that had been used before, with not a byte of an answer. net/http does that by itself
// only for methods without effect, and then as often as it finds stale connections.
type repeater struct {
	next http.RoundTripper
	body *requestBody // nil: the call has none

	mu       sync.Mutex
	asked    time.Time // a connection was asked for
	reused   bool
	answered bool      // a byte of an answer came
	wrote    time.Time // the request is out; what follows is waiting
	waited   time.Duration
}

// RoundTrip sends the call.
func (t *repeater) RoundTrip(r *http.Request) (*http.Response, error) {
	start := time.Now()
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), t.trace()))
	answer, err := t.next.RoundTrip(r)
	if err != nil && t.stale(r.Context(), err) {
		// The other idle connections are as old as this one was.
		if pool, ok := t.next.(interface{ CloseIdleConnections() }); ok {
			pool.CloseIdleConnections()
		}
		again := *r
		if t.body != nil && len(t.body.head) > 0 {
			again.Body = io.NopCloser(bytes.NewReader(t.body.head))
		}
		answer, err = t.next.RoundTrip(&again)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.asked.IsZero(): // no connection: the demo model, which is in this process
		t.waited = time.Since(start)
	case !t.wrote.IsZero(): // and no answer
		t.waited += time.Since(t.wrote)
	}
	return answer, err
}

// stale says whether the call may be sent once more.
func (t *repeater) stale(ctx context.Context, err error) bool {
	if t.body != nil && (!t.body.whole || len(t.body.head) > keepBody || t.body.failure() != nil) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reused && !t.answered && ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded)
}

// trace watches one call for what stale and the time spent waiting need to know. Its functions are called from the
// transport's goroutines.
func (t *repeater) trace() *httptrace.ClientTrace {
	trace := &httptrace.ClientTrace{
		GetConn: func(string) {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.asked, t.wrote = time.Now(), time.Time{}
		},
		GotConn: func(info httptrace.GotConnInfo) {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.reused = info.Reused
			if !info.Reused {
				t.waited += time.Since(t.asked)
			}
		},
		GotFirstResponseByte: func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.answered = true
			if !t.wrote.IsZero() {
				t.waited += time.Since(t.wrote)
				t.wrote = time.Time{}
			}
		},
	}
	out := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if !t.answered {
			t.wrote = time.Now()
		}
	}
	if t.body == nil || t.body.whole {
		trace.WroteRequest = func(httptrace.WroteRequestInfo) { out() }
	} else {
		// The rest of a large body comes from the caller as the upstream takes it: that is waiting for both.
		trace.WroteHeaders = out
	}
	return trace
}

func (t *repeater) waitedFor() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waited
}
