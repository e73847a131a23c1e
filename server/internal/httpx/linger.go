package httpx

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// How long the rest of a body is thrown away once its request is answered: until nothing came for lingerPause, and never
// longer than lingerMost. The first is what a caller costs who waits for the answer before they send on.
const (
	lingerPause = 500 * time.Millisecond
	lingerMost  = 10 * time.Second
)

// Lingering returns a handler that answers as next does, at once and so that the answer arrives, whether or not the
// body of the request was read. net/http by itself does neither: before an answer it waits for what is left of a short
// body, without a bound, and on a long one it closes the connection. Closing on unread bytes resets it, and a caller
// who is still sending then sees a broken connection and no answer that says why.
func Lingering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, already := r.Body.(*lingeringBody); already || r.ContentLength == 0 {
			next.ServeHTTP(w, r)
			return
		}
		answer, r := newLingering(w, r)
		next.ServeHTTP(answer, r)
		answer.end()
	})
}

func newLingering(w http.ResponseWriter, r *http.Request) (*lingeringWriter, *http.Request) {
	// What is proxied needs this too: an upstream may answer before it has taken the whole body. net/http would read
	// the rest itself while the transport does, and one of them would find the connection closed.
	_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 and recorders need no leave
	answer := &lingeringWriter{ResponseWriter: w, body: lingeringBody{from: r.Body}}
	r = r.WithContext(r.Context()) // a copy: net/http looks at the body of its own request again
	r.Body = &answer.body
	return answer, r
}

// lingeringWriter ends the connection with an answer that begins before the body has ended. With full duplex net/http
// would take what is left of the body for the next request.
type lingeringWriter struct {
	http.ResponseWriter
	body  lingeringBody
	begun bool
}

// Unwrap lets http.ResponseController reach the writer below.
func (w *lingeringWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// end is called when the handler has returned.
func (w *lingeringWriter) end() {
	w.begin()
	if !w.body.ended.Load() {
		w.body.linger(http.NewResponseController(w.ResponseWriter))
	}
}

func (w *lingeringWriter) begin() {
	if !w.begun && !w.body.ended.Load() {
		w.Header().Set("Connection", "close")
	}
	w.begun = true
}

func (w *lingeringWriter) WriteHeader(status int) {
	if status >= http.StatusOK { // what comes before an answer does not count
		w.begin()
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *lingeringWriter) Write(p []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(p)
}

// FlushError sends the header, as a Flush does.
func (w *lingeringWriter) FlushError() error {
	w.begin()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// lingeringBody is a request body that knows whether it has ended. Its Close does nothing, so that what the handler left
// can still be read; net/http closes the body when the handler has returned.
type lingeringBody struct {
	from  io.ReadCloser
	ended atomic.Bool // as it should; a broken body has no end
}

func (b *lingeringBody) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if errors.Is(err, io.EOF) {
		b.ended.Store(true)
	}
	return n, err
}

func (b *lingeringBody) Close() error { return nil }

// linger sends the answer and takes what the caller is still sending. A caller who asked first whether to send may do it
// without having had leave, so theirs is taken too.
func (b *lingeringBody) linger(control *http.ResponseController) {
	if control.Flush() != nil {
		return
	}
	buf := make([]byte, 32<<10)
	for began := time.Now(); time.Since(began) < lingerMost; {
		// A writer without deadlines (a test's recorder) has no connection that could be reset.
		if control.SetReadDeadline(time.Now().Add(lingerPause)) != nil {
			return
		}
		if _, err := b.Read(buf); err != nil {
			return // also at its end; whatever it is: it has been answered
		}
	}
}
