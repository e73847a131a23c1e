package server

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
)

// startedAt says when a process started, in clock ticks since a boot that is named: unlike a time of day it stays the
// same when the clock is set.
func startedAt(pid int) (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The second field is the name in parentheses, which may hold spaces and parentheses itself.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const startTime = 22 - 3 // field 22 of proc_pid_stat(5); the fields here begin with the third
	if len(fields) <= startTime {
		return "", errors.New("reading /proc/PID/stat: too few fields")
	}
	return strings.TrimSpace(string(boot)) + "/" + string(fields[startTime]), nil
}
