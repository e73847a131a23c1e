package studio_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/studio"
)

// smallDisk mounts a file system of its own, which takes a system that lets us. Where none does, the failing steps of
// crash_test.go stand in for it.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	servertest.SmallDisk(t, dir, size)
	return dir
}

// A full disk, a real one: the old copy is served on, and the room that the download took is given back.
func TestAFullDiskKeepsTheOldVersion(t *testing.T) {
	for name, size := range map[string]int{
		"while downloading": 3 << 20,
		"while unpacking":   1 << 20, // the archive fits, its files do not beside it
	} {
		t.Run(name, func(t *testing.T) {
			cache := smallDisk(t, "2m")
			r := newRelease(t)
			r.publish(t, "1.0.0", studioSite("old"))
			cfg := studio.Config{CacheDir: cache, BaseURL: r.URL, RetryWait: time.Millisecond}
			s := reopen(t, cfg)
			update(t, s)
			big := studioSite("new")
			big["big.bin"] = noise(size)
			r.publish(t, "1.1.0", big)
			_, err := s.Update(t.Context(), studio.UpdateOptions{})
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("got %v, want no space left", err)
			}
			if name == "while downloading" && !strings.Contains(hint.Of(err), "make room on the disk") {
				t.Errorf("hint: got %q", hint.Of(err))
			}
			wantCurrent(t, s, studioSite("old"))
			wantNothingBut(t, cache, "1.0.0")
			// Once there is room it goes on as if nothing had been.
			r.publish(t, "1.1.0", studioSite("new"))
			update(t, s)
			wantCurrent(t, s, studioSite("new"))
		})
	}
}

// A rollback that cannot be written down does not happen.
func TestAFullDiskKeepsARollbackFromHappening(t *testing.T) {
	cache := smallDisk(t, "1m")
	r := newRelease(t)
	s := reopen(t, studio.Config{CacheDir: cache, BaseURL: r.URL})
	for _, version := range []string{"1.0.0", "1.1.0"} {
		r.publish(t, version, studioSite(version))
		update(t, s)
	}
	k, _ := keep(t, s)
	if err := os.WriteFile(filepath.Join(cache, "filler"), make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("filling the disk: %v", err)
	}
	if err := k.Rollback(t.Context()); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v, want no space left", err)
	}
	if got := k.Status(); got.Version != "1.1.0" || got.Held != "" || got.Error == "" {
		t.Errorf("got %+v, want 1.1.0 and the cause", got)
	}
	wantVersion(t, s, "1.1.0")
}
