package main

import (
	"bufio"
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// settled is how long after the start what only a start needs is let go.
const settled = 3 * time.Second

// shrink lets go of those pages of the program's own file that only its start has touched. The kernel maps a file
// generously, sixteen pages around each one that is asked for, so that a start leaves nearly all of it in memory; the
// pages that are needed again come back one by one from the page cache, which holds them anyway. Only code and
// constants are let go, which nobody writes: nothing can be lost.
func shrink(ctx context.Context) {
	timer := time.NewTimer(settled)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return
	case <-timer.C:
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return // no harm: it stays as large as it is
	}
	defer func() { _ = maps.Close() }()
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if start, length, ok := constantPart(lines.Text(), self); ok {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, start, length, unix.MADV_DONTNEED)
		}
	}
}

// constantPart reads a line of /proc/self/maps, as proc(5) has it, and reports whether it maps a part of that file which
// cannot be written.
func constantPart(line, file string) (start, length uintptr, ok bool) {
	// 00400000-01a3d000 r-xp 00000000 fe:00 1310751 /usr/bin/chatwright-tray
	fields := strings.Fields(line)
	if len(fields) < 6 || !strings.HasSuffix(line, " "+file) || strings.Contains(fields[1], "w") || !strings.HasSuffix(fields[1], "p") {
		return 0, 0, false
	}
	from, to, _ := strings.Cut(fields[0], "-")
	low, err := strconv.ParseUint(from, 16, 64)
	if err != nil {
		return 0, 0, false
	}
	high, err := strconv.ParseUint(to, 16, 64)
	if err != nil || high <= low {
		return 0, 0, false
	}
	return uintptr(low), uintptr(high - low), true
}
