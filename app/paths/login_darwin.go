package paths

import (
	"path/filepath"

	"github.com/adrg/xdg"
)

// LoginEntries returns the folders of what is started at login: the user's own, and those for every user.
func LoginEntries() (own string, system []string) {
	return filepath.Join(xdg.Home, "Library", "LaunchAgents"), nil
}
