//go:build !windows

package paths

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

func (p Paths) withRuntime(folder string) Paths {
	p.Runtime = folder
	p.Socket = filepath.Join(folder, "control.sock")
	return p
}

func (p Paths) withSocket(path string) (Paths, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return p, fmt.Errorf("finding the control socket: %w", err)
	}
	p.Runtime, p.Socket = filepath.Dir(path), path
	return p, nil
}

func isOurFolder(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
