//go:build unix && !darwin

package autostart

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"chatwright.dev/tray/server/wholefile"
)

const fileName = ID + ".desktop"

// found is the file that counts: an entry of the user's stands before one of the same name for every user.
func found(cfg Config) (path string, e entry, err error) {
	for _, folder := range append([]string{cfg.Folder}, cfg.SystemFolders...) {
		path = filepath.Join(folder, fileName)
		data, err := wholefile.Read(path, maxEntry)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return path, entry{}, err
		}
		e, err = parseEntry(data)
		return path, e, err
	}
	return "", entry{}, nil
}

func read(cfg Config) (Status, error) {
	path, e, err := found(cfg)
	switch {
	case path == "":
		return Status{}, nil
	case err != nil:
		// No desktop could start it either; switching it on or off writes it anew.
		return Status{Where: path, Trouble: err.Error()}, nil
	}
	s := Status{On: !e.off, Where: path, Command: strings.Join(e.exec, " ")}
	if s.On {
		s.Trouble = missing(e.program())
		s.gone = s.Trouble != ""
	}
	if s.On && !s.gone {
		s.Trouble = e.trouble(os.Getenv("XDG_CURRENT_DESKTOP"))
	}
	return s, nil
}

func switchOn(cfg Config) error {
	if err := os.MkdirAll(cfg.Folder, 0o700); err != nil {
		return err
	}
	return wholefile.Write(filepath.Join(cfg.Folder, fileName), renderEntry(cfg.Command), 0o644)
}

func switchOff(cfg Config) error {
	own := filepath.Join(cfg.Folder, fileName)
	if err := os.Remove(own); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	path, e, err := found(cfg)
	if path == "" || err == nil && e.off {
		return nil
	}
	// There is one for every user, which only an entry of the user's own can switch off.
	if err := os.MkdirAll(cfg.Folder, 0o700); err != nil {
		return err
	}
	return wholefile.Write(own, renderHidden(), 0o644)
}
