package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/build/manual"
)

//go:generate go test . -count=1 -run TestTheManualIsTheProgramsOwn -update

// The manual in build/manual says what the commands say of themselves. It is written anew with go generate ./cmd/...
func TestTheManualIsTheProgramsOwn(t *testing.T) {
	c := &cli{stdout: io.Discard, stderr: io.Discard}
	m := manual.Manual{
		Root:     c.rootCommand(),
		Version:  version,
		Settings: manualSettings(),
		Files:    manualFiles(),
		Homepage: "https://chatwright.dev",
	}
	for name, want := range map[string][]byte{"chatwright-tray.1": m.Man(), "commands.md": m.Markdown()} {
		path := filepath.Join("..", "..", "build", "manual", name)
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the commands say; go generate ./cmd/... writes it", path)
		}
	}
}

func manualSettings() []manual.Setting {
	var all []manual.Setting
	for _, s := range settings.Table() {
		line := manual.Setting{Env: s.Env, Key: s.Key, Default: s.Default, Usage: s.Usage}
		if !s.NoFlag {
			line.Flag = "--" + s.Name
			if s.Arg != "" && !s.Bool {
				line.Flag += " " + s.Arg
			}
		}
		if s.Repeatable {
			line.Usage += "; repeatable, with commas in the environment, a list in the file"
		}
		all = append(all, line)
	}
	return all
}

func manualFiles() []manual.File {
	return []manual.File{
		{Path: "$XDG_CONFIG_HOME/chatwright/tray.toml", Usage: "settings: the program reads it, at start and on SIGHUP, and never writes it"},
		{Path: "$XDG_CACHE_HOME/chatwright/ui/", Usage: "copies of Studio, one folder a version"},
		{Path: "$XDG_STATE_HOME/chatwright/", Usage: "log, history of calls, and what is remembered between runs"},
		{Path: "$XDG_CONFIG_HOME/autostart/dev.chatwright.tray.desktop", Usage: "start at login, once it is switched on"},
		{Path: "$XDG_RUNTIME_DIR/chatwright/control.sock", Usage: "where the command line reaches the daemon"},
	}
}
