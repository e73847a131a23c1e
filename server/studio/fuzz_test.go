package studio_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"chatwright.dev/tray/server/studio"
)

func FuzzParseManifest(f *testing.F) {
	sum := strings.Repeat("aB", 32)
	f.Add([]byte(manifest("1.0.0", sum, 1)))
	f.Add([]byte(manifest("../x", sum, 1)))
	f.Add([]byte(manifest("CON.1", sum, 2)))
	f.Add([]byte(`{"version":"1","sha256":null,"uiContract":1e0}`))
	f.Add([]byte("<html>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := studio.ParseManifest(data)
		if err != nil {
			return
		}
		if !filepath.IsLocal(m.Version) || strings.ContainsAny(m.Version, `/\:~ `) || m.Version[0] == '.' || len(m.Version) > 100 {
			t.Errorf("accepted the version %q", m.Version)
		}
		if len(m.SHA256) != 64 || m.SHA256 != strings.ToLower(m.SHA256) {
			t.Errorf("accepted the sha256 %q", m.SHA256)
		}
	})
}

func FuzzCheckName(f *testing.F) {
	for _, seed := range []string{"a/b.js", "../x", `a\b`, "con", "lpt¹.x", "a./b", "\xff", "a\x00", "/", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if studio.CheckName(name) != nil {
			return
		}
		if !fs.ValidPath(name) || !filepath.IsLocal(name) || !utf8.ValidString(name) || strings.ContainsAny(name, "\\:\x00") {
			t.Errorf("accepted %q", name)
		}
		for part := range strings.SplitSeq(name, "/") {
			if strings.TrimRight(part, ". ") != part {
				t.Errorf("accepted %q", name)
			}
		}
	})
}

// FuzzArchive: whatever the bytes are, nothing is written outside the folder, and nothing but files and folders in it;
// what was packed is what it is the twin of.
func FuzzArchive(f *testing.F) {
	f.Add(studioSite("one").zip(f))
	f.Add(rawZip(f, withIndex("a/", "a/b", "../x")))
	f.Add(rawZip(f, func(w zipWriter) { withIndex("a/x")(w); w.file("l", "..", 0o777|fs.ModeSymlink) }))
	f.Add([]byte("PK"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		parent := t.TempDir()
		dir := filepath.Join(parent, "copy")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		_, failed := studio.Unpack(t.Context(), archive, dir) // either way is fine
		if beside, _ := os.ReadDir(parent); len(beside) != 1 {
			t.Errorf("written outside: %v", beside)
		}
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() && !d.Type().IsRegular() {
				t.Errorf("%s is a %v (%v)", path, d.Type(), err)
			}
			packed, isPacked := strings.CutPrefix(path, filepath.Join(dir, ".gzip")+string(filepath.Separator))
			if failed == nil && isPacked && !d.IsDir() {
				wantTwins(t, filepath.Join(dir, packed), path)
			}
			return nil
		})
	})
}

func wantTwins(t *testing.T, plain, packed string) {
	t.Helper()
	want, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(packed)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s unpacks to %d bytes (%v), want the %d of its twin", packed, len(got), err, len(want))
	}
}

// FuzzResumption: whatever a killed process left of a download, what is installed is the release.
func FuzzResumption(f *testing.F) {
	files := studioSite("one")
	archive := string(files.zip(f))
	r := newRelease(f)
	sum := r.publish(f, "1.0.0", files)
	record := func(etag string, total int) []byte {
		return fmt.Appendf(nil, `{"url": %q, "sha256": %q, "etag": %q, "total": %d}`, r.URL+"studio-ui.zip", sum, etag, total)
	}
	etag := `"` + sum[:16] + `"`
	f.Add(record(etag, len(archive)), []byte(archive[:100]))
	f.Add(record(etag, 0), []byte(archive))
	f.Add(record(etag, len(archive)), []byte(archive+"x"))
	f.Add(record(`"other"`, len(archive)), []byte(archive[:100]))
	f.Add(record(`W/`+etag, len(archive)), []byte("x"))
	f.Add(record(etag, -1), []byte{})
	f.Add([]byte("{"), []byte(archive))
	f.Fuzz(func(t *testing.T, record, part []byte) {
		s, cfg := open(t, r.URL, quick)
		write(t, filepath.Join(cfg.CacheDir, ".download.json"), string(record))
		write(t, filepath.Join(cfg.CacheDir, ".download.zip"), string(part))
		wantSite(t, update(t, s).Dir, files)
		wantNothingBut(t, cfg.CacheDir, "1.0.0")
	})
}
