package autostart_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"chatwright.dev/tray/app/autostart"
	"chatwright.dev/tray/server/servertest"
)

// arguments are those that a quoting can get wrong.
var arguments = []string{
	"/usr/bin/chatwright-tray", "/home/Jo Ann/tray", `C:\Program Files\tray.exe`, `a"b`, "$HOME", "`id`", "100%", "%u", "", "a\\", `a\\"b`,
	"--state-dir=/tmp/x y", "ümläut", "tab\there", "line\nbreak", "&|;<>()#?*~'",
}

func TestAnEntryNamesTheCommandThatItWasMadeOf(t *testing.T) {
	command := append([]string{"/usr/bin/chatwright-tray"}, arguments...)
	got, off, err := autostart.ParseExec(autostart.RenderEntry(command))
	if err != nil || off || !slices.Equal(got, command) {
		t.Errorf("got %q, off %v, %v, want %q", got, off, err, command)
	}
}

// Desktops read what they understand, and their validator knows what that is.
func TestDesktopsFindNoFaultInAnEntry(t *testing.T) {
	validator := servertest.Need(t, "desktop-file-validate", "desktop-file-utils")
	for name, text := range map[string][]byte{
		"plain":                autostart.RenderEntry([]string{"/usr/bin/chatwright-tray"}),
		"with arguments":       autostart.RenderEntry([]string{"/home/Jo Ann/50% $HOME/tray", `--state-dir=/tmp/x "y"`}),
		"switched off for one": autostart.RenderHidden(),
	} {
		path := filepath.Join(t.TempDir(), "dev.chatwright.tray.desktop")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if said, err := exec.Command(validator, path).CombinedOutput(); err != nil || len(said) > 0 {
			t.Errorf("%s: %v\n%s%s", name, err, said, text)
		}
	}
}

func FuzzExecIsReadAsItWasWritten(f *testing.F) {
	for _, argument := range arguments {
		f.Add(argument)
	}
	f.Fuzz(func(t *testing.T, argument string) {
		got, err := autostart.SplitExec(autostart.QuoteExec(argument))
		if err != nil || len(got) != 1 || got[0] != argument {
			t.Errorf("%q: got %q, %v", argument, got, err)
		}
	})
}

func FuzzParseEntry(f *testing.F) {
	f.Add([]byte("[Desktop Entry]\nExec=\"a\\\\\" %F\nHidden=true"))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _, _ = autostart.ParseExec(data) })
}

func TestAnAgentNamesTheCommandThatItWasMadeOf(t *testing.T) {
	command := append([]string{"/Applications/Chatwright Tray.app/Contents/MacOS/chatwright-tray"}, "<&>\"'", "ü")
	got, starts, err := autostart.ParseAgent(autostart.RenderAgent(command))
	if err != nil || !starts || !slices.Equal(got, command) {
		t.Errorf("got %q, starts %v, %v, want %q", got, starts, err, command)
	}
}

func TestAgentsOfOthers(t *testing.T) {
	plist := func(body string) []byte { return []byte("<plist><dict>" + body + "</dict></plist>") }
	const program = "<key>Program</key><string>/x</string>"
	for _, c := range []struct {
		name, body string
		starts     bool
		fails      bool
	}{
		{"a program without a list of arguments", program + "<key>RunAtLoad</key><true/>", true, false},
		{"not at login", program, false, false},
		{"not at login, said so", program + "<key>RunAtLoad</key><false/>", false, false},
		{"disabled", program + "<key>RunAtLoad</key><true/><key>Disabled</key><true/>", false, false},
		{"what is of no use is passed over", "<key>Env</key><dict><key>Program</key><string>/y</string></dict>" + program + "<key>RunAtLoad</key><true/>", true, false},
		{"no program", "<key>RunAtLoad</key><true/>", false, true},
		{"broken", "<key>", false, true},
	} {
		command, starts, err := autostart.ParseAgent(plist(c.body))
		if (err != nil) != c.fails || starts != c.starts || !c.fails && !slices.Equal(command, []string{"/x"}) {
			t.Errorf("%s: got %q, %v, %v", c.name, command, starts, err)
		}
	}
}

func FuzzParseAgent(f *testing.F) {
	f.Add(autostart.RenderAgent([]string{"/x", "y"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if command, _, err := autostart.ParseAgent(data); err == nil && len(command) == 0 {
			t.Error("no error and no program")
		}
	})
}

func TestWhatTheSystemSettingsSwitchedOff(t *testing.T) {
	for list, want := range map[string]bool{
		"": false,
		"disabled services = {\n\t\"dev.chatwright.tray\" => disabled\n}\n": true,
		"disabled services = {\n\t\"dev.chatwright.tray\" => enabled\n}\n":  false,
		"disabled services = {\n\t\"dev.chatwright.tray\" => true\n}\n":     true,
		"disabled services = {\n\t\"dev.other\" => disabled\n}\n":           false,
	} {
		if got := autostart.DisabledIn(list); got != want {
			t.Errorf("%q: got %v, want %v", list, got, want)
		}
	}
	for _, c := range []struct {
		value []byte
		want  bool
	}{{nil, true}, {[]byte{2, 0}, true}, {[]byte{3, 0}, false}, {[]byte{6}, true}, {[]byte{7}, false}} {
		if got := autostart.Approved(c.value); got != c.want {
			t.Errorf("%v: got %v, want %v", c.value, got, c.want)
		}
	}
}

// The rules of CommandLineToArgvW, whose examples these are.
func TestCommandLineOfWindows(t *testing.T) {
	for _, c := range []struct {
		command []string
		want    string
	}{
		{[]string{`C:\Program Files\Chatwright\chatwright-tray.exe`}, `"C:\Program Files\Chatwright\chatwright-tray.exe"`},
		{[]string{`C:\x.exe`, "--state-dir", `D:\my data\`}, `"C:\x.exe" --state-dir "D:\my data\\"`},
		{[]string{`C:\x.exe`, `a"b`, ""}, `"C:\x.exe" "a\"b" ""`},
		{[]string{`C:\x.exe`, `a\\b`, `a\\"b`}, `"C:\x.exe" a\\b "a\\\\\"b"`},
	} {
		if got := autostart.CommandLine(c.command); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
		if got, err := autostart.ProgramOf(c.want); err != nil || got != c.command[0] {
			t.Errorf("got %s, %v, want %s", got, err, c.command[0])
		}
	}
	if got, err := autostart.ProgramOf(`C:\x.exe --headless`); err != nil || got != `C:\x.exe` {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := autostart.ProgramOf(`"C:\x.exe`); err == nil {
		t.Error("an open quote was taken")
	}
}
