package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

func (c *cli) sessionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "session",
		Aliases: []string{"sessions"},
		Short:   "Conversations with models that outlive their terminals",
		Long: `A session is a conversation with a model. The companion holds it: close the terminal, and the turn goes on;
attach again, from as many terminals as you like, and all of it is there. Each session is recorded, so that it can be
read, and carried on, after the companion was started anew.

An ID begins with the time at which the session did. It can be given by its first characters, or by those after its
last hyphen, as long as no other session has them.`,
		Example: `  chatwright-tray session new . --model llama3.2
  chatwright-tray session attach xjey
  git diff | chatwright-tray session send xjey -`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.sessionNewCommand(), c.sessionListCommand(), c.sessionSendCommand(), c.sessionAttachCommand(),
		c.sessionShowCommand(), c.sessionRenameCommand(), c.sessionInterruptCommand(), c.sessionRemoveCommand(),
		c.sessionExportCommand())
	return cmd
}

func (c *cli) sessionNewCommand() *cobra.Command {
	var req protocol.CreateSessionRequest
	cmd := &cobra.Command{
		Use:   "new WORKSPACE",
		Short: "Begin a session that works in a folder",
		Long:  `Begins a session and prints its id as JSON. With --resume it carries on an older one, in that one's folder if none is given.`,
		Example: `  chatwright-tray session new .
  chatwright-tray session new --resume xjey`,
		Args: sessionArguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && req.Resume == "" {
				return withCode(exitUsage, hint.With(errors.New("a session needs a folder to work in"), "for this one: chatwright-tray session new ."))
			}
			if len(args) > 0 { // before a companion is started for it
				var err error
				if req.Workspace, err = workspaceOf(args[0]); err != nil {
					return err
				}
			}
			daemon, err := c.ensureDaemon(cmd.Context())
			if err != nil {
				return err
			}
			if req.Resume != "" {
				old, err := c.findSession(cmd.Context(), daemon, req.Resume)
				if err != nil {
					return err
				}
				req.Resume = old.ID
			}
			s, err := daemon.CreateSession(cmd.Context(), req)
			if err != nil {
				return err
			}
			return c.printJSON(map[string]string{"session": s.ID})
		},
	}
	cmd.Flags().StringVar(&req.Model, "model", "", "the model that answers; without it, the one of the upstream")
	cmd.Flags().StringVar(&req.Upstream, "upstream", "", "name of the upstream; without it, the one in use")
	cmd.Flags().StringVar(&req.Resume, "resume", "", "carry on the conversation of this session")
	_ = cmd.RegisterFlagCompletionFunc("resume", c.completeSessions)
	_ = cmd.RegisterFlagCompletionFunc("upstream", c.completeUpstreams)
	return cmd
}

// workspaceOf is the folder that somebody names, in full.
func workspaceOf(written string) (string, error) {
	path, err := filepath.Abs(written)
	if err != nil {
		return "", fmt.Errorf("finding the folder: %w", err)
	}
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", path)
	}
	if err != nil {
		return "", hint.With(err, "name a folder that is there; for this one: chatwright-tray session new .")
	}
	return path, nil
}

func (c *cli) sessionRenameCommand() *cobra.Command {
	return c.sessionAction("rename ID [NAME]", "Give a session a name; without one, it is named after its first words", 2,
		func(ctx context.Context, daemon *client.Client, s protocol.Session, args []string) (string, error) {
			return "renamed", daemon.RenameSession(ctx, s.ID, strings.Join(args, ""))
		})
}

func (c *cli) sessionInterruptCommand() *cobra.Command {
	return c.sessionAction("interrupt ID", "End the turn that runs in a session", 1,
		func(ctx context.Context, daemon *client.Client, s protocol.Session, _ []string) (string, error) {
			if !s.Live || s.State == protocol.SessionIdle {
				return "nothing was running", nil
			}
			return "interrupted", daemon.Interrupt(ctx, s.ID)
		})
}

func (c *cli) sessionRemoveCommand() *cobra.Command {
	var keep bool
	cmd := c.sessionAction("rm ID", "End a session and delete its record", 1,
		func(ctx context.Context, daemon *client.Client, s protocol.Session, _ []string) (string, error) {
			return "removed", daemon.DeleteSession(ctx, s.ID, !keep)
		})
	cmd.Flags().BoolVar(&keep, "keep", false, "only end it; its record stays, and can be carried on")
	return cmd
}

// sessionAction is a command that does one thing to one session, and says what was done. It prints nothing: there is no
// data.
func (c *cli) sessionAction(use, short string, most int,
	do func(context.Context, *client.Client, protocol.Session, []string) (done string, err error)) *cobra.Command {
	return &cobra.Command{
		Use:               use,
		Short:             short,
		Args:              sessionArguments(1, most),
		ValidArgsFunction: c.completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			daemon, s, err := c.session(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			done, err := do(cmd.Context(), daemon, s, args[1:])
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintf(c.stderr, "Session %s: %s\n", s.ID, done)
			return nil
		},
	}
}

// sessionArguments refuses a number of arguments that is not right with a way out.
func sessionArguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return withCode(exitUsage, hint.With(fmt.Errorf("%s needs %s", cmd.CommandPath(), strings.TrimPrefix(cmd.Use, cmd.Name()+" ")),
				"chatwright-tray session list --all lists the ids"))
		case len(args) > most:
			return withCode(exitUsage, hint.With(fmt.Errorf("%s takes no %q", cmd.CommandPath(), args[most]), "put a text of several words in quotes"))
		}
		return nil
	}
}

// session finds a companion, starting one if need be, and the session that an id or a part of one means.
func (c *cli) session(ctx context.Context, id string) (*client.Client, protocol.Session, error) {
	daemon, err := c.ensureDaemon(ctx)
	if err != nil {
		return nil, protocol.Session{}, err
	}
	s, err := c.findSession(ctx, daemon, id)
	return daemon, s, err
}

// maxNamed is how many sessions are named where an id could mean several.
const maxNamed = 5

// findSession finds the session that an id means, or the begin of one, or what follows its last hyphen.
func (c *cli) findSession(ctx context.Context, daemon *client.Client, id string) (protocol.Session, error) {
	all, err := daemon.Sessions(ctx, true, "")
	if err != nil {
		return protocol.Session{}, err
	}
	var found []protocol.Session
	for _, s := range all {
		if s.ID == id {
			return s, nil
		}
		if id != "" && (strings.HasPrefix(s.ID, id) || strings.HasSuffix(s.ID, "-"+id)) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return protocol.Session{}, hint.With(fmt.Errorf("no session has the id %q", id), "chatwright-tray session list --all lists them")
	case 1:
		return found[0], nil
	}
	var names []string
	for i, s := range found {
		if i == maxNamed {
			names = append(names, fmt.Sprintf("and %d more", len(found)-maxNamed))
			break
		}
		names = append(names, strings.TrimSpace(s.ID+" "+s.Title))
	}
	return protocol.Session{}, hint.With(fmt.Errorf("%d sessions have an id that begins or ends with %q: %s", len(found), id, strings.Join(names, ", ")),
		"write more of the id")
}

// completionPatience is how long a shell waits for ids.
const completionPatience = 2 * time.Second

// completeSessions offers the ids of sessions to a shell, if a companion runs: a key press starts none.
func (c *cli) completeSessions(cmd *cobra.Command, args []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), completionPatience)
	defer cancel()
	daemon, err := c.daemon(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, err := daemon.Sessions(ctx, true, "")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var ids []cobra.Completion
	for _, s := range all {
		if strings.HasPrefix(s.ID, begin) {
			ids = append(ids, cobra.CompletionWithDesc(s.ID, printable(s.Title)))
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
