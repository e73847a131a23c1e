package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"chatwright.dev/tray/app"
	"chatwright.dev/tray/app/instance"
	"chatwright.dev/tray/app/paths"
	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

const (
	startTimeout = 20 * time.Second // until a daemon that was started must answer
	pollPeriod   = 20 * time.Millisecond
)

func (c *cli) startCommand() *cobra.Command {
	var tray bool
	cmd := &cobra.Command{
		Use:   "start",
		Short: "Start the companion in the background; returns when it is ready",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.start(cmd.Context(), c.planned(tray)) },
	}
	c.startFlags(cmd, &tray)
	return cmd
}

func (c *cli) restartCommand() *cobra.Command {
	var tray bool
	cmd := &cobra.Command{
		Use:   "restart",
		Short: "End the companion and start it again in the background",
		Long: `End the companion and start it again in the background: as it was started before, with its flags and with its
tray. With flags of its own, restart starts it with these instead.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			next := c.planned(tray)
			if before, ok := c.planBefore(cmd.Context()); ok && !tray && len(next.args) == 1 {
				next = before
			}
			// What would keep the next from starting must be known before the one that runs is gone.
			now, _, err := c.load()
			if err != nil {
				return err
			}
			if err := now.CheckFiles(); err != nil {
				return err
			}
			if _, err := c.stop(cmd.Context()); err != nil {
				return err
			}
			return c.start(cmd.Context(), next)
		},
	}
	c.startFlags(cmd, &tray)
	return cmd
}

// startFlags are those of a command that starts a daemon.
func (c *cli) startFlags(cmd *cobra.Command, tray *bool) {
	cmd.Flags().BoolVar(tray, "tray", false, "with a tray")
	cmd.Flags().Bool("headless", true, "without a tray")
	cmd.MarkFlagsMutuallyExclusive("tray", "headless")
	c.settingsFlags(cmd.Flags(), serverSetting)
}

// A plan is how a daemon is started.
type plan struct {
	args []string
	dir  string // empty: that of this command
}

// planned is a daemon with the settings flags of this command line, word for word.
func (c *cli) planned(tray bool) plan {
	args := []string{headlessFlag}
	if tray {
		args = nil
	}
	for _, s := range settings.Table() {
		values, _ := c.flags.Lookup(s.Name)
		for _, v := range values {
			args = append(args, "--"+s.Name+"="+v)
		}
	}
	return plan{args: args}
}

const headlessFlag = "--headless"

// planBefore is how the daemon that runs was started. One whose folder is gone is started anew.
func (c *cli) planBefore(ctx context.Context) (plan, bool) {
	where, err := c.whereabouts()
	if err != nil {
		return plan{}, false
	}
	daemon, announced, err := instance.Running(ctx, where)
	if err != nil {
		return plan{}, false
	}
	found, err := daemon.Launch(ctx)
	if err != nil { // it is older than this question, and announced everything
		found = protocol.Launch{Args: announced.Args, Dir: announced.Dir}
	}
	if found.Dir == "" {
		return plan{}, false
	}
	if _, err := os.Stat(found.Dir); err != nil {
		return plan{}, false
	}
	return plan{found.Args, found.Dir}, true
}

// start runs a daemon that outlives this command and returns once it answers, or with the reason why it does not.
func (c *cli) start(ctx context.Context, how plan) error {
	now, where, err := c.load()
	if err != nil {
		return err
	}
	c.warnVisible(now)
	c.warnStrays()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	daemon, found, err := waitForPlace(ctx, where)
	switch {
	case err == nil:
		return c.startAgain(ctx, daemon, found)
	case !errors.Is(err, client.ErrNotRunning):
		return err
	}
	status, somebodyElse, err := launch(ctx, now, where, how)
	switch {
	case err != nil:
		return err
	case somebodyElse:
		return runsAlready(protocol.Discovery{Addr: status.Addr, PID: status.PID})
	}
	return c.started(status)
}

// launch runs a daemon where there is none and returns once it answers, or with the reason why it does not.
// somebodyElse says that another command was a moment faster, and that the daemon is the one that it started.
func launch(ctx context.Context, now settings.Settings, where paths.Paths, how plan) (status protocol.Status, somebodyElse bool, err error) {
	if err := where.Make(); err != nil {
		return status, false, err
	}
	self, err := os.Executable()
	if err != nil {
		return status, false, fmt.Errorf("finding this program: %w", err)
	}
	logSize := fileSize(where.Log)
	pid, err := server.Start(server.StartOptions{
		Executable: self, Args: how.args, Dir: how.dir, PIDFile: where.PID, LogFile: where.Log,
	})
	somebodyElse = errors.Is(err, server.ErrAlreadyRunning) // its daemon may not answer yet
	if err != nil && !somebodyElse {
		return status, false, err
	}
	status, err = waitUntilReady(ctx, where, pid)
	if err != nil {
		return status, somebodyElse, startFailed(ctx, reasonOf(err, where.Log, logSize), now.Addr)
	}
	return status, somebodyElse, nil
}

// waitForPlace is instance.Await that also waits for a daemon to be gone that is ending.
func waitForPlace(ctx context.Context, where paths.Paths) (*client.Client, protocol.Discovery, error) {
	for {
		daemon, found, err := instance.Await(ctx, where)
		if err != nil {
			return nil, found, err
		}
		status, err := daemon.Status(ctx)
		if err == nil && status.Detail != app.DetailEnding {
			return daemon, found, nil
		}
		if !pause(ctx) {
			return nil, found, hint.With(fmt.Errorf("the companion (pid %d) has been ending for a while", found.PID),
				"calls may still be in flight; chatwright-tray stop cuts them off")
		}
	}
}

// startFailed gives the error of a start its exit code: somebody else may have been faster, or have the port in another
// folder. That alone is no reason, though: it may not have come to the port.
func startFailed(ctx context.Context, err error, addr string) error {
	held := app.WhoHolds(ctx, addr)
	if held != nil && held.Ours && (strings.Contains(err.Error(), held.Error()) || strings.Contains(err.Error(), "already running")) {
		return withCode(exitAlreadyRunning, err)
	}
	return err
}

// startAgain starts the server of a companion that runs with its server stopped; one that serves runs already.
func (c *cli) startAgain(ctx context.Context, daemon *client.Client, found protocol.Discovery) error {
	status, err := daemon.Status(ctx)
	if err != nil {
		return err
	}
	switch status.Phase {
	case protocol.PhaseStopped, protocol.PhaseFailed, protocol.PhaseBlocked:
	default:
		return runsAlready(found)
	}
	if err := daemon.Server(ctx, protocol.ServerStart); err != nil {
		return fmt.Errorf("Chatwright is running (pid %d) but does not serve: %w", found.PID, err)
	}
	if status, err = daemon.Status(ctx); err != nil {
		return err
	}
	return c.started(status)
}

// waitUntilReady waits until the daemon with that pid has started, one way or the other, or is gone. It has started
// once daemon.json names it, since whoever called start may go on to read that file.
func waitUntilReady(ctx context.Context, where paths.Paths, pid int) (protocol.Status, error) {
	for {
		daemon, found, err := instance.Running(ctx, where)
		if err == nil && found.PID == pid && announced(where, found) {
			if status, err := daemon.Status(ctx); err == nil && status.Phase != protocol.PhaseStarting {
				return status, nil
			}
		}
		if !server.IsProcessRunning(pid) {
			return protocol.Status{}, errors.New("the companion ended while it started")
		}
		if !pause(ctx) {
			return protocol.Status{}, hint.With(fmt.Errorf("the companion (pid %d) does not answer: %w", pid, context.Cause(ctx)),
				"look into "+where.Log)
		}
	}
}

// announced reports whether daemon.json names the daemon that answered.
func announced(where paths.Paths, found protocol.Discovery) bool {
	written, err := instance.ReadDiscovery(where.Discovery)
	return err == nil && written.InstanceID == found.InstanceID
}

// pause waits a moment and reports whether ctx still lasts.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(pollPeriod)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func runsAlready(found protocol.Discovery) error {
	return withCode(exitAlreadyRunning, hint.With(
		fmt.Errorf("Chatwright is already running on %s (pid %d)", found.Addr, found.PID),
		"use it, or end it first: chatwright-tray stop"))
}

// started says where the new daemon is. One with a tray can be up and yet not serve: that is a failure of start, since
// nobody looks at the tray from a script.
func (c *cli) started(s protocol.Status) error {
	switch s.Phase {
	case protocol.PhaseRunning, protocol.PhaseDegraded:
		_, _ = fmt.Fprintf(c.stderr, "Chatwright %s is ready on http://%s (pid %d, upstream: %s)\n", s.Version, s.Addr, s.PID, s.Upstream.Name)
		c.warnNotices(s.Notices)
		return nil
	case protocol.PhaseExternal:
		return withCode(exitAlreadyRunning, hint.With(
			fmt.Errorf("another Chatwright server is running on %s; the tray (pid %d) shows its calls", s.Addr, s.PID),
			"end the tray again: chatwright-tray stop"))
	}
	return hint.With(fmt.Errorf("the tray runs (pid %d), but %s", s.PID, notServing(s)),
		"put that right and choose Server, Start in its menu, or end it again: chatwright-tray stop")
}

// reasonOf finds what the daemon said before it ended, in the part of the log that is new since it was started.
func reasonOf(err error, logPath string, from int64) error {
	text, way := "", ""
	for line := range strings.Lines(readFrom(logPath, from)) {
		line = strings.TrimSpace(line)
		if said, ok := strings.CutPrefix(line, "error: "); ok {
			text, way = said, ""
		} else if said, ok := strings.CutPrefix(line, "hint: "); ok {
			way = said
		}
	}
	if text == "" {
		return hint.With(err, "look into "+logPath)
	}
	return hint.With(errors.New(text), way)
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// readFrom reads what was appended to a log since it had that size. A log that is shorter by now was rotated: then all
// of it is new.
func readFrom(path string, from int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	if fileSize(path) >= from {
		_, _ = f.Seek(from, io.SeekStart)
	}
	var text bytes.Buffer
	_, _ = io.Copy(&text, io.LimitReader(f, 1<<20))
	return text.String()
}
