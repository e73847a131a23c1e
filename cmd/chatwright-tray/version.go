package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"chatwright.dev/tray/app"
	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server/protocol"
)

func (c *cli) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			newer := c.newerRelease()
			if asJSON {
				return c.printJSON(struct {
					Version string            `json:"version"`
					Go      string            `json:"go"`
					OS      string            `json:"os"`
					Arch    string            `json:"arch"`
					Newer   *protocol.Release `json:"newer,omitempty"`
				}{version, runtime.Version(), runtime.GOOS, runtime.GOARCH, newer})
			}
			_, err := fmt.Fprintln(c.stdout, "chatwright-tray "+version)
			if newer != nil { // beside the data: what reads the version from here finds it alone
				_, _ = fmt.Fprintf(c.stderr, "version %s is available: %s\n", printable(newer.Version), printable(newer.URL))
			}
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// newerRelease is the one that the companion last heard of; nil when it heard of none. The network is not asked.
func (c *cli) newerRelease() *protocol.Release {
	where, err := c.whereabouts()
	if err != nil {
		return nil
	}
	state, err := settings.PeekState(where.StateFile)
	if err != nil || state.Release == nil {
		return nil
	}
	return app.KnownRelease(*state.Release, version)
}
