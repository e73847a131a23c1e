//go:build (linux && !android) || freebsd || openbsd || netbsd

package sessionbus

import (
	"context"
	"errors"
	"fmt"

	"github.com/godbus/dbus/v5"
)

// ErrSilent says that the bus took the connection but does not answer.
var ErrSilent = errors.New("it does not answer")

// Dial connects to the session bus that is there, greeting included, as long as ctx lasts; the connection outlives ctx.
// It never starts a bus: with dbus-launch on PATH and no address, godbus would.
func Dial(ctx context.Context) (*dbus.Conn, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx)) // of the connection
	type result struct {
		conn *dbus.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		conn, err := connect(life)
		done <- result{conn, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			end()
			return nil, r.err
		}
		context.AfterFunc(r.conn.Context(), end)
		return r.conn, nil
	case <-ctx.Done():
		end() // closes the connection under the handshake, and so ends the goroutine
		return nil, ErrSilent
	}
}

func connect(life context.Context) (*dbus.Conn, error) {
	conn, err := dbus.SessionBusPrivateNoAutoStartup(dbus.WithContext(life))
	if err != nil {
		return nil, err
	}
	if err := conn.Auth(nil); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("authenticating: %w", err)
	}
	if err := conn.Hello(); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("greeting: %w", err)
	}
	return conn, nil
}
