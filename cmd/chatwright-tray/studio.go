package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

func (c *cli) studioCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "studio",
		Short: "Look after the offline copy of Studio: status, update, rollback, prune",
		Long: `Looks after the offline copy of Studio, which a companion serves that was started with --ui. The commands ask
the companion that runs. Where none runs, or it keeps no copy, they work on the cache itself and say so.`,
		Example: `  chatwright-tray studio update
  chatwright-tray studio rollback
  chatwright-tray studio status --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := noArguments(cmd, args); err != nil {
				return err
			}
			return withCode(exitUsage, hint.With(errors.New("studio wants to know what to do"), "studio status, update, rollback or prune"))
		},
	}
	cmd.AddCommand(c.studioStatusCommand(), c.studioUpdateCommand(), c.studioRollbackCommand(), c.studioPruneCommand())
	return cmd
}

// releaseSetting are the settings that say where a release comes from, for an update of the cache itself.
func releaseSetting(s settings.Setting) bool { return s.Name == "ui-url" || s.Name == "ui-key" }

// atDesk runs a command where the offline copy is kept.
func (c *cli) atDesk(cmd *cobra.Command, act func(context.Context, studioDesk) error) error {
	desk, err := c.studioDesk(cmd.Context())
	if err != nil {
		return err
	}
	defer desk.close()
	return act(cmd.Context(), desk)
}

func (c *cli) studioStatusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show which version is served, what can be rolled back to, and what is newer",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.atDesk(cmd, func(ctx context.Context, desk studioDesk) error {
				status, err := desk.status(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return c.printJSON(deskStatus{status, desk.source(), desk.folder()})
				}
				_, err = io.WriteString(c.stdout, studioTable(status, desk))
				return err
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// deskStatus is the status with where it comes from.
type deskStatus struct {
	protocol.StudioStatus
	Source string `json:"source"` // "companion", or "cache" where none was asked
	Folder string `json:"folder"`
}

func studioTable(s protocol.StudioStatus, desk studioDesk) string {
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-11s%s\n", name, printable(value))
		}
	}
	row("Studio", s.Version)
	if s.Version == "" {
		row("Studio", "no copy yet: chatwright-tray studio update")
	}
	row("Previous", s.Previous)
	switch {
	case s.Stage != protocol.StudioIdle && s.Stage != "":
		row("Doing", progressLine(s))
	case s.Held != "":
		row("Held back", s.Held+", since the rollback; studio update --ignore-hold installs it")
	default:
		row("Available", s.Available)
	}
	if !s.CheckedAt.IsZero() {
		row("Checked", s.CheckedAt.Local().Format("2 Jan 15:04"))
	}
	row("Problem", s.Error)
	row("", s.Hint)
	row("Cache", desk.folder())
	row("Source", desk.describe())
	return b.String()
}

func (c *cli) studioUpdateCommand() *cobra.Command {
	var asJSON, ignoreHold bool
	cmd := &cobra.Command{
		Use:   "update",
		Short: "Install the newest release, if it is newer; Ctrl-C cancels",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.atDesk(cmd, func(ctx context.Context, desk studioDesk) error {
				return c.updateStudio(ctx, desk, ignoreHold, asJSON)
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	c.settingsFlags(cmd.Flags(), releaseSetting)
	cmd.Flags().BoolVar(&ignoreHold, "ignore-hold", false, "install a version that was rolled back from, too")
	return cmd
}

func (c *cli) updateStudio(ctx context.Context, desk studioDesk, ignoreHold, asJSON bool) error {
	before, err := desk.status(ctx)
	if err != nil {
		return err
	}
	show := c.progressPrinter()
	after, err := desk.update(ctx, protocol.StudioUpdateRequest{IgnoreHold: ignoreHold}, show.print)
	show.end()
	if err != nil {
		if ctx.Err() != nil {
			return withCode(exitInterrupted, hint.With(errors.New("the update was cancelled"),
				"chatwright-tray studio update goes on where it stopped, if the server allows"))
		}
		return err
	}
	if asJSON {
		return c.printJSON(after)
	}
	text := "Studio " + after.Version + " is the newest."
	switch {
	case after.Version != before.Version:
		text = "Studio " + after.Version + " is installed" + desk.afterChange()
	case after.Held != "" && after.Available != "":
		text = fmt.Sprintf("Studio %s stays, since you rolled back from %s; --ignore-hold installs it.", after.Version, after.Available)
	}
	c.say(text)
	return nil
}

func (c *cli) studioRollbackCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rollback",
		Short: "Go back to the version before, until a newer one is released",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.atDesk(cmd, func(ctx context.Context, desk studioDesk) error {
				after, err := desk.rollback(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return c.printJSON(after)
				}
				c.say("Studio " + after.Version + " is back" + desk.afterChange())
				if after.Held != "" {
					c.say("Studio " + after.Held + " stays away until a newer one is released, or: chatwright-tray studio update --ignore-hold")
				}
				return nil
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (c *cli) studioPruneCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove all copies but the one that is served and the one before",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.atDesk(cmd, func(ctx context.Context, desk studioDesk) error {
				pruned, err := desk.prune(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					if pruned.Removed == nil {
						pruned.Removed = []string{} // [] and not null
					}
					return c.printJSON(pruned)
				}
				c.say(prunedText(pruned))
				if len(pruned.InUse) > 0 {
					c.say("Kept, since another program serves it: " + strings.Join(pruned.InUse, ", "))
				}
				return nil
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func prunedText(p protocol.StudioPruned) string {
	if len(p.Removed) == 0 {
		return "There is nothing to remove."
	}
	return fmt.Sprintf("Removed %s, %s: %s", tray.Plural(int64(len(p.Removed)), "item"), byteSize(p.Bytes), strings.Join(p.Removed, ", "))
}

// say tells a person how it went; it is no data, so it does not go to standard output.
func (c *cli) say(text string) { _, _ = fmt.Fprintln(c.stderr, sentenceOf(text)) }
