package autostart

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"chatwright.dev/tray/server/wholefile"
)

func agentPath(cfg Config) string { return filepath.Join(cfg.Folder, label+".plist") }

// domain names the login session of this user for launchctl.
func domain() string { return fmt.Sprintf("gui/%d", os.Getuid()) }

func read(cfg Config) (Status, error) {
	path := agentPath(cfg)
	data, err := wholefile.Read(path, maxEntry)
	if errors.Is(err, fs.ErrNotExist) {
		return Status{}, nil
	}
	if err != nil {
		return Status{}, err
	}
	a, err := parseAgent(data)
	if err != nil {
		return Status{Where: path, Trouble: err.Error()}, nil
	}
	// Without launchctl, or without a login session, the file alone counts.
	list, _ := exec.Command("/bin/launchctl", "print-disabled", domain()).Output()
	s := Status{Where: path, Command: strings.Join(a.command, " ")}
	s.On = !a.disabled && !a.notAtLogin && !disabledIn(string(list))
	if s.On {
		s.Trouble = missing(a.command[0])
		s.gone = s.Trouble != ""
	}
	return s, nil
}

// switchOn writes the file and lifts what the system's settings may have recorded against it. It is not loaded now:
// that would start a second companion at once.
func switchOn(cfg Config) error {
	if err := os.MkdirAll(cfg.Folder, 0o700); err != nil {
		return err
	}
	if err := wholefile.Write(agentPath(cfg), renderAgent(cfg.Command), 0o644); err != nil {
		return err
	}
	_ = exec.Command("/bin/launchctl", "enable", domain()+"/"+label).Run() // Read tells whether it took
	return nil
}

func switchOff(cfg Config) error {
	if err := os.Remove(agentPath(cfg)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
