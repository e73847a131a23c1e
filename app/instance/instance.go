// Package instance sees to it that one daemon runs for one state folder, and finds the one that runs. The authority is
// the held lock and the answering socket; daemon.json only says where to ask.
package instance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"time"

	"chatwright.dev/tray/app/paths"
	"chatwright.dev/tray/server"
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
	// hangUps is how many questions in a row may be cut off before that counts as an answer.
	hangUps = 10
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
	if errors.Is(err, client.ErrNotRunning) && d.Socket != p.Socket {
		// JSON holds no path that is not UTF-8, and a socket can have been chosen anew since.
		if other, otherErr := ask(ctx, client.New(p.Socket)); otherErr == nil {
			c, version, err = client.New(p.Socket), other, nil
			d = protocol.Discovery{}
		}
	}
	switch {
	case err == nil && d.InstanceID == "":
		d, err = describe(ctx, c, version)
		switch {
		case err == nil:
			return c, d, nil
		case hungUp(err) || errors.Is(err, client.ErrNotRunning): // it is ending, and was gone before the second question
		default:
			return nil, protocol.Discovery{}, fmt.Errorf("asking the daemon which it is: %w", err)
		}
	case err == nil && version.InstanceID == d.InstanceID:
		return c, d, nil
	case err == nil: // somebody else answers there: what daemon.json names has ended
	case hint.Of(err) != "" && !errors.Is(err, client.ErrNotRunning): // there can be none at such an address
		return nil, protocol.Discovery{}, fmt.Errorf("looking for the daemon: %w", err)
	case !errors.Is(err, client.ErrNotRunning):
		return nil, protocol.Discovery{}, hint.With(fmt.Errorf("a daemon may be running, but does not answer: %w", err),
			"try again; if it stays so, end its process"+processOf(p, d)+" and start it again")
	}
	taken, err := held(p.Lock)
	if err != nil {
		return nil, protocol.Discovery{}, err
	}
	if taken {
		return nil, protocol.Discovery{}, hint.With(ErrStarting,
			"try again in a moment; if it stays so, end its process"+processOf(p, d))
	}
	return nil, protocol.Discovery{}, hint.With(none, "start it with: chatwright-tray start")
}

// processOf names the process to look at when a daemon does not answer, as " (pid 4711)"; "" when none is known to run.
func processOf(p paths.Paths, d protocol.Discovery) string {
	pid := d.PID
	if pid == 0 {
		pid, _ = server.ReadPIDFile(p.PID)
	}
	if !server.IsProcessRunning(pid) {
		return ""
	}
	return fmt.Sprintf(" (pid %d)", pid)
}

// ask asks which daemon it is. One that ends at this moment hangs up, which says nothing yet: asked again, it is gone.
func ask(ctx context.Context, c *client.Client) (version protocol.VersionInfo, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	for range hangUps {
		version, err = c.Version(ctx)
		if !hungUp(err) {
			break
		}
		select {
		case <-time.After(startPoll):
		case <-ctx.Done():
			return version, err
		}
	}
	return version, err
}

func hungUp(err error) bool {
	return errors.Is(err, client.ErrHungUp) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
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
	var last error
	for {
		c, d, err := Running(ctx, p)
		if err != nil && last != nil && ctx.Err() != nil {
			return nil, protocol.Discovery{}, last // the question that ran out of time says less
		}
		if !errors.Is(err, ErrStarting) {
			return c, d, err
		}
		last = err
		select {
		case <-time.After(startPoll):
		case <-ctx.Done():
			return nil, protocol.Discovery{}, err
		}
	}
}

// HandOver asks the running daemon to open target and returns the URL. It waits, as long as ctx lasts, for one that is
// just starting, and for one that is ending, which opens nothing any more. When there is none after all, the error is
// client.ErrNotRunning and the caller may try for the lock again.
func HandOver(ctx context.Context, p paths.Paths, target protocol.OpenTarget) (string, error) {
	for {
		c, _, err := Await(ctx, p)
		if err != nil {
			return "", err
		}
		opened, err := c.Open(ctx, target)
		if refused, ok := errors.AsType[*client.Error](err); !ok || refused.Code != protocol.CodeConflict {
			return opened, err
		}
		select {
		case <-time.After(startPoll):
		case <-ctx.Done():
			return "", err
		}
	}
}
