package server

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// detached gives the process no console, so that a closed one does not end it.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}

// terminate ends the process at once: Windows has no signal that a process without a console could get. The control
// socket is the way to end it with its grace.
func terminate(p *os.Process) error { return p.Kill() }
