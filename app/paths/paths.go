// Package paths knows every file and folder of the app, from the XDG base directories or from the one folder that
// CHATWRIGHT_HOME names. It is the only place that asks for them.
package paths

import "errors"

// Paths are the files and folders of one instance. All are absolute.
type Paths struct {
	Config    string // file: tray.toml, the user's, never written
	UI        string // folder of the Studio copies, one subfolder a version
	State     string // folder, 0700
	StateFile string // file: state.json, what the app remembers
	Log       string // file: server.log
	Lock      string // file: held while an instance runs
	PID       string // file: server.pid
	Discovery string // file: daemon.json
	Runtime   string // folder of the socket, 0700; "" on Windows, where the socket is a pipe
	Socket    string // the control socket, or the name of the pipe
	LegacyUI  string // folder: Studio copies of the command-line companion, read only
}

// Resolve returns where everything is. It creates nothing. stateDir puts all in one folder; "" means CHATWRIGHT_HOME,
// and without that the XDG base directories.
func Resolve(stateDir string) (Paths, error) { return Paths{}, errors.ErrUnsupported }

// WithSocket returns p with the control socket at path; "" changes nothing.
func (p Paths) WithSocket(path string) (Paths, error) { return p, errors.ErrUnsupported }

// Make creates the folders that an instance needs before it can take its lock and open its socket.
func (p Paths) Make() error { return errors.ErrUnsupported }
