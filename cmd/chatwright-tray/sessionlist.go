package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"chatwright.dev/tray/app/attach/plain"
	"chatwright.dev/tray/server/protocol"
)

func (c *cli) sessionListCommand() *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the live sessions",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			daemon, err := c.ensureDaemon(cmd.Context())
			if err != nil {
				return err
			}
			sessions, err := daemon.Sessions(cmd.Context(), all, "")
			if err != nil {
				return err
			}
			if asJSON {
				if sessions == nil {
					sessions = []protocol.Session{} // in JSON [] and not null
				}
				return c.printJSON(sessions)
			}
			if len(sessions) == 0 {
				way := "begin one: chatwright-tray session new ."
				if !all {
					way = "--all lists those that are recorded too; " + way
				}
				_, _ = fmt.Fprintln(c.stderr, "No live sessions; "+way)
				return nil
			}
			return c.printSessions(sessions)
		},
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVarP(&all, "all", "a", false, "and those that are only recorded, newest first")
	return cmd
}

// printSessions prints a table. The title comes last since it is as long as its words.
func (c *cli) printSessions(sessions []protocol.Session) error {
	ids, models := len("ID"), len("MODEL")
	for _, s := range sessions {
		ids, models = max(ids, len(s.ID)), max(models, len([]rune(printable(s.Model))))
	}
	models = min(models, 24)
	var b strings.Builder
	line := func(id, state, begun, model, title string) {
		fmt.Fprintf(&b, "%-*s  %-8s  %-16s  %-*s  %s\n", ids, id, state, begun, models, shortened(model, models), title)
	}
	line("ID", "STATE", "BEGUN", "MODEL", "TITLE")
	for _, s := range sessions {
		line(printable(s.ID), stateOf(s), s.CreatedAt.Local().Format("2006-01-02 15:04"), orDash(printable(s.Model)), orDash(printable(s.Title)))
	}
	_, err := io.WriteString(c.stdout, b.String())
	return err
}

// stateOf is what a session is doing; one that is only on disk is recorded, whatever it was doing.
func stateOf(s protocol.Session) string {
	switch {
	case s.Live:
		return printable(string(s.State))
	case s.Interrupted:
		return "cut off" // in the middle of a turn
	}
	return "recorded"
}

func (c *cli) sessionShowCommand() *cobra.Command {
	var asJSON, thoughts bool
	cmd := &cobra.Command{
		Use:               "show ID",
		Short:             "Print what was said in a session",
		Args:              sessionArguments(1, 1),
		ValidArgsFunction: c.completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			daemon, s, err := c.session(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(s)
			}
			if _, err := io.WriteString(c.stdout, headOf(s)); err != nil {
				return err
			}
			printer := plain.Printer{W: c.stdout, Thoughts: thoughts}
			return eachEvent(cmd.Context(), daemon, s, printer.Apply)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what it is, not what was said, as JSON; export --json has that too")
	cmd.Flags().BoolVar(&thoughts, "thoughts", false, "and what the model thought")
	return cmd
}

// headOf is what a session is, in a few lines.
func headOf(s protocol.Session) string {
	var b strings.Builder
	for _, row := range [][2]string{
		{"Session", s.ID}, {"Title", s.Title}, {"State", stateOf(s)}, {"Workspace", s.Workspace}, {"Model", s.Model},
		{"Upstream", s.Upstream}, {"Begun", s.CreatedAt.Local().Format(time.DateTime)}, {"Trouble", s.Trouble},
	} {
		if row[1] != "" {
			fmt.Fprintf(&b, "%-10s %s\n", row[0], printable(row[1]))
		}
	}
	return b.String() + "\n"
}
