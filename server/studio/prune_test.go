package studio_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/studio"
)

// littered makes a cache with everything in it that a prune may meet: 1.2.0 is served, 1.1.0 the way back.
func littered(t *testing.T) (*release, *studio.Store, studio.Config) {
	t.Helper()
	r, s, cfg := versions(t, "0.9.0", "1.0.0", "1.1.0", "1.2.0")
	for name, content := range map[string]string{
		"0.1.0/index.html":      "of the command-line companion",
		"0.1.0/.sha256":         strings.Repeat("ab", 32),
		"0.2.0/index.html":      "never finished",
		"notes/todo.txt":        "a person's own",
		"README":                "a person's own",
		".git/config":           "a person's own",
		".tmp-123/x":            "left by a kill",
		".hold.json.123.tmp":    "left by a kill",
		".download.zip":         "half of an archive",
		".download.json":        "{}",
		"1.0.0~0123456789ab/x":  "no copy",
		"not a version/.sha256": "x",
	} {
		write(t, filepath.Join(cfg.CacheDir, filepath.FromSlash(name)), content)
	}
	return r, s, cfg
}

// studio.md: "Two versions are kept … `prune` removes the rest."
func TestPruneKeepsTwoVersionsAndWhatIsNotOurs(t *testing.T) {
	_, s, cfg := littered(t)
	pruned, err := s.Prune(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(pruned.Removed)
	want := []string{".download.json", ".download.zip", ".hold.json.123.tmp", ".tmp-123", "0.1.0", "0.2.0", "0.9.0", "1.0.0"}
	if !slices.Equal(pruned.Removed, want) || pruned.Bytes < 10_000 || len(pruned.InUse) > 0 {
		t.Errorf("got %+v, want %q removed", pruned, want)
	}
	wantNothingBut(t, cfg.CacheDir, ".git", "1.0.0~0123456789ab", "1.1.0", "1.2.0", "README", "not a version", "notes")
	wantVersion(t, s, "1.2.0")
	if again, err := s.Prune(t.Context()); err != nil || len(again.Removed) > 0 || again.Bytes != 0 {
		t.Errorf("again: got %+v, %v", again, err)
	}
	rollback(t, s)
	wantVersion(t, s, "1.1.0")
}

// After a rollback the version rolled back from is kept: it is the way forward, and pages are open that came from it.
func TestPruneAfterARollback(t *testing.T) {
	_, s, cfg := versions(t, "1.0.0", "1.1.0", "1.2.0")
	rollback(t, s)
	if _, err := s.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantNothingBut(t, cfg.CacheDir, ".hold.json", "1.1.0", "1.2.0")
	wantVersion(t, s, "1.1.0")
}

func TestPruneOfNothing(t *testing.T) {
	s, cfg := open(t, "http://127.0.0.1:1/", nil)
	if pruned, err := s.Prune(t.Context()); err != nil || len(pruned.Removed) > 0 {
		t.Errorf("got %+v, %v", pruned, err)
	}
	if _, err := os.Stat(cfg.CacheDir); !os.IsNotExist(err) {
		t.Error("the cache folder was made for nothing")
	}
}

// The companion's own folder is only ever read.
func TestPruneLeavesTheCommandLineCompanionAlone(t *testing.T) {
	r := newRelease(t)
	legacy := t.TempDir()
	write(t, filepath.Join(legacy, "0.1.0", "index.html"), "legacy")
	write(t, filepath.Join(legacy, "0.1.0", ".sha256"), strings.Repeat("ab", 32))
	s, _ := open(t, r.URL, func(cfg *studio.Config) { cfg.LegacyDir = legacy })
	for _, version := range []string{"1.0.0", "1.1.0"} {
		r.publish(t, version, studioSite(version))
		update(t, s)
	}
	if pruned, err := s.Prune(t.Context()); err != nil || len(pruned.Removed) > 0 {
		t.Errorf("got %+v, %v", pruned, err)
	}
	if got := readSite(t, filepath.Join(legacy, "0.1.0")); len(got) != 1 {
		t.Errorf("got %v in the companion's copy", got)
	}
}

// What another process serves is not removed under it; what it lets go of is.
func TestPruneLeavesWhatAnotherProcessServes(t *testing.T) {
	r, s, cfg := versions(t, "1.0.0")
	other := studio.NewKeeper(reopen(t, cfg), nil) // its locks are as foreign to us as another process's
	other.Refresh()
	for _, version := range []string{"1.1.0", "1.2.0"} {
		r.publish(t, version, studioSite(version))
		update(t, s)
	}
	pruned, err := s.Prune(t.Context())
	if err != nil || len(pruned.Removed) > 0 || !slices.Equal(pruned.InUse, []string{"1.0.0"}) {
		t.Errorf("got %+v, %v; want 1.0.0 in use", pruned, err)
	}
	if c, _ := other.Served(); c.Version != "1.0.0" {
		t.Errorf("the other serves %s", c.Version)
	}
	other.Close()
	pruned, err = s.Prune(t.Context())
	if err != nil || !slices.Equal(pruned.Removed, []string{"1.0.0"}) {
		t.Errorf("once it is closed: got %+v, %v", pruned, err)
	}
	wantNothingBut(t, cfg.CacheDir, "1.1.0", "1.2.0")
}

// A process that died serves nothing any more.
func TestPruneForgetsTheDead(t *testing.T) {
	r, s, cfg := versions(t, "1.0.0")
	other := startChild(t, cfg, "serve")
	for _, version := range []string{"1.1.0", "1.2.0"} {
		r.publish(t, version, studioSite(version))
		update(t, s)
	}
	if pruned, err := s.Prune(t.Context()); err != nil || !slices.Equal(pruned.InUse, []string{"1.0.0"}) {
		t.Errorf("got %+v, %v; want 1.0.0 in use", pruned, err)
	}
	other.kill(t)
	if pruned, err := s.Prune(t.Context()); err != nil || !slices.Equal(pruned.Removed, []string{"1.0.0"}) {
		t.Errorf("got %+v, %v; want 1.0.0 removed", pruned, err)
	}
}

// An update of another process is not swept away under it, neither its work nor its download.
func TestPruneLeavesAnUpdateInAnotherProcessAlone(t *testing.T) {
	for _, step := range []string{"downloading", "unpacking"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			r, s, cfg := versions(t, "1.0.0")
			r.publish(t, "1.1.0", studioSite("1.1.0"))
			other := startChild(t, cfg, step)
			if pruned, err := s.Prune(t.Context()); err != nil || len(pruned.Removed) > 0 {
				t.Errorf("got %+v, %v; want nothing removed", pruned, err)
			}
			other.kill(t)
			if pruned, err := s.Prune(t.Context()); err != nil || len(pruned.Removed) < 2 {
				t.Errorf("once it is dead: got %+v, %v", pruned, err)
			}
			wantNothingBut(t, cfg.CacheDir, "1.0.0")
		})
	}
}

// A kill while a copy is removed leaves no half copy that says it is finished.
func TestAKilledPrune(t *testing.T) {
	_, s, cfg := versions(t, "1.0.0", "1.1.0", "1.2.0")
	startChild(t, cfg, "prune discarding").kill(t)
	wantVersion(t, s, "1.2.0")
	s = reopen(t, cfg)
	wantNothingBut(t, cfg.CacheDir, "1.1.0", "1.2.0")
	rollback(t, s)
	wantVersion(t, s, "1.1.0")
}

func TestPruneSaysWhatItCannotRemove(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no mode keeps anybody from removing a folder there")
	}
	if servertest.AsNobody(t) { // nothing keeps root from removing a folder
		return
	}
	_, s, cfg := versions(t, "1.0.0", "1.1.0", "1.2.0")
	if err := os.Chmod(cfg.CacheDir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(cfg.CacheDir, 0o700) })
	if _, err := s.Prune(t.Context()); err == nil {
		t.Error("got no error")
	}
	wantVersion(t, s, "1.2.0")
}
