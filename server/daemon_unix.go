//go:build unix

package server

import (
	"os"
	"syscall"
)

// detached puts the process into a session of its own, so that a closed terminal does not end it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
