package httpx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// InProcess returns a transport that answers requests by calling handler, as if it listened somewhere: the answer
// streams, a caller who goes away cancels the handler's context, and a handler that panics breaks the answer off. There
// is no listener and no life cycle; the one goroutine of a call ends with its handler, and a caller who has closed the
// body of an answer, or got none, knows that it has.
func InProcess(handler http.Handler) http.RoundTripper { return inProcess{handler} }

type inProcess struct{ handler http.Handler }

func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	in := r.Clone(ctx)
	if in.Body == nil {
		in.Body = http.NoBody
	}
	in.RequestURI = r.URL.RequestURI()
	reader, writer := io.Pipe()
	w := &pipeWriter{header: http.Header{}, body: writer, started: make(chan struct{})}
	ended := make(chan struct{})
	go func() { defer close(ended); t.serve(w, in) }()

	select {
	case <-w.started:
	case <-r.Context().Done():
		cancel(r.Context().Err())
		reader.CloseWithError(r.Context().Err())
		<-ended
		return nil, r.Context().Err()
	}
	if w.failed != nil {
		cancel(w.failed)
		<-ended
		return nil, w.failed
	}
	body := &pipeBody{reader: reader, cancel: cancel, ended: ended}
	body.stop = context.AfterFunc(r.Context(), func() { reader.CloseWithError(context.Cause(r.Context())) })
	length, err := strconv.ParseInt(w.sent.Get("Content-Length"), 10, 64)
	if err != nil {
		length = -1
	}
	return &http.Response{
		Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status), StatusCode: w.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: body, ContentLength: length, Request: r,
	}, nil
}

var errBrokenOff = errors.New("the answer was broken off")

// serve runs the handler and ends the answer as the handler ended: cleanly, or broken off by a panic, which is how a
// handler aborts (http.ErrAbortHandler). As in net/http any other panic costs one call and not the process.
func (t inProcess) serve(w *pipeWriter, r *http.Request) {
	defer r.Body.Close() // a RoundTripper closes the body, whatever happened
	defer func() {
		switch cause := recover(); cause {
		case nil:
			w.WriteHeader(http.StatusOK) // a handler that wrote nothing means an empty 200
			_ = w.body.Close()
		case http.ErrAbortHandler:
			w.fail(errBrokenOff)
		default:
			w.fail(fmt.Errorf("%w: %v", errBrokenOff, cause))
		}
	}()
	t.handler.ServeHTTP(w, r)
}

// pipeWriter is the handler's side of an answer.
type pipeWriter struct {
	header  http.Header
	body    *io.PipeWriter
	once    sync.Once
	started chan struct{} // closed when status, sent and failed hold
	status  int
	sent    http.Header
	failed  error
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	if status < 200 {
		return
	}
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.started)
	})
}

func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// Flush sends the header; what is written needs no flush, since the reader takes it directly.
func (w *pipeWriter) Flush() { w.WriteHeader(http.StatusOK) }

func (w *pipeWriter) fail(err error) {
	w.once.Do(func() {
		w.failed = err
		close(w.started)
	})
	w.body.CloseWithError(err)
}

// pipeBody is the caller's side; closing it cancels the handler and waits for it.
type pipeBody struct {
	reader *io.PipeReader
	cancel context.CancelCauseFunc
	stop   func() bool
	ended  <-chan struct{}
}

func (b *pipeBody) Read(p []byte) (int, error) { return b.reader.Read(p) }

func (b *pipeBody) Close() error {
	b.stop()
	b.cancel(context.Canceled)
	err := b.reader.Close() // what the handler still writes fails now
	<-b.ended
	return err
}
