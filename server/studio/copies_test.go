package studio_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/studio"
)

// companion.md, "What the original gets wrong": cached files never verified again. security.md 19.
func TestWrongInTheOriginal_CachedFilesNeverVerifiedAgain(t *testing.T) {
	script := filepath.Join("_next", "static", "app-1f3.js")
	tests := []struct {
		name   string
		damage func(t *testing.T, dir string)
		still  bool // the copy still is as it was
	}{
		{"a changed file", func(t *testing.T, dir string) { write(t, filepath.Join(dir, script), "changed") }, false},
		{"a file changed at the same size", func(t *testing.T, dir string) {
			data, err := os.ReadFile(filepath.Join(dir, script))
			if err != nil {
				t.Fatal(err)
			}
			data[0] ^= 1
			write(t, filepath.Join(dir, script), string(data))
		}, false},
		{"a missing file", func(t *testing.T, dir string) { remove(t, filepath.Join(dir, script)) }, false},
		{"a file too many", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "extra.js"), "") }, false},
		{"a link in place of a file", func(t *testing.T, dir string) {
			kept := filepath.Join(t.TempDir(), "app.js")
			if err := os.Rename(filepath.Join(dir, script), kept); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(kept, filepath.Join(dir, script)); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"records of another copy", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, ".sha256"), strings.Repeat("0", 64))
		}, false},
		{"broken records", func(t *testing.T, dir string) { write(t, filepath.Join(dir, ".copy.json"), "{") }, false},
		{"records without files", func(t *testing.T, dir string) {
			record, _ := os.ReadFile(filepath.Join(dir, ".copy.json"))
			head, _, _ := strings.Cut(string(record), `,"files"`)
			write(t, filepath.Join(dir, ".copy.json"), head+"}")
		}, false},
		{"no manifest", func(t *testing.T, dir string) { remove(t, filepath.Join(dir, ".manifest.json")) }, false},
		{"no records", func(t *testing.T, dir string) { remove(t, filepath.Join(dir, ".copy.json")) }, false},
		{"no marker", func(t *testing.T, dir string) { remove(t, filepath.Join(dir, ".sha256")) }, false},
		{"a manifest of another contract", func(t *testing.T, dir string) {
			data, _ := os.ReadFile(filepath.Join(dir, ".manifest.json"))
			write(t, filepath.Join(dir, ".manifest.json"), strings.Replace(string(data), `"uiContract": 1`, `"uiContract": 2`, 1))
		}, false},
		{"another folder name", func(t *testing.T, dir string) {
			if err := os.Rename(dir, filepath.Join(filepath.Dir(dir), "3.0.0")); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"what a file manager leaves", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "samples", ".DS_Store"), "x") }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // an install waits for the disk
			r := newRelease(t)
			var log bytes.Buffer
			s, _ := open(t, r.URL, func(cfg *studio.Config) { cfg.Log = slog.New(slog.NewTextHandler(&log, nil)) })
			r.publish(t, "1.0.0", studioSite("one"))
			update(t, s)
			r.publish(t, "2.0.0", studioSite("two"))
			newest := update(t, s)
			log.Reset()
			tt.damage(t, newest.Dir)
			if tt.still {
				wantCurrent(t, s, studioSite("two"))
				return
			}
			wantCurrent(t, s, studioSite("one")) // security.md 19: the previous version is served
			if tt.name != "no marker" && !strings.Contains(log.String(), "level=WARN") {
				t.Errorf("nothing was said about it: %q", log.String())
			}
			// The marker alone would have matched; the release is installed again all the same.
			update(t, s)
			wantCurrent(t, s, studioSite("two"))
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// companion.md, "What the original gets wrong": stale files after an in-place update. security.md 18: "the same
// version with another sha256 is a new install".
func TestWrongInTheOriginal_StaleFilesAfterAnInPlaceUpdate(t *testing.T) {
	r := newRelease(t)
	s, cfg := open(t, r.URL, nil)
	for range 2 { // there, and back again
		for _, edition := range []string{"first", "second"} {
			sum := r.publish(t, "1.0.0", studioSite(edition))
			c := update(t, s)
			if want := filepath.Join(cfg.CacheDir, "1.0.0"); c.Dir != want || c.SHA256 != sum {
				t.Fatalf("got %+v, want %s in %s", c, sum, want)
			}
			wantSite(t, c.Dir, studioSite(edition))
			wantCurrent(t, s, studioSite(edition))
		}
	}
	// The replaced copy is whole as well, and stands in for the other.
	write(t, filepath.Join(cfg.CacheDir, "1.0.0", "index.html"), "damaged")
	if c := wantCurrent(t, s, studioSite("first")); c.Version != "1.0.0" {
		t.Errorf("version: got %s, want 1.0.0", c.Version)
	}
	wantNoLeftovers(t, cfg.CacheDir)
}

// companion.md, "What the original gets wrong": a hung manifest host blocks start. Asking for the copy to serve touches
// no network, and an update ends by itself.
func TestWrongInTheOriginal_AHungManifestHostBlocksStart(t *testing.T) {
	r := newRelease(t)
	r.publish(t, "1.0.0", studioSite("one"))
	first, cfg := open(t, r.URL, nil)
	update(t, first)
	r.serve(hang, hang)
	cfg.ManifestTimeout = 150 * time.Millisecond
	s, err := studio.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	wantCurrent(t, s, studioSite("one"))
	began := time.Now()
	if _, err := s.Update(t.Context(), studio.UpdateOptions{}); !errors.Is(err, studio.ErrManifest) {
		t.Errorf("got %v, want ErrManifest", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the update took %s with a bound of 150 ms", took)
	}
}

// studio.md: "a copy made by the command-line companion counts as contract 1, unverified, last choice".
func TestLegacyCopies(t *testing.T) {
	r := newRelease(t)
	legacy := filepath.Join(t.TempDir(), ".chatwright", "ui")
	plant := func(version, marker string, age time.Duration) {
		write(t, filepath.Join(legacy, version, "index.html"), "legacy "+version)
		if marker != "" {
			path := filepath.Join(legacy, version, ".sha256")
			write(t, path, marker)
			at := time.Now().Add(-age)
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	sum := strings.Repeat("ab", 32)
	plant("0.1.0", sum, 2*time.Hour)
	plant("0.2.0", sum+"\n", time.Hour)
	plant("0.3.0", "", 0)           // never finished
	plant("0.4.0", "not a hash", 0) // nor this
	s, cfg := open(t, r.URL, func(cfg *studio.Config) { cfg.LegacyDir = legacy })

	c := wantCurrent(t, s, site{"index.html": "legacy 0.2.0"})
	if !c.Legacy || c.UIContract != 1 || c.Version != "0.2.0" {
		t.Errorf("got %+v, want legacy 0.2.0 at contract 1", c)
	}
	before := tree(t, legacy)
	r.publish(t, "0.1.5", studioSite("ours")) // older than the legacy one: that vouches for nothing
	update(t, s)
	wantCurrent(t, s, studioSite("ours"))
	if after := tree(t, legacy); after != before {
		t.Errorf("the legacy folder was written to:\n%s\nwas\n%s", after, before)
	}
	if err := os.RemoveAll(cfg.CacheDir); err != nil {
		t.Fatal(err)
	}
	wantCurrent(t, s, site{"index.html": "legacy 0.2.0"})
}

// Beside a copy of our own, a legacy one with the release's marker is not good enough: it would be served now, and not
// at the next start.
func TestALegacyCopyIsReplacedWhereThereIsABetterOne(t *testing.T) {
	r := newRelease(t)
	s, cfg := open(t, r.URL, nil)
	r.publish(t, "1.0.0", studioSite("one"))
	update(t, s)
	sum := r.publish(t, "1.1.0", studioSite("two"))
	write(t, filepath.Join(cfg.CacheDir, "1.1.0", "index.html"), "by hand")
	write(t, filepath.Join(cfg.CacheDir, "1.1.0", ".sha256"), sum)
	if c := update(t, s); c.Legacy {
		t.Errorf("got %+v, want a verified copy", c)
	}
	wantCurrent(t, s, studioSite("two"))
	if left, _ := filepath.Glob(filepath.Join(cfg.CacheDir, "*~*")); len(left) > 0 {
		t.Errorf("kept %q, want the copy of the same archive gone", left)
	}
}

func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			b.WriteString(path + " " + info.Mode().String() + " " + info.ModTime().String() + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCurrentWithoutACacheIsNoError(t *testing.T) {
	var log bytes.Buffer
	s, _ := open(t, "http://localhost:1", func(cfg *studio.Config) {
		cfg.LegacyDir = filepath.Join(t.TempDir(), "none")
		cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	if c, ok := s.Current(); ok {
		t.Errorf("got %+v out of nowhere", c)
	}
	if log.Len() > 0 {
		t.Errorf("a fresh machine is nothing to warn of: %s", &log)
	}
}
