package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"chatwright.dev/tray/app"
	"chatwright.dev/tray/app/doctor"
	"chatwright.dev/tray/app/instance"
	"chatwright.dev/tray/app/paths"
	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

func (c *cli) doctorCommand() *cobra.Command {
	var asJSON, headless bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look at everything that Chatwright needs of this machine, and say what to do about it",
		Long: `Looks at the address and who has it, the model server, the other model servers of this machine, proxies, folders
and their modes, the browser, Studio, the databases, and what a tray needs of the desktop. It changes nothing.

Where a companion runs, its address and its upstream are looked at; else those that one would be started with here.

It exits with 1 when something keeps the companion from its work; a warning is none of that.`,
		Example: `  chatwright-tray doctor
  chatwright-tray doctor --upstream http://localhost:1234/v1
  chatwright-tray doctor --headless --json | jq '.[] | select(.state == "failed")'`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks, err := c.examine(cmd.Context(), headless)
			if err != nil {
				return err
			}
			if asJSON {
				err = c.printJSON(checks)
			} else {
				_, err = io.WriteString(c.stdout, checkTable(checks))
			}
			if err != nil {
				return err
			}
			return verdictOf(checks)
		},
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&headless, "headless", false, "leave out what only a tray needs")
	c.settingsFlags(cmd.Flags(), doctorSetting)
	return cmd
}

// doctorSetting reports whether a setting says what there is to look at.
func doctorSetting(s settings.Setting) bool {
	return slices.Contains([]string{"addr", "upstream", "ui-dir", "no-browser"}, s.Name) || dataSetting(s)
}

// examine looks at what runs, or would run. Settings that cannot be read are a finding like any other.
func (c *cli) examine(ctx context.Context, headless bool) ([]protocol.Check, error) {
	where, err := c.whereabouts()
	if err != nil {
		return nil, err
	}
	now, where, err := c.loadAt(where)
	if err != nil {
		return []protocol.Check{{ID: "settings", Name: "Settings", State: protocol.CheckFailed, Detail: err.Error(), Fix: hint.Of(err)}}, nil
	}
	e := app.Examination{Settings: now, Paths: where, Headless: headless, Opener: browserThere}
	if now.NoBrowser {
		e.Opener = nil
	}
	if err := c.lookAtDaemon(ctx, where, &e); err != nil {
		return nil, err
	}
	return app.Examine(ctx, e)
}

// lookAtDaemon fills in what the companion that runs says of itself, if one does. What a flag names is looked at all the
// same.
func (c *cli) lookAtDaemon(ctx context.Context, where paths.Paths, e *app.Examination) error {
	daemon, found, err := instance.Running(ctx, where)
	if err != nil {
		if exitCode(err) == exitNotRunning {
			return nil
		}
		return err
	}
	e.Headless = e.Headless || slices.Contains(found.Args, headlessFlag)
	status, err := daemon.Status(ctx)
	if err != nil {
		return err
	}
	if _, named := c.flags.Lookup("addr"); !named {
		e.Addr = status.Addr
	}
	if e.Studio = status.Studio; status.Phase == protocol.PhaseExternal {
		return nil // the upstream is that of the other one
	}
	if _, named := c.flags.Lookup("upstream"); named {
		return nil
	}
	list, err := daemon.Upstreams(ctx, false)
	if err != nil {
		return err
	}
	for _, one := range list.Upstreams {
		if !one.Active {
			continue
		}
		if e.Upstream = one.Name; one.Source != protocol.SourceNamed {
			e.Upstream = one.BaseURL
		}
	}
	return nil
}

// verdictOf is nil unless something failed.
func verdictOf(checks []protocol.Check) error {
	if !doctor.Failed(checks) {
		return nil
	}
	failed := 0
	for _, check := range checks {
		if check.State == protocol.CheckFailed {
			failed++
		}
	}
	what := "1 check failed"
	if failed > 1 {
		what = fmt.Sprintf("%d checks failed", failed)
	}
	return withCode(exitFailed, hint.With(errors.New(what), "do what stands behind the arrow"))
}

// checkTable lays the checks out, each with its way out below it.
func checkTable(checks []protocol.Check) string {
	name := 0
	for _, check := range checks {
		name = max(name, len([]rune(printable(check.Name))))
	}
	var b strings.Builder
	for _, check := range checks {
		fmt.Fprintf(&b, "%-9s%-*s  %s\n", checkWord(check.State), name, printable(check.Name), printable(check.Detail))
		if check.Fix != "" {
			fmt.Fprintf(&b, "%-9s%-*s  → %s\n", "", name, "", printable(check.Fix))
		}
	}
	return b.String()
}

func checkWord(s protocol.CheckState) string {
	switch s {
	case protocol.CheckOK:
		return "ok"
	case protocol.CheckWarning:
		return "warning"
	case protocol.CheckFailed:
		return "FAILED"
	case protocol.CheckSkipped:
		return "–"
	}
	return "unknown"
}

// browserThere says whether there is a program that opens a browser, as openWithDefault would use it.
func browserThere() error {
	var programs []string
	switch {
	case os.Getenv("WSL_DISTRO_NAME") != "":
		programs = []string{"wslview", "cmd.exe"}
	case runtime.GOOS == "windows" || runtime.GOOS == "darwin":
		return nil // the system's own
	}
	for _, program := range append(programs, "xdg-open", "x-www-browser", "www-browser") {
		if _, err := exec.LookPath(program); err == nil {
			return nil
		}
	}
	return hint.With(errors.New("no program that opens a browser was found"), "install xdg-utils, or open addresses yourself")
}
