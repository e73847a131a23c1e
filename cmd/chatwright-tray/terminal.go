package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server/hint"
)

// terminals are the programs that open a terminal on Linux and its kin, what the desktop chose first, each with what
// comes before the command that is to run in it.
func terminals() [][]string {
	return [][]string{
		{"xdg-terminal-exec"}, {"x-terminal-emulator", "-e"},
		{"gnome-terminal", "--"}, {"ptyxis", "--"}, {"kgx", "--"}, {"konsole", "-e"}, {"xfce4-terminal", "-x"}, {"mate-terminal", "-x"},
		{"tilix", "-e"}, {"terminator", "-x"}, {"kitty"}, {"foot"}, {"alacritty", "-e"}, {"ghostty", "-e"}, {"wezterm", "start", "--"},
		{"urxvt", "-e"}, {"st", "-e"}, {"xterm", "-e"},
	}
}

// A terminalSource is what a choice of a terminal depends on.
type terminalSource struct {
	goos string
	env  func(name string) string
	look func(program string) (path string, err error)
}

// open returns the command that runs command in a terminal.
func (d terminalSource) open(command []string) ([]string, error) {
	switch d.goos {
	case "darwin":
		// The shell in the new window reads the line, and AppleScript passes it on as it is.
		return []string{"osascript", "-e", "on run argv", "-e", `tell application "Terminal"`, "-e", "activate",
			"-e", "do script (item 1 of argv)", "-e", "end tell", "-e", "end run", shellLine(command)}, nil
	case "windows":
		if path, err := d.look("wt.exe"); err == nil {
			return append([]string{path, "new-tab", "--"}, command...), nil
		}
		return append([]string{"cmd.exe", "/c", "start", ""}, command...), nil
	}
	known := terminals()
	if own := strings.Fields(d.env("TERMINAL")); len(own) > 0 {
		path, err := d.look(own[0])
		if err != nil {
			return nil, hint.With(fmt.Errorf("$TERMINAL names %s, which is not there", own[0]), "name a terminal that is installed, or none")
		}
		way := []string{"-e"} // what most understand
		for _, t := range known {
			if t[0] == filepath.Base(own[0]) {
				way = t[1:]
			}
		}
		return append(append(append([]string{path}, own[1:]...), way...), command...), nil
	}
	for _, t := range known {
		if path, err := d.look(t[0]); err == nil {
			return append(append([]string{path}, t[1:]...), command...), nil
		}
	}
	return nil, errors.New("no program that opens a terminal was found")
}

// shellLine writes a command as a line for a POSIX shell.
func shellLine(command []string) string {
	words := make([]string, len(command))
	for i, word := range command {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

// terminalOpener returns what runs this program in a terminal of its own.
func (c *cli) terminalOpener(s settings.Settings) func(args []string) error {
	return func(args []string) error {
		line := "chatwright-tray " + strings.Join(args, " ")
		if s.NoBrowser { // which is to open nothing
			_, _ = fmt.Fprintln(c.stderr, line)
			return nil
		}
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("finding this program: %w", err)
		}
		// Where this companion is, the new process must look for it.
		command := append([]string{self}, c.placeArgs()...)
		opened, err := terminalSource{runtime.GOOS, os.Getenv, exec.LookPath}.open(append(command, args...))
		if err == nil {
			err, _ = within(openPatience, exec.Command(opened[0], opened[1:]...).Run)
			if err != nil {
				err = fmt.Errorf("%s: %w", filepath.Base(opened[0]), err)
			}
		}
		if err != nil && hint.Of(err) == "" {
			err = hint.With(err, "set TERMINAL to your terminal, or run: "+line)
		}
		return err
	}
}

// placeArgs are the flags of this run that say where a companion is.
func (c *cli) placeArgs() (args []string) {
	for _, s := range settings.Table() {
		if values, set := c.flags.Lookup(s.Name); set && placeSetting(s) {
			for _, v := range values {
				args = append(args, "--"+s.Name+"="+v)
			}
		}
	}
	return args
}
