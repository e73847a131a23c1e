//go:build linux || darwin || freebsd

package localsock_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"chatwright.dev/tray/server/internal/localsock"
)

// accepted dials path and says whether ln took the connection. What the peer wrote must not have been read when it
// was turned away.
func accepted(t *testing.T, ln net.Listener, dial func() (net.Conn, error)) bool {
	t.Helper()
	took := make(chan bool, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		conn, err := ln.Accept()
		took <- err == nil
		if err == nil {
			_, _ = io.WriteString(conn, "hello")
			_ = conn.Close()
		}
	})
	defer wg.Wait()
	conn, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(conn) // ends at once when the connection is closed
	_ = conn.Close()
	if len(got) > 0 {
		return <-took
	}
	_ = ln.Close()
	return <-took
}

// security.md 10: a peer of another uid is closed before a byte is parsed; root only by configuration.
func TestOnlyTheOwnerGetsIn(t *testing.T) {
	us := os.Geteuid()
	for _, c := range []struct {
		name      string
		owner     int
		allowRoot bool
		want      bool
	}{
		{"the owner", us, false, true},
		{"another user", us + 1, false, false},
		{"another user, where root would be let in", us + 1, true, us == 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var said []string
			path := filepath.Join(folder(t), "control.sock")
			ln, err := localsock.Listen(path, localsock.Options{AllowRoot: c.allowRoot, Log: func(s string) { said = append(said, s) }})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = ln.Close() }()
			localsock.SetOwner(ln, c.owner)
			dial := func() (net.Conn, error) { return localsock.Dial(t.Context(), path) }
			if got := accepted(t, ln, dial); got != c.want {
				t.Errorf("accepted: got %v, want %v", got, c.want)
			}
			if !c.want && (len(said) != 1 || !strings.Contains(said[0], "turned a connection away")) {
				t.Errorf("log: got %q, want one line about it", said)
			}
		})
	}
}
