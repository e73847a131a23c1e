package proxy_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// serveRaw reads requests from a connection and lets respond answer them with raw bytes.
func serveRaw(conn net.Conn, respond func(net.Conn, *http.Request) bool) {
	reader := bufio.NewReader(conn)
	for {
		r, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		if !respond(conn, r) {
			return
		}
	}
}
