// Package paths knows every file and folder of the app, from the XDG base directories or from the one folder that
// CHATWRIGHT_HOME names. It is the only place that asks for them.
package paths

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/adrg/xdg"

	"chatwright.dev/tray/server/hint"
)

// HomeVariable names the environment variable with the folder that holds everything.
const HomeVariable = "CHATWRIGHT_HOME"

// app is the name of our folder in each base directory, shared with the command-line companion.
const app = "chatwright"

// Paths are the files and folders of one instance. All are absolute.
type Paths struct {
	Config    string // file: tray.toml, the user's, never written
	UI        string // folder of the Studio copies, one subfolder a version
	State     string // folder, 0700
	StateFile string // file: state.json, what the app remembers
	History   string // file: history.db, the calls
	Upstreams string // file: upstreams.json, the named upstreams with their keys, 0600
	Sessions  string // folder of the records of sessions, 0700
	Capture   string // folder of what was said in calls, 0700; only there if the user wanted it
	Log       string // file: server.log
	Lock      string // file: held while an instance runs
	PID       string // file: server.pid
	Discovery string // file: daemon.json
	Runtime   string // folder of the socket, 0700; "" on Windows, where the socket is a pipe and has none
	Socket    string // the control socket, or the name of the pipe
	LegacyUI  string // folder: Studio copies of the command-line companion, read only
}

// Resolve returns where everything is. It creates nothing. stateDir puts all in one folder; "" means CHATWRIGHT_HOME,
// and without that the XDG base directories.
func Resolve(stateDir string) (Paths, error) {
	if stateDir == "" {
		stateDir = os.Getenv(HomeVariable)
	}
	if stateDir != "" {
		return oneFolder(stateDir)
	}
	if !filepath.IsAbs(xdg.Home) {
		return Paths{}, hint.With(errors.New("finding the home folder: the environment names none"),
			"set HOME, or name one folder for everything with --state-dir or "+HomeVariable)
	}
	p := inState(filepath.Join(xdg.StateHome, app))
	p.Config = filepath.Join(xdg.ConfigHome, app, configName)
	p.UI = filepath.Join(xdg.CacheHome, app, "ui")
	// Where the runtime folder is the state folder too (macOS), a subfolder keeps the socket's own 0700; where there is
	// none (a server without a login session, or the one of another user after sudo -E), it is the private folder that
	// two logins agree upon, unlike the temporary one.
	if xdg.RuntimeDir != xdg.StateHome && isOurFolder(xdg.RuntimeDir) {
		p = p.withRuntime(filepath.Join(xdg.RuntimeDir, app))
	}
	return p, nil
}

const configName = "tray.toml"

func oneFolder(folder string) (Paths, error) {
	home, err := filepath.Abs(folder)
	if err != nil {
		return Paths{}, fmt.Errorf("finding the state folder: %w", err)
	}
	p := inState(home)
	p.Config = filepath.Join(home, configName)
	p.UI = filepath.Join(home, "ui")
	return p, nil
}

// inState fills in what lies in the state folder, the fallback of the runtime folder included.
func inState(state string) Paths {
	p := Paths{
		State:     state,
		StateFile: filepath.Join(state, "state.json"),
		History:   filepath.Join(state, "history.db"),
		Upstreams: filepath.Join(state, "upstreams.json"),
		Sessions:  filepath.Join(state, "sessions"),
		Capture:   filepath.Join(state, "capture"),
		Log:       filepath.Join(state, "server.log"),
		Lock:      filepath.Join(state, "instance.lock"),
		PID:       filepath.Join(state, "server.pid"),
		Discovery: filepath.Join(state, "daemon.json"),
	}
	if filepath.IsAbs(xdg.Home) {
		p.LegacyUI = filepath.Join(xdg.Home, "."+app, "ui")
	}
	return p.withRuntime(filepath.Join(state, "run"))
}

// WithSocket returns p with the control socket at path; "" changes nothing. The folder of the socket must be, or
// become, the owner's alone.
func (p Paths) WithSocket(path string) (Paths, error) {
	if path == "" {
		return p, nil
	}
	return p.withSocket(path)
}

// Make creates the folders that an instance needs before it can take its lock and open its socket: 0700, those above
// them too where they are missing. Folders that are there are left as they are. The others are made by those that
// write into them.
func (p Paths) Make() error {
	for _, folder := range []string{p.State, p.Runtime} {
		if folder == "" {
			continue
		}
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return hint.With(fmt.Errorf("making the folder %s: %w", folder, withoutPath(err)),
				"make it yourself, or name another with --state-dir")
		}
	}
	return nil
}

// withoutPath takes the path out of an error that is wrapped with the path anyway.
func withoutPath(err error) error {
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		return inner.Err
	}
	return err
}
