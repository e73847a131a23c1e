package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// makeChannels fills in the Homebrew cask and the winget manifest, which name a release by the sums of its files. They
// go to a folder of their own, since they are sent to those who keep the lists, not downloaded.
func (r *release) makeChannels(context.Context) error {
	channels, err := r.channels()
	if err != nil {
		return err
	}
	folder := filepath.Join(r.dist, "channels")
	if err := lay(folder, channels, r.when); err != nil {
		return err
	}
	for _, f := range channels {
		if err := r.made(filepath.Join(folder, filepath.FromSlash(f.name))); err != nil {
			return err
		}
	}
	return nil
}

// channels are the files of each channel whose package is there: a machine that is no Mac has no app to name.
func (r *release) channels() ([]file, error) {
	base := programName + "-" + r.version
	var files []file
	for _, c := range []struct {
		fact, of  string
		templates []string
		to        string
	}{
		{"MacOSSum", base + "-macos.zip", []string{"chatwright-tray.rb"}, "homebrew/Casks/c/"},
		{"WindowsSum", base + "-windows-amd64-setup.exe",
			[]string{"Chatwright.Tray.yaml", "Chatwright.Tray.installer.yaml", "Chatwright.Tray.locale.en-GB.yaml"},
			"winget/manifests/c/Chatwright/Tray/" + r.version + "/"},
	} {
		sum, err := sumOf(filepath.Join(r.dist, c.of))
		if errors.Is(err, fs.ErrNotExist) {
			_, _ = fmt.Fprintf(r.log, "   left out  %s: %s is not there\n", c.to, c.of)
			continue
		} else if err != nil {
			return nil, err
		}
		for _, name := range c.templates {
			data, err := r.fill("build/channels/"+name, map[string]string{c.fact: sum})
			if err != nil {
				return nil, err
			}
			files = append(files, file{c.to + name, 0o644, data})
		}
	}
	return files, nil
}
