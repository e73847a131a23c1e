package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"chatwright.dev/tray/app/instance"
	"chatwright.dev/tray/app/paths"
	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream/detect"
)

// cli is one run of the command line.
type cli struct {
	args           []string
	stdout, stderr io.Writer
	flags          settings.Flags
	begun          bool          // a command does its work: what goes wrong from now on is no wrong usage
	detect         detect.Config // where a daemon looks for model servers; zero: on this machine
	unhelped       error         // why no help was shown
	broken         atomic.Bool   // something was said below the table that is repainted in place
}

func (c *cli) rootCommand() *cobra.Command {
	var headless bool
	root := &cobra.Command{
		Use:   "chatwright-tray",
		Short: "The Chatwright companion: tests of chat bots reach your models and databases through it",
		Long: `Chatwright Tray is the companion of Chatwright on your machine. Without a command it runs in the tray
of your desktop and serves Studio, the proxy to your model server and the data-state API on
http://127.0.0.1:4319. With --headless it does the same without a desktop.`,
		Example: `  chatwright-tray                              run in the tray
  chatwright-tray --headless --upstream demo   run with the built-in model
  chatwright-tray start                        in the background; stop ends it`,
		Version:       version,
		Args:          noArguments,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.serve(cmd.Context(), headless)
		},
	}
	root.SetFlagErrorFunc(wrongFlag)
	root.Flags().BoolVar(&headless, "headless", false, "run without a tray, for a server or CI")
	root.SetVersionTemplate("chatwright-tray {{.Version}}\n")
	c.settingsFlags(root.Flags(), serverSetting)
	c.settingsFlags(root.PersistentFlags(), placeSetting)
	root.AddCommand(c.startCommand(), c.stopCommand(), c.restartCommand(), c.statusCommand(), c.openCommand(),
		c.callsCommand(), c.queryCommand(), c.studioCommand(), c.upstreamCommand(), c.cassetteCommand(), c.sessionCommand(), c.doctorCommand(), c.autostartCommand(),
		c.versionCommand(), exitCodesTopic())
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" { // cobra prints its help for a shell that it does not know, and calls that a success
			cmd.RunE = func(_ *cobra.Command, args []string) error {
				err := errors.New("a shell is needed")
				if len(args) > 0 {
					err = fmt.Errorf("no completion for %q", args[0])
				}
				return withCode(exitUsage, hint.With(err, "name one of bash, zsh, fish and powershell"))
			}
			cmd.Args = cobra.ArbitraryArgs
		}
	}
	c.prepareHelp(root)
	c.noteBegin(root)
	return root
}

// noteBegin makes every command note that it begins.
func (c *cli) noteBegin(cmd *cobra.Command) {
	if do := cmd.RunE; do != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			c.begun = true
			return do(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		c.noteBegin(sub)
	}
}

// wrongUsage is err of a command that did not begin: flags that are unknown, missing or contradict each other, or too many
// words. Cobra tells of each in a way of its own.
func wrongUsage(cmd *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	if hint.Of(err) == "" {
		err = hint.With(err, "see "+cmd.CommandPath()+" --help")
	}
	if _, coded := errors.AsType[codedError](err); coded {
		return err
	}
	return withCode(exitUsage, err)
}

// Which commands take which settings as flags: those that say where a daemon is go with every command, the others with
// what starts one, and what opens a page may be told not to.
func placeSetting(s settings.Setting) bool {
	return s.Name == "state-dir" || s.Name == "control-socket"
}
func serverSetting(s settings.Setting) bool { return !placeSetting(s) }
func openSetting(s settings.Setting) bool   { return s.Name == "no-browser" }

// settingsFlags gives a command the flags of the settings that are wanted.
func (c *cli) settingsFlags(flags *pflag.FlagSet, wanted func(settings.Setting) bool) {
	for _, s := range settings.Table() {
		if s.NoFlag || !wanted(s) {
			continue
		}
		usage := s.Usage
		if s.Repeatable {
			usage += "; repeatable"
		}
		if s.Env != "" {
			usage += " [" + s.Env + "]"
		}
		flag := flags.VarPF(c.flags.Value(s), s.Name, "", usage)
		if s.Bool {
			flag.NoOptDefVal = "true"
		}
	}
}

// noArguments refuses words that no command claimed: most of them are commands with a slip.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q for %s", args[0], cmd.CommandPath())
	way := "see " + cmd.CommandPath() + " --help"
	if near := nearCommand(cmd, args[0]); near != "" {
		way = "did you mean " + cmd.CommandPath() + " " + near + "?"
	}
	return withCode(exitUsage, hint.With(err, way))
}

// input is where settings come from that tray.toml has no say in.
func (c *cli) input() settings.Input {
	return settings.Input{Flag: c.flags.Lookup, Env: os.LookupEnv}
}

// whereabouts reads no more than what it takes to find a daemon, so that one can be asked, and stopped, while tray.toml
// is broken.
func (c *cli) whereabouts() (paths.Paths, error) {
	in := c.input()
	stateDir, err := settings.StateDir(in)
	if err != nil {
		return paths.Paths{}, withCode(exitUsage, err)
	}
	where, err := paths.Resolve(stateDir)
	if err != nil {
		return paths.Paths{}, err
	}
	socket, err := settings.ControlSocket(in)
	if err != nil {
		return paths.Paths{}, withCode(exitUsage, err)
	}
	where, err = where.WithSocket(socket)
	return where, withCode(exitUsage, err)
}

// load reads all settings, for a start.
func (c *cli) load() (settings.Settings, paths.Paths, error) {
	where, err := c.whereabouts()
	if err != nil {
		return settings.Settings{}, paths.Paths{}, err
	}
	return c.loadAt(where)
}

// loadAt is load for who knows already where everything is.
func (c *cli) loadAt(where paths.Paths) (settings.Settings, paths.Paths, error) {
	now, err := settings.Load(settings.Input{Flag: c.flags.Lookup, Env: os.LookupEnv, File: where.Config})
	if err != nil {
		return settings.Settings{}, paths.Paths{}, withCode(exitUsage, err)
	}
	where, err = where.WithSocket(now.ControlSocket)
	return now, where, withCode(exitUsage, err)
}

// daemon finds the companion that runs, for the commands that need one.
func (c *cli) daemon(ctx context.Context) (*client.Client, error) {
	where, err := c.whereabouts()
	if err != nil {
		return nil, err
	}
	daemon, _, err := running(ctx, where)
	if err != nil {
		return nil, notRunning(err)
	}
	return daemon, nil
}

// startingPatience is how long a command waits for a companion that is starting or ending. It is longer than one that
// works takes to answer on a busy machine, and shorter than a person wonders.
const startingPatience = 5 * time.Second

// running is instance.Running for a command that can wait a moment: what a script asks right after it started a
// companion is answered, and not sent away.
func running(ctx context.Context, where paths.Paths) (*client.Client, protocol.Discovery, error) {
	ctx, cancel := context.WithTimeout(ctx, startingPatience)
	defer cancel()
	return instance.Await(ctx, where)
}

// notRunning words what instance.Running said for a person.
func notRunning(err error) error {
	if exitCode(err) != exitNotRunning {
		return err
	}
	return withCode(exitNotRunning, hint.With(errors.New("Chatwright is not running"), "start it: chatwright-tray start"))
}

func exitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: `The exit codes:

  0    done
  1    failed; the error line says why
  2    wrong usage: a flag, an environment variable or a line of tray.toml
  3    Chatwright is not running
  4    Chatwright is already running
  5    what was asked is not supported
  130  interrupted, or ended at once

"stop" when nothing runs says so and is 0.`,
	}
}
