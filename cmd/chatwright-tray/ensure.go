package main

import (
	"context"
	"errors"
	"fmt"

	"chatwright.dev/tray/server/client"
)

// ensureDaemon finds the companion that runs, and starts one in the background where none does, for the commands that
// are no use without one. Only the proof that none runs leads to a start: one that is slow to answer, or starting, or
// ending, is waited for, and reported when it stays so. Of commands that come at once one starts it and all use it.
//
// The new companion has the settings of this command's environment and of tray.toml; with CHATWRIGHT_PARENT_PID it ends
// when that process does.
func (c *cli) ensureDaemon(ctx context.Context) (*client.Client, error) {
	where, err := c.whereabouts()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	daemon, _, err := waitForPlace(ctx, where)
	if err == nil || !errors.Is(err, client.ErrNotRunning) {
		return daemon, err
	}
	// All settings are read only now: a broken tray.toml is no reason not to use a companion that runs.
	now, where, err := c.load()
	if err != nil {
		return nil, err
	}
	status, somebodyElse, err := launch(ctx, now, where, c.planned(false))
	if err != nil {
		return nil, fmt.Errorf("starting Chatwright: %w", err)
	}
	if !somebodyElse {
		_, _ = fmt.Fprintf(c.stderr, "Chatwright was not running: started it on http://%s (pid %d)\n", status.Addr, status.PID)
	}
	daemon, _, err = running(ctx, where)
	return daemon, err
}
