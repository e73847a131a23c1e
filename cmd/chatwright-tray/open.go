package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

func (c *cli) openCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:       "open [studio|console]",
		Short:     "Open Studio, or the console, in your browser",
		ValidArgs: []string{string(protocol.OpenStudio), string(protocol.OpenConsole)},
		RunE: func(cmd *cobra.Command, args []string) error {
			target := protocol.OpenStudio
			if len(args) > 0 {
				target = protocol.OpenTarget(args[0])
			}
			if len(args) > 1 || target != protocol.OpenStudio && target != protocol.OpenConsole {
				return withCode(exitUsage, hint.With(fmt.Errorf("cannot open %q", strings.Join(args, " ")), "open studio, or open console"))
			}
			daemon, err := c.daemon(cmd.Context())
			if err != nil {
				return err
			}
			ask := daemon.Open
			if c.noBrowser() {
				ask = daemon.URL
			}
			url, err := ask(cmd.Context(), target)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.stdout, url)
			return err
		},
	}
	c.settingsFlags(cmd.Flags(), openSetting)
	return cmd
}

// noBrowser says whether this command line is to print a URL instead of opening it, whatever the daemon would do.
func (c *cli) noBrowser() bool {
	now, _, err := c.load()
	return err == nil && now.NoBrowser
}
