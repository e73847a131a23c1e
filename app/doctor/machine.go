package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"chatwright.dev/tray/app/autostart"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

// folders: whether the folders that hold what is private are private, and can be written.
func folders(_ context.Context, cfg Config) (checks []protocol.Check) {
	for _, folder := range []struct{ id, name, path string }{
		{"state", "State folder", cfg.Paths.State},
		{"runtime", "Socket folder", cfg.Paths.Runtime},
		{"settings", "Settings", cfg.Paths.Config},
		{"cache", "Copies of Studio", cfg.Paths.UI},
	} {
		if folder.path == "" {
			continue
		}
		checks = append(checks, folderOrFile(folder.path, folder.id == "state" || folder.id == "runtime").as(folder.id, folder.name)...)
	}
	return checks
}

// folderOrFile looks at what is there; what is not there yet is made when it is needed.
func folderOrFile(path string, private bool) finding {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missingFolder(path)
	case err != nil:
		return failed(err.Error(), "see to it that you can read "+path)
	}
	if private && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return warning(fmt.Sprintf("%s can be read by others (mode %04o)", path, info.Mode().Perm()), "chmod 700 "+path)
	}
	if info.IsDir() && !writable(path) {
		return failed(path+" cannot be written", "see to it that you own it and that the disk is neither full nor read-only")
	}
	return ok(path)
}

// missingFolder asks whether it can be made: the nearest folder that is there must be writable.
func missingFolder(path string) finding {
	above := filepath.Dir(path)
	for {
		if info, err := os.Stat(above); err == nil {
			if !info.IsDir() || !writable(above) {
				return failed(path+" is not there, and cannot be made in "+above, "see to it that you can write to "+above)
			}
			return ok(path + " is not there yet; it is made when it is needed")
		}
		next := filepath.Dir(above)
		if next == above {
			return unknown(path + " is not there")
		}
		above = next
	}
}

// writable tries, since modes tell little about read-only disks, quotas and access lists. It leaves nothing behind.
func writable(folder string) bool {
	f, err := os.CreateTemp(folder, ".chatwright-*.tmp")
	if err != nil {
		return false
	}
	_ = f.Close()
	return os.Remove(f.Name()) == nil
}

// opener: whether a click can open a browser.
func opener(_ context.Context, cfg Config) []protocol.Check {
	found := skipped("not looked at")
	if cfg.Opener != nil {
		found = ok("there is a program that opens pages")
		if err := cfg.Opener(); err != nil {
			found = failed(err.Error(), hint.Of(err))
			if cfg.Headless {
				found.state = protocol.CheckWarning
			}
		}
	}
	return found.as("browser", "Browser")
}

// studio: whether there is a copy of Studio, and whether it is whole.
func studio(_ context.Context, cfg Config) []protocol.Check {
	found := skipped("not looked at")
	if cfg.Studio != nil {
		switch what, err := cfg.Studio(); {
		case err != nil:
			found = failed(err.Error(), "get it anew: chatwright-tray studio update")
		case what == "":
			found = ok("no copy on this machine; the hosted one is opened. To keep one: chatwright-tray studio update")
		default:
			found = ok(what)
		}
	}
	return found.as("studio", "Studio")
}

// holders: whether the configured databases can be reached.
func holders(ctx context.Context, cfg Config) []protocol.Check {
	if cfg.Holders == nil {
		return skipped("no database is configured").as("datastate", "Databases")
	}
	return cfg.Holders(ctx)
}

// login: whether the tray starts at login, and whether it really would.
func login(_ context.Context, cfg Config) []protocol.Check {
	const id, name = "autostart", "Start at login"
	if len(cfg.Login.Command) == 0 {
		return skipped("not looked at").as(id, name)
	}
	now, err := autostart.Read(cfg.Login)
	switch {
	case err != nil:
		return unknown(err.Error()).as(id, name)
	case now.Trouble != "":
		return warning("the entry "+now.Where+" would start nothing: "+strings.TrimSuffix(now.Trouble, "."), "chatwright-tray autostart on").as(id, name)
	case now.On:
		return ok("on: "+now.Command).as(id, name)
	}
	return ok("off").as(id, name)
}
