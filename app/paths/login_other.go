//go:build !darwin

package paths

import (
	"path/filepath"

	"github.com/adrg/xdg"
)

// LoginEntries returns the folders of what is started at login: the user's own, and those for every user, the most
// important first. Windows keeps its entries elsewhere.
func LoginEntries() (own string, system []string) {
	for _, folder := range xdg.ConfigDirs {
		system = append(system, filepath.Join(folder, "autostart"))
	}
	return filepath.Join(xdg.ConfigHome, "autostart"), system
}
