package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server/hint"
)

func TestTerminalIsTheUsersOrTheDesktops(t *testing.T) {
	command := []string{"/opt/chat wright", "session", "attach", "01-a"}
	for name, c := range map[string]struct {
		goos, terminal string
		there          []string
		want           []string // before the command; nil: there is none
	}{
		"the user's":                     {"linux", "kitty", []string{"kitty", "xterm"}, []string{"/bin/kitty"}},
		"the user's, with a path":        {"linux", "/opt/foot/foot --title=x", []string{"/opt/foot/foot"}, []string{"/bin//opt/foot/foot", "--title=x"}},
		"the user's, that nobody knows":  {"linux", "myterm", []string{"myterm"}, []string{"/bin/myterm", "-e"}},
		"the user's, with its own way":   {"linux", "gnome-terminal", []string{"gnome-terminal"}, []string{"/bin/gnome-terminal", "--"}},
		"the user's, that is not there":  {"linux", "gone", []string{"xterm"}, nil},
		"the desktop's choice":           {"linux", "", []string{"xterm", "konsole", "x-terminal-emulator", "xdg-terminal-exec"}, []string{"/bin/xdg-terminal-exec"}},
		"the distribution's alternative": {"linux", "", []string{"xterm", "konsole", "x-terminal-emulator"}, []string{"/bin/x-terminal-emulator", "-e"}},
		"one of many":                    {"freebsd", " ", []string{"xterm", "xfce4-terminal"}, []string{"/bin/xfce4-terminal", "-x"}},
		"the last resort":                {"linux", "", []string{"xterm"}, []string{"/bin/xterm", "-e"}},
		"none":                           {"linux", "", nil, nil},
		"Windows Terminal":               {"windows", "", []string{"wt.exe"}, []string{"/bin/wt.exe", "new-tab", "--"}},
		"an older Windows":               {"windows", "ignored", nil, []string{"cmd.exe", "/c", "start", ""}},
	} {
		d := terminalSource{c.goos, func(string) string { return c.terminal }, func(program string) (string, error) {
			if slices.Contains(c.there, program) {
				return "/bin/" + program, nil
			}
			return "", exec.ErrNotFound
		}}
		got, err := d.open(command)
		if c.want == nil {
			if err == nil {
				t.Errorf("%s: got %q, want an error", name, got)
			}
			continue
		}
		if want := append(c.want, command...); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	got, err := terminalSource{goos: "darwin"}.open([]string{"/Applications/It's.app/x", "attach", "01-a"})
	if want := `'/Applications/It'\''s.app/x' 'attach' '01-a'`; err != nil || got[len(got)-1] != want || got[0] != "osascript" {
		t.Errorf("macOS: got %q, %v, want the line %s", got, err, want)
	}
}

func TestTerminalRunsThisProgramWithTheSameFolder(t *testing.T) {
	bin := t.TempDir()
	said := filepath.Join(bin, "said")
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" > " + said + "\n"
	if err := os.WriteFile(filepath.Join(bin, "myterm"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("TERMINAL", "myterm")
	c := &cli{stderr: new(strings.Builder)}
	for _, s := range settings.Table() {
		if s.Name == "state-dir" || s.Name == "addr" {
			_ = c.flags.Value(s).Set("/some/where")
		}
	}
	if err := c.terminalOpener(settings.Settings{})([]string{"session", "attach", "01-a"}); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(said)
	if want := strings.Join([]string{"-e", self, "--state-dir=/some/where", "session", "attach", "01-a", ""}, "\n"); err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if err := os.WriteFile(filepath.Join(bin, "myterm"), []byte("#!/bin/sh\nexit 7\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	err = c.terminalOpener(settings.Settings{})([]string{"session", "attach", "01-a"})
	if _, failed := errors.AsType[*exec.ExitError](err); !failed || !strings.Contains(hint.Of(err), "chatwright-tray session attach 01-a") {
		t.Errorf("a terminal that fails: got %v (%s)", err, hint.Of(err))
	}
	var printed strings.Builder
	c.stderr = &printed
	if err := c.terminalOpener(settings.Settings{NoBrowser: true})([]string{"session", "attach", "01-a"}); err != nil || printed.String() != "chatwright-tray session attach 01-a\n" {
		t.Errorf("where nothing is to be opened: got %q, %v", printed.String(), err)
	}
}
