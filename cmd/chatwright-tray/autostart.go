package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"chatwright.dev/tray/app/autostart"
	"chatwright.dev/tray/app/instance"
	"chatwright.dev/tray/app/paths"
	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server/protocol"
)

func (c *cli) autostartCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "autostart",
		Short: "Start the tray when you log in, or not",
		Long: `Start the tray when you log in, or not. It is off until you switch it on, here or in the menu. What counts
is the entry of your desktop: its own settings show the same, and no copy of the answer is kept.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.autostartSwitch("on", "Start the tray when you log in", true),
		c.autostartSwitch("off", "Start nothing when you log in", false), c.autostartStatus())
	return cmd
}

func (c *cli) autostartSwitch(name, short string, on bool) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			entry, where, err := c.login()
			if err != nil {
				return err
			}
			if err := autostart.Set(entry, on); err != nil {
				return err
			}
			tellOfLogin(cmd.Context(), where)
			now, err := autostart.Read(entry)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.stdout, autostartText(now))
			return err
		},
	}
}

func (c *cli) autostartStatus() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status", Short: "Say whether the tray starts when you log in", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			entry, _, err := c.login()
			if err != nil {
				return err
			}
			now, err := autostart.Read(entry)
			if err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(now)
			}
			_, err = fmt.Fprintln(c.stdout, autostartText(now))
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func autostartText(now autostart.Status) string {
	switch {
	case now.Trouble != "":
		return printable("on, but it would start nothing: " + now.Trouble + " (" + now.Where + ")")
	case now.On:
		return printable("on: " + now.Command + " (" + now.Where + ")")
	case now.Where != "":
		return printable("off (" + now.Where + ")")
	}
	return "off"
}

func loginText(now *protocol.Autostart) string {
	switch {
	case now == nil:
		return ""
	case now.Trouble != "":
		return "would start nothing: " + now.Trouble
	case now.On:
		return "starts"
	}
	return "does not start"
}

// login is the entry of this program, and where the companion is that it would start.
func (c *cli) login() (autostart.Config, paths.Paths, error) {
	where, err := c.whereabouts()
	if err != nil {
		return autostart.Config{}, where, err
	}
	folder, err := c.stateDir()
	if err != nil {
		return autostart.Config{}, where, err
	}
	entry, err := loginEntry(folder)
	return entry, where, err
}

// stateDir is the one folder for everything, where one was named.
func (c *cli) stateDir() (string, error) {
	folder, err := settings.StateDir(c.input())
	if err != nil || folder == "" {
		return "", withCode(exitUsage, err)
	}
	return filepath.Abs(folder)
}

// loginEntry is what starts the tray at login: this program, with the folder that it was told to keep its files in. The
// environment of a shell, which may have told it, is not there at login.
func loginEntry(stateDir string) (autostart.Config, error) {
	program, err := autostart.Program()
	if err != nil {
		return autostart.Config{}, err
	}
	entry := autostart.Config{Command: []string{program}}
	if stateDir != "" {
		entry.Command = append(entry.Command, "--state-dir="+stateDir)
	}
	entry.Folder, entry.SystemFolders = paths.LoginEntries()
	return entry, nil
}

// tellTimeout bounds how long a companion that runs may take to look at its entry again.
const tellTimeout = 2 * time.Second

// tellOfLogin has a companion that runs look at once, as it does for whoever asks how it is. There may be none.
func tellOfLogin(ctx context.Context, where paths.Paths) {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	if daemon, _, err := instance.Running(ctx, where); err == nil {
		_, _ = daemon.Status(ctx)
	}
}
