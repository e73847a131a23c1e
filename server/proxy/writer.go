package proxy

import (
	"net"
	"net/http"
)

// header is one header that was set before the call came to us.
type header struct {
	name   string
	values []string
}

// keepOwn remembers the headers that the guard has set. After an informational answer ReverseProxy clears them all.
func (c *call) keepOwn() {
	c.own = c.ownRoom[:0]
	for name, values := range c.w.Header() {
		c.own = append(c.own, header{name, values})
	}
}

// Unwrap lets http.ResponseController reach the writer below.
func (c *call) Unwrap() http.ResponseWriter { return c.w }

// Header makes call a ResponseWriter.
func (c *call) Header() http.Header { return c.w.Header() }

// WriteHeader sends the status: at once when what follows comes bit by bit.
func (c *call) WriteHeader(status int) {
	c.prepareHeader(status)
	if status >= http.StatusOK || c.in.ProtoAtLeast(1, 1) { // HTTP/1.0 has no answers before the answer
		c.w.WriteHeader(status)
	}
	if status >= http.StatusOK && c.streamed {
		_ = c.control.Flush() // a caller who is gone shows at the first write
	}
}

// prepareHeader is apart from WriteHeader so that little is on the stack when net/http writes the header, which takes
// 3 KiB of it: a stack that has grown stays so for as long as the stream is open.
func (c *call) prepareHeader(status int) {
	h := c.w.Header()
	if status < http.StatusOK {
		dropUpstreamOnly(h)
		c.informed = true
		return
	}
	if c.informed {
		for _, own := range c.own {
			h[own.name] = append(own.values[:len(own.values):len(own.values)], h[own.name]...)
		}
	}
	if _, said := h["Content-Type"]; !said {
		h["Content-Type"] = nil // or net/http would guess one
	}
	c.sent = status
}

// Write sends bytes of the answer. ReverseProxy flushes streams and answers of unknown length; here the others are. The
// last bytes do not wait for the call to be recorded either.
func (c *call) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.bytesOut += int64(n)
	if err == nil && c.bytesOut <= c.length {
		err = c.control.Flush()
	}
	if err != nil {
		c.writeErr = err
	}
	return n, err
}

// reset ends the connection of a caller who could not see otherwise that the answer is not whole: in HTTP/1.0 an answer
// ends with the connection, unless its length is known.
func (c *call) reset() {
	if c.in.ProtoAtLeast(1, 1) || c.length >= 0 {
		return
	}
	conn, _, err := c.control.Hijack()
	if err != nil {
		return // net/http closes it
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // Close then resets
	}
	_ = conn.Close()
}
