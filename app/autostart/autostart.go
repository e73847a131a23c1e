// Package autostart starts the tray when its user logs in: an entry of the desktop on Linux, a LaunchAgent on macOS, a
// value of the Run key on Windows. It keeps no setting of its own: whether the entry is there is read from the system
// each time, since its user, or the system's own settings, may have changed it meanwhile.
package autostart

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"chatwright.dev/tray/server/hint"
)

const (
	// Name is the name of the program as it is installed.
	Name = "chatwright-tray"
	// ID is how desktops know the program. The entry bears it too, so that one that a settings program made of the
	// menu's entry is the same file and not a second one.
	ID = "dev.chatwright.tray"
)

// title is what the system's own list of login items shows.
const title = "Chatwright Tray"

// Config says where the entry goes and what it starts. Command is required, and on every system but Windows Folder too.
type Config struct {
	// Command is the program, by its absolute path, and what it is started with.
	Command []string
	// Folder is the user's own folder of entries: autostart in the configuration folder on Linux, LaunchAgents on macOS.
	Folder string
	// SystemFolders hold entries for every user, the most important first. Empty: there are none.
	SystemFolders []string
}

// Status is what the system would do at the next login.
type Status struct {
	On bool `json:"on"`
	// Where the entry stands: a file, or the key of the registry. Empty: there is none.
	Where string `json:"where,omitempty"`
	// Command is what the entry starts, as it is written there.
	Command string `json:"command,omitempty"`
	// Trouble is why an entry that is there will not do what it says. Empty: nothing is wrong with it.
	Trouble string `json:"trouble,omitempty"`

	gone bool // Trouble is that the program is not there, or cannot be told
}

// Read returns what the system would do at the next login.
func Read(cfg Config) (Status, error) {
	s, err := read(cfg)
	if err != nil {
		return Status{}, fmt.Errorf("reading whether it starts at login: %w", err)
	}
	return s, nil
}

// Set has the system start the command at login, or start nothing. Setting what is so already is no error; switched on
// again, the entry names the command of now.
func Set(cfg Config, on bool) error {
	doing, set := "switching start at login off", switchOff
	if on {
		doing, set = "switching start at login on", switchOn
		if err := lasting(cfg.Command[0]); err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
	}
	if err := set(cfg); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// Repair points an entry that is on at the command of now when the program that it names is gone, as it is after the
// program moved. It switches nothing on, and reports whether it changed anything.
func Repair(cfg Config) (bool, error) {
	now, err := Read(cfg)
	if err != nil || !now.On || !now.gone || lasting(cfg.Command[0]) != nil {
		return false, err
	}
	return true, Set(cfg, true)
}

// lasting refuses a program that will not be there at the next login.
func lasting(program string) error {
	if !filepath.IsAbs(program) {
		return fmt.Errorf("%s is no absolute path", program)
	}
	temporary, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		temporary = os.TempDir()
	}
	within, err := filepath.Rel(temporary, program)
	if err == nil && within != ".." && !strings.HasPrefix(within, ".."+string(filepath.Separator)) && strings.Contains(program, "go-build") {
		return hint.With(errors.New("this program runs from the folder of a build, which does not last"),
			"install it, or build it with go build -o, and switch it on from there")
	}
	return nil
}

// Program returns the path under which this program can be started at the next login. A program that is found on PATH
// under its own name is named by that path, which stays when an upgrade moves what it links to.
func Program() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	onPath, err := exec.LookPath(Name)
	if err != nil {
		return windowless(self), nil
	}
	if onPath, err = filepath.Abs(onPath); err == nil && sameFile(onPath, self) {
		return windowless(onPath), nil
	}
	return windowless(self), nil
}

// windowless is the .exe beside a .com: on Windows the program is there twice, and the one for a console would open one
// at each login. Nowhere else are there such pairs.
func windowless(program string) string {
	stem, console := strings.CutSuffix(program, ".com")
	if !console {
		return program
	}
	if info, err := os.Stat(stem + ".exe"); err != nil || !info.Mode().IsRegular() {
		return program
	}
	return stem + ".exe"
}

func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// missing says that the program of an entry is not there; "" when it is. Names without a folder are looked for on PATH.
func missing(program string) string {
	if program == "" {
		return "it names no program"
	}
	if _, err := exec.LookPath(program); err != nil && !errors.Is(err, exec.ErrDot) {
		if errors.Is(err, fs.ErrPermission) {
			return program + " cannot be started"
		}
		return program + " is not there"
	}
	return ""
}
