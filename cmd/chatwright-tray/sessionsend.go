package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"chatwright.dev/tray/app/attach"
	"chatwright.dev/tray/app/attach/plain"
	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

func (c *cli) sessionSendCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "send ID TEXT",
		Short: "Say something, and print the answer as it comes",
		Long: `Says TEXT in a session and prints what the model answers, as it comes, and nothing else. With - it reads the text
from standard input. Ctrl-C interrupts the turn; twice within half a second leaves it running, and leaves.

Exit codes: 0 the model has answered, 1 it has not, or not to its end, 130 interrupted.`,
		Args:              sessionArguments(2, 2),
		ValidArgsFunction: c.completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			text := args[1]
			if text == "-" {
				read, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxMessage+1))
				if err != nil {
					return fmt.Errorf("reading the text: %w", err)
				}
				if len(read) > maxMessage {
					return fmt.Errorf("the text is longer than %d KiB", maxMessage>>10)
				}
				text = strings.TrimRight(string(read), "\r\n")
			}
			if strings.TrimSpace(text) == "" {
				return withCode(exitUsage, hint.With(errors.New("there is nothing to send"), "give a text, or pipe one in with -"))
			}
			daemon, s, err := c.session(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if !s.Live {
				return hint.With(fmt.Errorf("session %s has ended; its record is kept", s.ID),
					"carry it on in a new one: chatwright-tray session new --resume "+s.ID)
			}
			return c.send(cmd.Context(), daemon, s, text)
		},
	}
}

const (
	maxMessage = 1 << 20
	// again is how long a second Ctrl-C may take that makes two of them one wish.
	again = 500 * time.Millisecond
)

// send begins a turn and prints its answer.
func (c *cli) send(ctx context.Context, daemon *client.Client, s protocol.Session, text string) error {
	ctx, interrupts, done := interruptible(ctx)
	defer done()
	turn, err := daemon.StartTurn(ctx, s.ID, protocol.TurnRequest{Text: text, SubmissionID: rand.Text()})
	if err != nil {
		return err
	}
	following, leave := context.WithCancel(ctx)
	defer leave()
	answered := make(chan error, 1)
	reply := plain.Reply{W: c.stdout, TurnID: turn}
	go func() { answered <- c.follow(following, daemon, s, &reply) }()
	err = c.untilAnswered(ctx, daemon, s, answered, interrupts, leave)
	switch {
	case errors.Is(err, plain.ErrInterrupted):
		return withCode(exitInterrupted, err)
	case errors.Is(err, context.Canceled): // left
		_ = reply.EndLine()
		return withCode(exitInterrupted, hint.With(errors.New("left; the turn goes on"), "see it: chatwright-tray session attach "+s.ID))
	}
	return err
}

// errTurnOver ends following.
var errTurnOver = errors.New("the turn is over")

// follow prints the reply as it comes and returns how the turn ended.
func (c *cli) follow(ctx context.Context, daemon *client.Client, s protocol.Session, reply *plain.Reply) error {
	var end error
	err := daemon.Follow(ctx, s.ID, s.LastSeq+1, client.Follower{
		Event: func(e protocol.Event) error {
			done, err := reply.Apply(e)
			if done || err != nil {
				end = err
				return errTurnOver
			}
			return nil
		},
		Lost:    c.sayLost,
		Trouble: func(t protocol.Error) { c.warn(t.Message) },
	})
	switch {
	case errors.Is(err, errTurnOver):
		return end
	case err == nil:
		return errors.Join(reply.EndLine(), fmt.Errorf("session %s was ended", s.ID))
	}
	return err
}

// untilAnswered waits for the end of the turn: that of the model, or that which Ctrl-C brings.
func (c *cli) untilAnswered(ctx context.Context, daemon *client.Client, s protocol.Session, answered <-chan error,
	interrupts <-chan struct{}, leave func()) error {
	var interrupt <-chan time.Time
	for {
		select {
		case err := <-answered:
			return err
		case <-interrupts:
			if interrupt != nil {
				leave()
				return <-answered
			}
			_, _ = fmt.Fprintln(c.stderr, "Interrupting; Ctrl-C at once again leaves the turn running")
			interrupt = time.After(again)
		case <-interrupt:
			interrupt = make(chan time.Time) // asked for; another Ctrl-C leaves
			if err := daemon.Interrupt(ctx, s.ID); err != nil {
				c.warn("it cannot be interrupted: " + err.Error())
			}
		}
	}
}

// interruptible is ctx without what Ctrl-C does to the ctx of a command, which is to end it, and with each Ctrl-C told.
// What asks the process to end still ends it.
func interruptible(ctx context.Context) (_ context.Context, interrupts <-chan struct{}, done func()) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	told := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				if s == syscall.SIGTERM {
					cancel()
					return
				}
				select {
				case told <- struct{}{}:
				case <-work.Done():
					return
				}
			case <-work.Done():
				return
			}
		}
	}()
	return work, told, func() { signal.Stop(signals); cancel() }
}

func (c *cli) sessionAttachCommand() *cobra.Command {
	var lines bool
	cmd := &cobra.Command{
		Use:   "attach ID",
		Short: "Talk in a session, in the whole terminal",
		Long: `Shows a session and what is said in it, by you and by whoever else is attached, and lets you write. Ctrl-D or
/detach leaves; the session goes on. Ctrl-C interrupts a turn that runs. /help lists the other keys.

With --plain, or where input or output is no terminal or a dumb one, it works line by line, without colours and without moving the
cursor: for pipes and screen readers.`,
		Args:              sessionArguments(1, 1),
		ValidArgsFunction: c.completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			daemon, s, err := c.session(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			typed := isTerminalInput(cmd.InOrStdin())
			if lines || !typed || !isTerminal(c.stdout) || os.Getenv("TERM") == "dumb" {
				return c.attachLines(cmd.Context(), attach.Lines{Daemon: daemon, Session: s, In: cmd.InOrStdin(), Out: c.stdout, Typed: typed})
			}
			// Who is hung up on gives the terminal back too: it may still be there.
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGHUP)
			defer stop()
			last, err := attach.Terminal{Daemon: daemon, Session: s, In: cmd.InOrStdin(), Out: c.stdout, Env: os.Environ()}.Run(ctx)
			c.sayLeft(last, err)
			return err
		},
	}
	cmd.Flags().BoolVar(&lines, "plain", false, "line by line, for pipes and screen readers")
	return cmd
}

func (c *cli) attachLines(ctx context.Context, l attach.Lines) error {
	ctx, interrupts, done := interruptible(ctx)
	defer done()
	l.Interrupts = interrupts
	last, err := l.Run(ctx)
	if l.Typed {
		c.sayLeft(last, err)
	}
	return err
}

func (c *cli) sayLeft(s protocol.Session, err error) {
	if err == nil {
		_, _ = fmt.Fprintf(c.stderr, "Left session %s; it goes on. Come back: chatwright-tray session attach %s\n", s.ID, s.ID)
	}
}

func isTerminalInput(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && isTerminal(f)
}
