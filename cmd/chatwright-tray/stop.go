package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"chatwright.dev/tray/app/instance"
	"chatwright.dev/tray/app/paths"
	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

const (
	stopSlack = 2 * time.Second // beyond the grace
	// stopSilence is how long stop waits before it says what it waits for.
	stopSilence = 300 * time.Millisecond
)

func (c *cli) stopCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stop",
		Short: "End the companion: calls in flight get the grace; a second stop ends it at once",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			stopped, err := c.stop(cmd.Context())
			if err != nil {
				return err
			}
			text := "Chatwright has ended."
			if !stopped {
				text = "Chatwright is not running."
			}
			_, _ = fmt.Fprintln(c.stderr, text)
			return nil
		},
	}
}

// stop ends the daemon and waits until it is gone. It reports false when there was none.
func (c *cli) stop(ctx context.Context) (bool, error) {
	where, err := c.whereabouts()
	if err != nil {
		return false, err
	}
	wait := server.DefaultGrace + stopSlack
	if now, _, err := c.load(); err == nil { // a broken tray.toml is no reason not to stop
		wait = now.Grace + stopSlack
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	daemon, found, err := instance.Await(ctx, where)
	if errors.Is(err, client.ErrNotRunning) {
		return stopByPIDFile(where.PID, wait)
	}
	if err != nil {
		return false, err
	}
	var inFlight int64
	if status, err := daemon.Status(ctx); err == nil {
		inFlight = status.Metrics.InFlight
	}
	asked := daemon.Shutdown(ctx, found.InstanceID, nil)
	if answer, ok := errors.AsType[*client.Error](asked); ok && answer.Code != protocol.CodeWrongInstance {
		return false, fmt.Errorf("asking the companion (pid %d) to end: %w", found.PID, asked)
	}
	// Any other error may well mean that somebody else has just ended it.
	patience := time.AfterFunc(stopSilence, func() { c.sayWaiting(inFlight, wait-stopSlack) })
	defer patience.Stop()
	switch {
	case gone(ctx, where, found.InstanceID):
		return true, nil
	case asked != nil:
		return false, fmt.Errorf("asking the companion (pid %d) to end: %w", found.PID, asked)
	default:
		return false, hint.With(fmt.Errorf("the companion (pid %d) has not ended within %s", found.PID, wait),
			"calls may still be in flight; run chatwright-tray stop again to cut them off")
	}
}

// stopByPIDFile ends what a PID file names when no lock is held and no socket answers.
func stopByPIDFile(path string, wait time.Duration) (bool, error) {
	if _, err := os.Lstat(path); err != nil {
		return false, nil // and nothing needs to be written to find out
	}
	err := server.Stop(path, wait)
	if errors.Is(err, server.ErrNotRunning) || errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// sayWaiting says what stop waits for.
func (c *cli) sayWaiting(inFlight int64, grace time.Duration) {
	what := "it to end"
	if inFlight > 0 {
		what = tray.Plural(inFlight, "call") + " in flight"
	}
	_, _ = fmt.Fprintf(c.stderr, "Waiting up to %s for %s; stop again to end at once.\n", grace, what)
}

// gone waits until that instance runs no longer, and reports whether it came to that.
func gone(ctx context.Context, where paths.Paths, instanceID string) bool {
	for {
		_, found, err := instance.Running(ctx, where)
		if errors.Is(err, client.ErrNotRunning) || err == nil && found.InstanceID != instanceID {
			return true
		}
		if !pause(ctx) {
			return false
		}
	}
}
