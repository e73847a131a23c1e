package servertest

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// SmallDisk mounts a file system in memory that holds size ("512k", "8m") on a folder, which it makes where there is
// none, until the test ends. Only root may do that: see Missing.
func SmallDisk(t testing.TB, folder, size string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", folder, "tmpfs", 0, "size="+size+",mode=0700"); err != nil {
		Missing(t, "the right to mount a small disk, which root has: "+err.Error())
	}
	t.Cleanup(func() {
		// Detached, since a program that a failed test left behind may still have files open there.
		if err := unix.Unmount(folder, unix.MNT_DETACH); err != nil {
			t.Errorf("unmounting %s: %v", folder, err)
		}
	})
}
