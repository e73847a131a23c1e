package autostart

import (
	"errors"

	"golang.org/x/sys/windows/registry"
)

const (
	runKey      = `Software\Microsoft\Windows\CurrentVersion\Run`
	approvedKey = `Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run`
	valueName   = title
)

func read(Config) (Status, error) {
	run, err := registry.OpenKey(registry.CURRENT_USER, runKey, registry.QUERY_VALUE)
	if errors.Is(err, registry.ErrNotExist) {
		return Status{}, nil
	}
	if err != nil {
		return Status{}, err
	}
	defer func() { _ = run.Close() }()
	line, _, err := run.GetStringValue(valueName)
	if errors.Is(err, registry.ErrNotExist) {
		return Status{}, nil
	}
	if err != nil {
		return Status{}, err
	}
	s := Status{On: approved(approval()), Where: `HKCU\` + runKey, Command: line}
	if s.On {
		program, err := programOf(line)
		s.Trouble = missing(program)
		if err != nil {
			s.Trouble = err.Error()
		}
		s.gone = s.Trouble != ""
	}
	return s, nil
}

// approval is what Windows keeps about the entry; nil when it keeps nothing.
func approval() []byte {
	key, err := registry.OpenKey(registry.CURRENT_USER, approvedKey, registry.QUERY_VALUE)
	if err != nil {
		return nil
	}
	defer func() { _ = key.Close() }()
	value, _, err := key.GetBinaryValue(valueName)
	if err != nil {
		return nil
	}
	return value
}

func switchOn(cfg Config) error {
	if err := forget(approvedKey); err != nil {
		return err
	}
	key, _, err := registry.CreateKey(registry.CURRENT_USER, runKey, registry.SET_VALUE)
	if err != nil {
		return err
	}
	return errors.Join(key.SetStringValue(valueName, commandLine(cfg.Command)), key.Close())
}

func switchOff(Config) error { return errors.Join(forget(runKey), forget(approvedKey)) }

// forget removes our value from a key that may not be there.
func forget(path string) error {
	key, err := registry.OpenKey(registry.CURRENT_USER, path, registry.SET_VALUE)
	if errors.Is(err, registry.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = key.DeleteValue(valueName)
	if errors.Is(err, registry.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, key.Close())
}
