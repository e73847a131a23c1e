package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"chatwright.dev/tray/app/attach/plain"
	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

func (c *cli) sessionExportCommand() *cobra.Command {
	var asJSON bool
	var file string
	cmd := &cobra.Command{
		Use:   "export ID",
		Short: "Write a session as Markdown, or as JSON with all of its events",
		Example: `  chatwright-tray session export xjey > talk.md
  chatwright-tray session export xjey --json -o talk.json`,
		Args:              sessionArguments(1, 1),
		ValidArgsFunction: c.completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			daemon, s, err := c.session(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			write := func(w io.Writer) error {
				if asJSON {
					return writeSessionJSON(cmd.Context(), w, daemon, s)
				}
				printer := plain.Markdown{W: w, Session: s}
				return errors.Join(eachEvent(cmd.Context(), daemon, s, printer.Apply), printer.End())
			}
			if file == "" || file == "-" {
				return write(c.stdout)
			}
			if err := writeWhole(file, write); err != nil {
				return err
			}
			_, _ = fmt.Fprintf(c.stderr, "Wrote session %s to %s\n", s.ID, file)
			return nil
		},
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().StringVarP(&file, "output", "o", "", "write this file, whole or not at all, instead of standard output")
	return cmd
}

// writeSessionJSON writes {"session":…,"events":[…]} without ever holding all of it.
func writeSessionJSON(ctx context.Context, w io.Writer, daemon *client.Client, s protocol.Session) error {
	head, err := jsonLine(s)
	if err != nil {
		return err
	}
	next := `{"session":` + strings.TrimSuffix(string(head), "\n") + ",\"events\":[\n"
	err = eachEvent(ctx, daemon, s, func(e protocol.Event) error {
		line, err := jsonLine(e)
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, next+strings.TrimSuffix(string(line), "\n"))
		next = ",\n"
		return err
	})
	if err != nil {
		return err
	}
	if next != ",\n" {
		_, err = io.WriteString(w, next)
	}
	if err == nil {
		_, err = io.WriteString(w, "\n]}\n")
	}
	return err
}

// eachEvent calls f with the events of a session that there are now.
func eachEvent(ctx context.Context, daemon *client.Client, s protocol.Session, f func(protocol.Event) error) error {
	for from := s.FirstSeq; from <= s.LastSeq; {
		page, err := daemon.Events(ctx, s.ID, from)
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			if err := f(e); err != nil {
				return err
			}
		}
		if page.Next <= from {
			return hint.With(errors.New("the companion has fewer events than it said"), "try again")
		}
		from = page.Next
	}
	return nil
}
