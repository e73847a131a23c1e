// Package instance sees to it that one daemon runs for one state folder, and finds the one that runs. The authority is
// the held lock and the answering socket; daemon.json only says where to ask.
package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"chatwright.dev/tray/app/paths"
	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

// What Running says when it finds none. ErrAbsent and ErrStale are both client.ErrNotRunning: a daemon may be started.
// After any other error it may not, since there may well be one that is slow to answer.
var (
	// ErrAbsent: no daemon.json, no answer, and the lock is free.
	ErrAbsent = fmt.Errorf("%w", client.ErrNotRunning)
	// ErrStale: daemon.json is left over; nobody listens on its socket, or another instance does, and the lock is free.
	ErrStale = fmt.Errorf("%w: daemon.json is left from one that ended", client.ErrNotRunning)
	// ErrStarting: the lock is held but nobody answers yet, or any more.
	ErrStarting = errors.New("the daemon is starting or ending")
)

const (
	// answerTimeout is how long a daemon may take to say which it is. One that works answers within a millisecond; one
	// that takes longer is not thereby dead.
	answerTimeout = 3 * time.Second
	// startPoll is how often Await looks whether a starting daemon is there.
	startPoll = 20 * time.Millisecond
)

// Running finds the daemon that runs: it reads daemon.json, asks the socket named there which instance it is, and
// compares. Without a daemon.json it asks the socket where p expects it. Only a socket that nobody listens on together
// with a free lock is taken as proof that there is none.
func Running(ctx context.Context, p paths.Paths) (*client.Client, protocol.Discovery, error) {
	d, err := ReadDiscovery(p.Discovery)
	none := ErrStale
	switch {
	case errors.Is(err, fs.ErrNotExist):
		none, d = ErrAbsent, protocol.Discovery{Socket: p.Socket}
	case err != nil: // broken: it proves nothing, and the socket is asked all the same
		d = protocol.Discovery{Socket: p.Socket}
	}
	c := client.New(d.Socket)
	version, err := ask(ctx, c)
	switch {
	case err == nil && d.InstanceID == "":
		if d, err = describe(ctx, c, version); err != nil {
			return nil, protocol.Discovery{}, fmt.Errorf("asking the daemon which it is: %w", err)
		}
		return c, d, nil
	case err == nil && version.InstanceID == d.InstanceID:
		return c, d, nil
	case err == nil: // somebody else answers there: what daemon.json names has ended
	case !errors.Is(err, client.ErrNotRunning):
		return nil, protocol.Discovery{}, hint.With(fmt.Errorf("a daemon may be running, but does not answer: %w", err),
			"try again; if it stays so, end its process and start it again")
	}
	taken, err := held(p.Lock)
	if err != nil {
		return nil, protocol.Discovery{}, err
	}
	if taken {
		return nil, protocol.Discovery{}, hint.With(ErrStarting, "try again in a moment")
	}
	return nil, protocol.Discovery{}, hint.With(none, "start it with: chatwright-tray start")
}

func ask(ctx context.Context, c *client.Client) (protocol.VersionInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return c.Version(ctx)
}

// describe makes the Discovery of a daemon that answers but has no daemon.json: it lost it, or it is not written yet.
func describe(ctx context.Context, c *client.Client, version protocol.VersionInfo) (protocol.Discovery, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	status, err := c.Status(ctx)
	if err != nil {
		return protocol.Discovery{}, err
	}
	return protocol.Discovery{
		InstanceID: version.InstanceID,
		PID:        status.PID,
		StartedAt:  status.StartedAt,
		Version:    version.Version,
		Protocol:   version.Protocol,
		Addr:       status.Addr,
		Socket:     c.SocketPath(),
	}, nil
}

// Await is Running, but waits for a daemon that is starting or ending, as long as ctx lasts.
func Await(ctx context.Context, p paths.Paths) (*client.Client, protocol.Discovery, error) {
	for {
		c, d, err := Running(ctx, p)
		if !errors.Is(err, ErrStarting) {
			return c, d, err
		}
		select {
		case <-time.After(startPoll):
		case <-ctx.Done():
			return nil, protocol.Discovery{}, err
		}
	}
}

// HandOver asks the running daemon to open target and returns the URL. It waits, as long as ctx lasts, for one that is
// just starting. When there is none after all, because it ended meanwhile, the error is client.ErrNotRunning and the
// caller may try for the lock again.
func HandOver(ctx context.Context, p paths.Paths, target protocol.OpenTarget) (string, error) {
	c, _, err := Await(ctx, p)
	if err != nil {
		return "", err
	}
	return c.Open(ctx, target)
}
