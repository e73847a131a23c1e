package studio_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/studio"
)

// versions publishes and installs these versions, one after another, each with itself as its edition.
func versions(t *testing.T, list ...string) (*release, *studio.Store, studio.Config) {
	t.Helper()
	r := newRelease(t)
	s, cfg := open(t, r.URL, nil)
	for _, version := range list {
		r.publish(t, version, studioSite(version))
		update(t, s)
	}
	return r, s, cfg
}

func rollback(t *testing.T, s *studio.Store) studio.Copy {
	t.Helper()
	c, err := s.Rollback(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func wantVersion(t *testing.T, s *studio.Store, want string) {
	t.Helper()
	c, ok := s.Current()
	if !ok || c.Version != want {
		t.Errorf("current: got %q (%v), want %q", c.Version, ok, want)
	}
}

// studio.md: "rolled back by click or `studio rollback`, which then holds until the next newer version".
func TestARollbackHoldsUntilTheNextNewerVersion(t *testing.T) {
	r, s, cfg := versions(t, "1.0.0", "1.1.0")
	if c := rollback(t, s); c.Version != "1.0.0" {
		t.Fatalf("rolled back to %s", c.Version)
	}
	wantCurrent(t, s, studioSite("1.0.0"))

	// The same release, an older one, and another archive of the same version: none is newer. Over restarts too.
	for _, offered := range []string{"1.1.0", "1.0.5", "1.0.0", "1.1.0"} {
		s = reopen(t, cfg)
		r.publish(t, offered, studioSite("another "+offered))
		if c := update(t, s); c.Version != "1.0.0" {
			t.Errorf("offered %s: got %s, want it held", offered, c.Version)
		}
		wantCurrent(t, s, studioSite("1.0.0"))
	}
	if got := r.downloads.Load(); got != 2 {
		t.Errorf("got %d downloads, want none for what is held back", got)
	}
	r.publish(t, "1.2.0", studioSite("1.2.0"))
	update(t, s)
	wantCurrent(t, reopen(t, cfg), studioSite("1.2.0"))

	// What was rolled back from is not where the next rollback leads.
	if c := rollback(t, s); c.Version != "1.0.0" {
		t.Errorf("rolled back to %s, want the version that served before", c.Version)
	}
}

func TestRollbacksGoOnBackAndAllAreHeld(t *testing.T) {
	r, s, cfg := versions(t, "1.0.0", "1.1.0", "1.2.0") // a Store by itself removes nothing
	for _, want := range []string{"1.1.0", "1.0.0"} {
		if c := rollback(t, s); c.Version != want {
			t.Fatalf("got %s, want %s", c.Version, want)
		}
	}
	if _, err := s.Rollback(t.Context()); !errors.Is(err, studio.ErrNoPrevious) || !strings.Contains(hint.Of(err), "--ignore-hold") {
		t.Errorf("got %v (hint %q), want ErrNoPrevious and the way forward", err, hint.Of(err))
	}
	update(t, s) // still 1.2.0
	wantVersion(t, reopen(t, cfg), "1.0.0")
	r.publish(t, "1.1.5", studioSite("1.1.5")) // newer than the last that was rolled back from, not than the first
	update(t, s)
	wantVersion(t, s, "1.0.0")
}

// Versions that are not semantic have no order: every other one is newer.
func TestARollbackFromAVersionThatIsNotSemantic(t *testing.T) {
	r, s, _ := versions(t, "nightly-1", "nightly-2")
	rollback(t, s)
	update(t, s)
	wantVersion(t, s, "nightly-1")
	r.publish(t, "nightly-3", studioSite("3"))
	update(t, s)
	wantVersion(t, s, "nightly-3")
}

// The same version with another archive: its rollback leads to the archive before, and the version is held.
func TestARollbackWithinAVersion(t *testing.T) {
	r := newRelease(t)
	s, cfg := open(t, r.URL, nil)
	for _, edition := range []string{"one", "two"} {
		r.publish(t, "1.0.0", studioSite(edition))
		update(t, s)
	}
	rollback(t, s)
	wantCurrent(t, reopen(t, cfg), studioSite("one"))
	update(t, s)
	wantCurrent(t, s, studioSite("one"))
}

func TestNothingToRollBackTo(t *testing.T) {
	tests := map[string]func(t *testing.T) *studio.Store{
		"no copy": func(t *testing.T) *studio.Store {
			s, _ := open(t, "http://127.0.0.1:1/", nil)
			return s
		},
		"one copy": func(t *testing.T) *studio.Store {
			_, s, _ := versions(t, "1.0.0")
			return s
		},
		"a second that is damaged": func(t *testing.T) *studio.Store {
			_, s, cfg := versions(t, "1.0.0", "1.1.0")
			write(t, filepath.Join(cfg.CacheDir, "1.0.0", "index.html"), "damaged")
			return s
		},
		"a second that nobody vouches for": func(t *testing.T) *studio.Store {
			_, s, cfg := versions(t, "1.1.0")
			write(t, filepath.Join(cfg.CacheDir, "1.0.0", "index.html"), "x")
			write(t, filepath.Join(cfg.CacheDir, "1.0.0", ".sha256"), strings.Repeat("ab", 32))
			return s
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			s := prepare(t)
			before, _ := s.Current()
			_, err := s.Rollback(t.Context())
			if !errors.Is(err, studio.ErrNoPrevious) || hint.Of(err) == "" ||
				err.Error() != "rolling Studio back: there is no version of Studio to go back to" {
				t.Errorf("got %v (hint %q), want ErrNoPrevious in words", err, hint.Of(err))
			}
			if after, _ := s.Current(); after.Dir != before.Dir {
				t.Errorf("now %s is served", after.Dir)
			}
		})
	}
}

// Going forward again is asked for in so many words, and needs no download.
func TestTheWayForwardAgain(t *testing.T) {
	r, s, cfg := versions(t, "1.0.0", "1.1.0")
	rollback(t, s)
	c, err := s.Update(t.Context(), studio.UpdateOptions{IgnoreHold: true})
	if err != nil || c.Version != "1.1.0" || r.downloads.Load() != 2 {
		t.Errorf("got %s, %v after %d downloads, want 1.1.0 after the first 2", c.Version, err, r.downloads.Load())
	}
	wantVersion(t, reopen(t, cfg), "1.1.0")

	// When the copy is gone meanwhile, it is downloaded.
	rollback(t, s)
	if err := os.RemoveAll(filepath.Join(cfg.CacheDir, "1.1.0")); err != nil {
		t.Fatal(err)
	}
	update(t, s)
	wantVersion(t, s, "1.0.0")
	if _, err := s.Update(t.Context(), studio.UpdateOptions{IgnoreHold: true}); err != nil {
		t.Fatal(err)
	}
	wantVersion(t, s, "1.1.0")
}

// A rollback must not leave a person without any Studio.
func TestWhatWasRolledBackFromIsBetterThanNothing(t *testing.T) {
	_, s, cfg := versions(t, "1.0.0", "1.1.0")
	rollback(t, s)
	write(t, filepath.Join(cfg.CacheDir, "1.0.0", "index.html"), "damaged")
	wantVersion(t, s, "1.1.0")
}

func TestABrokenRecordOfARollbackIsNoRollback(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string){
		"not JSON": func(t *testing.T, path string) { write(t, path, "{") },
		"no file": func(t *testing.T, path string) {
			remove(t, path)
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, s, cfg := versions(t, "1.0.0", "1.1.0")
			rollback(t, s)
			spoil(t, filepath.Join(cfg.CacheDir, ".hold.json"))
			wantVersion(t, s, "1.1.0")
		})
	}
}

// A kill at any step of a rollback leaves the one version or the other, and the record whole.
func TestAKilledRollback(t *testing.T) {
	for step, want := range map[string]string{"rolling back": "1.1.0", "rolled back": "1.0.0"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			_, _, cfg := versions(t, "1.0.0", "1.1.0")
			startChild(t, cfg, "rollback "+step).kill(t)
			wantVersion(t, reopen(t, cfg), want)
			rollbackAgain := reopen(t, cfg)
			if want == "1.1.0" {
				rollback(t, rollbackAgain)
			}
			wantVersion(t, rollbackAgain, "1.0.0")
		})
	}
}

func TestARollbackThatCannotBeRecordedChangesNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a folder of the same name is in the way of nothing there")
	}
	_, s, cfg := versions(t, "1.0.0", "1.1.0")
	if err := os.MkdirAll(filepath.Join(cfg.CacheDir, ".hold.json", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Rollback(t.Context()); err == nil || errors.Is(err, studio.ErrNoPrevious) {
		t.Errorf("got %v, want the cause", err)
	}
	wantVersion(t, s, "1.1.0")
}

// A clock that was ahead and was put right makes no old copy the newest: what is installed next is served, is installed
// once, and ends a rollback.
func TestAClockThatWentBack(t *testing.T) {
	r, s, cfg := versions(t, "1.0.0", "1.1.0")
	ahead := time.Now().AddDate(1, 0, 0).UTC()
	for i, version := range []string{"1.0.0", "1.1.0"} {
		installedAt(t, filepath.Join(cfg.CacheDir, version), ahead.Add(time.Duration(i)*time.Hour))
	}
	r.publish(t, "1.2.0", studioSite("1.2.0"))
	update(t, s)
	wantVersion(t, s, "1.2.0")
	before := r.downloads.Load()
	update(t, s)
	if again := r.downloads.Load() - before; again != 0 {
		t.Errorf("it was downloaded %d times more", again)
	}
	rollback(t, s) // which comes after all of them
	wantVersion(t, s, "1.1.0")
	r.publish(t, "1.3.0", studioSite("1.3.0"))
	update(t, s)
	wantVersion(t, s, "1.3.0")
}

// installedAt changes when a copy was installed.
func installedAt(t *testing.T, dir string, at time.Time) {
	t.Helper()
	path := filepath.Join(dir, ".copy.json")
	data, err := os.ReadFile(path)
	var record map[string]any
	if err == nil {
		err = json.Unmarshal(data, &record)
	}
	if err == nil {
		record["installedAt"] = at
		data, err = json.Marshal(record)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
