//go:build !linux

package server

import (
	"strconv"

	"github.com/shirou/gopsutil/v4/process"
)

// startedAt says when a process started, in milliseconds since 1970: here the system keeps the time itself.
func startedAt(pid int) (string, error) {
	ms, err := (&process.Process{Pid: int32(pid)}).CreateTime()
	return strconv.FormatInt(ms, 10), err
}
