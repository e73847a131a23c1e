package server

import (
	"net"
	"net/http"
	"testing"
	"time"
)

// security.md 5: the times that a test over sockets would have to wait for. A half-open connection that never says
// its request ends after the first; that TestHalfOpenConnections holds 2,000 of them shows that they cost nobody.
func TestOriginalFault_HalfOpenConnectionsNeverEnd(t *testing.T) {
	for name, c := range map[string]struct{ got, want any }{
		"ReadHeaderTimeout": {readHeaderTimeout, 10 * time.Second},
		"IdleTimeout":       {idleTimeout, 120 * time.Second},
		"MaxHeaderBytes":    {maxHeaderBytes, 64 << 10},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %v, want %v", name, c.got, c.want)
		}
	}
	s, err := New(Config{Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	hs := s.httpServer(t.Context(), newConns())
	if hs.ReadHeaderTimeout != readHeaderTimeout || hs.IdleTimeout != idleTimeout || hs.MaxHeaderBytes != maxHeaderBytes ||
		hs.WriteTimeout != 0 || hs.ReadTimeout != 0 {
		t.Errorf("got %+v", hs)
	}

	// And that net/http keeps to it, with a time that a test can wait for.
	hs.ReadHeaderTimeout = 20 * time.Millisecond
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- hs.Serve(ln) }()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("got %d bytes, %v, want the end", n, err)
	} else if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		t.Error("the connection is still open")
	}
	if err := hs.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != http.ErrServerClosed {
		t.Error(err)
	}
}
