package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func (c *cli) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return c.printJSON(map[string]string{"version": version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
			}
			_, err := fmt.Fprintln(c.stdout, "chatwright-tray "+version)
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
