package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"chatwright.dev/tray/server/servertest/timetest"
)

func TestOnlyWhatCannotBeWrittenIsLetGo(t *testing.T) {
	const file = "/opt/my programs/chatwright-tray"
	for line, want := range map[string]bool{
		"00400000-01a3d000 r-xp 00000000 fe:00 1310751                            " + file:                true,
		"01a3d000-02800000 r--p 0163d000 fe:00 1310751                            " + file:                true,
		"02800000-02900000 rw-p 02400000 fe:00 1310751                            " + file:                false,
		"02800000-02900000 r--s 02400000 fe:00 1310751                            " + file:                false,
		"7f0000000000-7f0000001000 r--p 00000000 fe:00 7                          /usr/lib/libc.so":       false,
		"7f0000000000-7f0000001000 r--p 00000000 fe:00 7                          /x" + file + ".bak":     false,
		"c000000000-c000400000 rw-p 00000000 00:00 0":                                                     false,
		"7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                          [vdso]":                 false,
		"zz-02800000 r--p 0163d000 fe:00 1310751                                  " + file:                false,
		"01a3d000-01a3d000 r--p 0163d000 fe:00 1310751                            " + file:                false,
		"01a3d000-02800000 r--p 0163d000 fe:00 1310751                            " + file + " (deleted)": false,
	} {
		start, length, ok := constantPart(line, file)
		if ok != want || ok && (start == 0 || length == 0) {
			t.Errorf("%s: got %x, %x, %v", line, start, length, ok)
		}
	}
}

// A companion that has settled keeps little of its own file in memory, and works as before.
func TestACompanionThatHasSettledIsSmall(t *testing.T) {
	t.Parallel()
	c := newUser(t).launch("--headless")
	const most = 16 << 10 // KiB, of a file of twice that and more
	kept := timetest.Until(t, fmt.Sprintf("less than %d KiB of the program's file in memory", most), func() (int, bool) {
		kept := mappedKiB(t, c.cmd.Process.Pid)
		return kept, kept < most
	})
	t.Logf("%d KiB of the program's file are in memory", kept)
	if status, answer := c.chat(aCall); status != 200 {
		t.Errorf("a call: status %d, %s", status, answer)
	}
}

// mappedKiB is how much of mapped files a process has in memory.
func mappedKiB(t *testing.T, pid int) (kib int) {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if _, err := fmt.Sscanf(line, "RssFile: %d kB", &kib); err == nil {
			return kib
		}
	}
	t.Fatal("the system does not tell")
	return 0
}
