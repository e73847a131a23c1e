package history_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
)

// disk is a file system in memory that holds 512 KiB.
func disk(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	servertest.SmallDisk(t, folder, "512k")
	return folder
}

// ballast fills what is left of a disk but for some bytes.
func ballast(t *testing.T, folder string, room int64) (remove func()) {
	t.Helper()
	var fs unix.Statfs_t
	if err := unix.Statfs(folder, &fs); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "ballast")
	if err := os.WriteFile(file, make([]byte, int64(fs.Bavail)*fs.Bsize-room), 0o600); err != nil {
		t.Fatal(err)
	}
	return func() { _ = os.Remove(file) }
}

// Gateway.md 20: losing the history loses no call. That no call is lost in the proxy follows from Add, which never
// waits: it is measured here while the disk is full.
func TestADiskThatBecomesFull(t *testing.T) {
	t.Parallel()
	folder := disk(t)
	path := filepath.Join(folder, "history.db")
	k := keep(t, path)
	k.Add(call("before", time.Minute))
	k.awaitCalls(1)
	makeRoom := ballast(t, folder, 64<<10)
	begun := time.Now()
	for i := range 3000 { // some 600 KiB
		k.Add(call("m", time.Duration(i)))
	}
	took := time.Since(begun)
	state := k.awaitProblem("the disk is full")
	if took > time.Second {
		t.Errorf("3,000 calls took %v on a full disk", took)
	}
	if hint.Of(state.Problem) == "" {
		t.Error("the problem has no hint")
	}
	if got := k.list(protocol.HistoryQuery{}); len(got) == 0 || got[0].Model != "before" {
		t.Errorf("what was written before: got %d calls, want that it can still be read", len(got))
	}
	k.Add(call("m", time.Second))
	makeRoom()
	k.awaitCalls(3002)
	if k.Dropped() != 0 {
		t.Errorf("dropped: got %d, want none", k.Dropped())
	}
}

func TestADiskThatIsFullFromTheStart(t *testing.T) {
	t.Parallel()
	for _, room := range []int64{0, 4, 8, 12, 16, 24} { // it fails at one step or another
		t.Run(fmt.Sprintf("but for %d KiB", room), func(t *testing.T) {
			t.Parallel()
			folder := disk(t)
			makeRoom := ballast(t, folder, room<<10)
			k := keep(t, filepath.Join(folder, "history.db"))
			k.Add(call("m", time.Minute))
			k.awaitProblem("the disk is full")
			makeRoom()
			k.awaitCalls(1)
		})
	}
}

func TestADiskThatIsReadOnly(t *testing.T) {
	t.Parallel()
	folder := disk(t)
	path := filepath.Join(folder, "history.db")
	filled(t, path)
	if err := unix.Mount("", folder, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	k := keep(t, path)
	k.Add(call("m", time.Minute))
	state := k.awaitProblem("read-only file system")
	if !errors.Is(state.Problem, unix.EROFS) || hint.Of(state.Problem) == "" {
		t.Errorf("got %v, hint %q", state.Problem, hint.Of(state.Problem))
	}
	if err := unix.Mount("", folder, "", unix.MS_REMOUNT, "size=512k"); err != nil {
		t.Fatal(err)
	}
	k.awaitCalls(501)
}
