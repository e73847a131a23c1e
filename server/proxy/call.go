package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/proxy/internal/meter"
	"chatwright.dev/tray/server/upstream"
)

// call is one call on its way: the ResponseWriter that ReverseProxy writes to, and what is known for the record. All
// but the body and the repeater belong to the handler's goroutine.
type call struct {
	proxy   *Proxy
	w       http.ResponseWriter
	control *http.ResponseController // of w
	in      *http.Request
	path    string // below the upstream's base URL
	target  *upstream.Target
	id      string
	start   time.Time

	request *meter.Request // nil: the call is not recorded
	body    requestBody
	repeat  repeater
	refused bool // the upstream did not take the call with what askForUsage had added
	keyed   bool // the key of the target went up with it

	own      []header // set before the call came to us
	ownRoom  [8]header
	informed bool // an informational answer has passed

	status   int  // of the upstream's answer; 0: there was none
	streamed bool // the caller asked for a stream, or gets one
	events   bool // the answer is one
	timedOut atomic.Bool
	length   int64
	meter    *meter.Meter

	answerBody answerBody

	timer   *time.Timer // of the timeout, if there is one
	release func()      // ends it
	whole   bool        // the answer was not broken off
	readErr error       // reading the answer ended with it, not with its end

	sent     int // the status that the caller got; 0: none
	bytesOut int64
	writeErr error
	failure  *failure // why there is no answer of the upstream to pass on
	work     stopwatch
}

func (p *Proxy) newCall(w http.ResponseWriter, r *http.Request, path string, target *upstream.Target) *call {
	now := time.Now()
	c := &call{
		proxy: p, w: w, control: http.NewResponseController(w), in: r, path: path, target: target, id: p.ids.next(now), start: now, length: -1,
	}
	c.keepOwn()
	return c
}

// pass sends the call up and its answer down. A timeout bounds it unless it turns out to be a stream.
//
// The functions that are on the stack for as long as a stream is open are kept small, this one among them: net/http needs
// most of 8 KiB to write a header, and a stack that has grown to 16 KiB stays so.
func (c *call) pass(timeout time.Duration) {
	if local, ok := c.in.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && c.target.LeadsTo(local) {
		c.fail(errLoop) // each call would make the next, until there are no descriptors left
		return
	}
	reverse, up := c.prepare(timeout)
	defer c.passed()
	reverse.ServeHTTP(c, up)
	if c.readErr != nil && c.failure == nil {
		panic(http.ErrAbortHandler) // ReverseProxy does so itself only below a server of net/http
	}
	c.whole = true
}

// passed is the end of pass, also when it is broken off, which is a panic.
func (c *call) passed() {
	if c.release != nil {
		c.release()
	}
	if !c.whole {
		c.reset()
	}
}

func (c *call) prepare(timeout time.Duration) (*httputil.ReverseProxy, *http.Request) {
	c.repeat.next, c.repeat.began = c.target.Transport, c.start
	var transport http.RoundTripper = c
	if through := c.proxy.cfg.Through; through != nil {
		transport = through(c.target, transport)
	}
	if c.request != nil {
		c.streamed = c.body.streamed()
		c.repeat.body, c.repeat.began = &c.body, c.body.read
		if tap := c.proxy.cfg.Tap; tap != nil {
			transport = tap(c.id, c.target, transport)
		}
	}
	up := c.in
	if timeout > 0 && !c.streamed {
		up = c.in.WithContext(c.bound(timeout))
	}
	return &httputil.ReverseProxy{
		Rewrite:        c.rewrite,
		Transport:      transport,
		ModifyResponse: c.begun,
		ErrorHandler:   func(_ http.ResponseWriter, _ *http.Request, err error) { c.fail(err) },
		BufferPool:     &c.answerBody,
		ErrorLog:       c.proxy.silent,
	}, up
}

// bound returns a context that ends with the timeout.
func (c *call) bound(timeout time.Duration) context.Context {
	ctx, cancel := context.WithCancel(c.in.Context())
	c.timer = time.AfterFunc(timeout, func() {
		// "stream" may stand at the end of a body that takes a while to go up.
		if c.request == nil || !c.body.streamed() {
			c.timedOut.Store(true)
			cancel()
		}
	})
	c.release = func() {
		c.timer.Stop()
		cancel()
	}
	return ctx
}

// RoundTrip sends the call up, and makes of the answer what the caller gets. Whoever listens stands before it, and so hears
// the call as the caller does.
func (c *call) RoundTrip(r *http.Request) (*http.Response, error) {
	r = c.repeat.watch(r)
	up := r
	if c.body.asks != nil {
		var err error
		if up, err = c.asking(r); err != nil {
			return nil, err
		}
	}
	answer, err := c.repeat.send(up)
	if err == nil && c.body.asks != nil {
		if plain := c.unask(r, answer); plain != nil {
			c.repeat.startAgain()
			answer, err = c.repeat.send(plain)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := c.answer(answer); err != nil {
		_ = answer.Body.Close()
		return nil, err
	}
	return answer, nil
}

// begun waits for the first bytes of an answer that is not a stream.
func (c *call) begun(*http.Response) error {
	if c.streamed {
		return nil
	}
	return c.answerBody.peek()
}

// answer looks at the header of an answer, and sees to it that its body is read on the way.
func (c *call) answer(answer *http.Response) error {
	c.status = answer.StatusCode
	c.beginAnswer()
	c.learn(answer)
	switch {
	case c.status == http.StatusSwitchingProtocols:
		return errSwitched
	case c.status < http.StatusContinue:
		return errNoStatus
	}
	if c.keyed {
		if err := unpack(answer); err != nil {
			return err
		}
		maskKey(answer, c.target.APIKey)
	}
	c.cleanAnswer(answer.Header)
	dropUpstreamOnly(answer.Trailer) // what it announces
	if c.request != nil {
		// In the body of a large request "stream" may have come late.
		c.streamed = c.body.streamed()
	}
	format := formatOf(answer)
	c.events = format != meter.JSON
	if format == meter.EventStream {
		if answer.Header.Get("X-Accel-Buffering") == "" {
			answer.Header.Set("X-Accel-Buffering", "no")
		}
		if answer.Header.Get("Cache-Control") == "" {
			answer.Header.Set("Cache-Control", "no-cache, no-transform")
		}
	} else {
		c.length = answer.ContentLength
	}
	if c.events && c.timer != nil {
		c.timer.Stop()
	}
	c.streamed = c.streamed || c.events
	if c.request != nil {
		c.meter = c.proxy.reader.Answer(format, answer.Header.Get("Content-Encoding"))
	}
	c.answerBody = answerBody{call: c, answer: answer, from: answer.Body}
	answer.Body = &c.answerBody
	if c.body.asks != nil && !c.proxy.cfg.KeepUsage {
		withoutUsage(answer, format)
	}
	return nil
}

func formatOf(answer *http.Response) meter.Format {
	// Parameters do not matter, nor whether they are well formed.
	media, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	switch strings.ToLower(strings.TrimSpace(media)) {
	case "text/event-stream":
		return meter.EventStream
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/jsonlines":
		return meter.JSONLines
	default:
		return meter.JSON // if it is anything that can be read
	}
}

// answerBody is the body of an answer on its way: ReverseProxy reads it, and the meter sees what was read.
type answerBody struct {
	call   *call
	answer *http.Response
	from   io.ReadCloser

	buffer []byte // borrowed
	head   []byte // what peek has read and Read has not handed on
	err    error  // what came behind it
}

// peek reads the first bytes of an answer that is not a stream. Nothing has been sent until then, so an upstream that
// breaks off can still be answered for with an error.
func (b *answerBody) peek() error {
	buffer := b.Get()
	var n int
	for n == 0 && b.err == nil {
		n, b.err = b.read(buffer)
	}
	b.head = buffer[:n]
	if n == 0 && !errors.Is(b.err, io.EOF) {
		return b.err
	}
	return nil
}

func (b *answerBody) Read(p []byte) (int, error) {
	if len(b.head) > 0 {
		n := copy(p, b.head)
		b.head = b.head[n:]
		if len(b.head) > 0 {
			return n, nil
		}
		return n, b.err
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.read(p)
}

// read reads from the upstream, and lets the meter see it. What happens between two reads is our work.
func (b *answerBody) read(p []byte) (int, error) {
	c := b.call
	if c.work.running {
		c.work.stop(time.Now())
	}
	n, err := b.from.Read(p)
	if c.work.next() {
		c.work.start(time.Now())
	}
	if c.meter != nil {
		c.meter.Write(p[:n])
	}
	switch {
	case errors.Is(err, io.EOF):
		dropUpstreamOnly(b.answer.Trailer) // it is there now, with what was not announced
	case err != nil:
		c.readErr = err
	}
	return n, err
}

// Close ends the reading.
func (b *answerBody) Close() error {
	if b.buffer != nil {
		b.call.proxy.buffers.put(b.buffer)
		b.buffer, b.head = nil, nil
	}
	return b.from.Close()
}

// beginAnswer adds up the work until the first byte of an answer came, and from there on.
func (c *call) beginAnswer() {
	answered, waited := c.repeat.times()
	c.work.add(answered.Sub(c.start) - waited - c.body.waitedFor())
	c.work.start(answered)
}

// record says what became of the call. It is the end of it: nothing is read or written any more.
func (c *call) record() protocol.Call {
	c.body.close()
	var read meter.Reading
	if c.meter != nil {
		read = c.meter.Close()
	}
	now := time.Now()
	total := now.Sub(c.start)
	if c.status == 0 {
		_, waited := c.repeat.times()
		c.work.add(total - waited - c.body.waitedFor())
	}
	c.work.stop(now)
	out := c.outcome(read)
	record := protocol.Call{
		Timestamp:      c.start.UTC(),
		Model:          firstOf(read.Model, c.request.Model),
		LatencyMs:      total.Milliseconds(),
		ResponseFormat: c.request.ResponseFormat,
		Streamed:       c.streamed,
		Status:         out.status,
		Error:          out.text,
		Verdict:        out.verdict,
		BytesIn:        c.body.n,
		BytesOut:       c.bytesOut,
		OverheadUs:     c.work.sum.Microseconds(),
		FinishReason:   read.FinishReason,
		Upstream:       c.target.Name,
		ID:             c.id,
		UsageKnown:     read.UsageKnown,
		PromptTokens:   read.Prompt, CompletionTokens: read.Completion,
		TokensPerSecond: read.Rate,
	}
	if c.request.Model != record.Model {
		record.RequestModel = c.request.Model
	}
	if c.streamed && !read.FirstToken.IsZero() {
		ms := read.FirstToken.Sub(c.start).Milliseconds()
		record.FirstTokenMs = &ms
		since := c.start.Add(total).Sub(read.FirstToken).Seconds()
		// What came all at once was not written at that speed.
		if record.TokensPerSecond == 0 && since > 0.001 {
			record.TokensPerSecond = round(float64(read.Completion) / since)
		}
	}
	c.log(&record, out)
	return record
}
