//go:build unix

package client_test

import (
	"io"
	"net/http"
	"testing"

	"chatwright.dev/tray/server/client"
)

// BenchmarkVersion is one question with a connection of its own, which is what every command pays.
func BenchmarkVersion(b *testing.B) {
	path := socketPath(b)
	serve(b, path, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"version":"0.1.0","protocol":"v1","instance_id":"abc"}`)
	})
	c := client.New(path)
	for b.Loop() {
		if _, err := c.Version(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
