//go:build unix

package server_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/servertest"
)

// Opening a FIFO waits for a writer: what is not a regular file is not even opened.
func TestUIServesNoPipe(t *testing.T) {
	dir := studioFolder(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.js"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := servertest.Start(t, server.Config{UIDir: dir})
	ask(t, r, "GET", "/pipe.js", "").wants(t, 404, `{"error":"not found"}`+"\n")
}
