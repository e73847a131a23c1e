package studio_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/studio"
)

// zipWriter writes archives that no honest program would.
type zipWriter struct {
	t testing.TB
	w *zip.Writer
}

func rawZip(t testing.TB, fill func(zipWriter)) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zipWriter{t, zip.NewWriter(&buf)}
	fill(w)
	if err := w.w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// file adds a file, or with a last slash a folder, under exactly this name.
func (w zipWriter) file(name, content string, mode fs.FileMode) {
	w.t.Helper()
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, NonUTF8: !utf8.ValidString(name)}
	h.SetMode(mode)
	if strings.HasSuffix(name, "/") {
		h.Method = zip.Store
	}
	f, err := w.w.CreateHeader(h)
	if err == nil && content != "" {
		_, err = f.Write([]byte(content))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// raw adds an entry whose header says what it likes.
func (w zipWriter) raw(h zip.FileHeader, packed []byte) {
	w.t.Helper()
	f, err := w.w.CreateRaw(&h)
	if err == nil {
		_, err = f.Write(packed)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func withIndex(names ...string) func(zipWriter) {
	return func(w zipWriter) {
		w.file("index.html", "x", 0o644)
		for _, name := range names {
			w.file(name, "", 0o644)
		}
	}
}

// security.md 16: names, on every OS.
func TestNamesThatAreRefused(t *testing.T) {
	long := strings.Repeat("a", 256)
	tests := []struct{ name, file, why string }{
		{"empty", "", "is empty"},
		{"absolute", "/etc/passwd", "is absolute"},
		{"absolute on a share", "//host/share", "is absolute"},
		{"up", "../x", "leads out of its folder"},
		{"up, in the middle", "a/../../x", "leads out of its folder"},
		{"up, at the end", "a/..", "leads out of its folder"},
		{"here", "./x", "leads out of its folder"},
		{"an empty part", "a//b", "has an empty part"},
		{"two slashes at the end", "a//", "has an empty part"},
		{"a backslash", `a\b`, `has one of \ :`},
		{"up with backslashes", `..\x`, `has one of \ :`},
		{"a drive", "C:x", `has one of \ :`},
		{"a stream", "x.txt:hidden", `has one of \ :`},
		{"a wildcard", "a*.js", `has one of \ :`},
		{"NUL", "a\x00b", "has a control character"},
		{"a line break", "a\nb", "has a control character"},
		{"not UTF-8", "a\xff", "is not UTF-8"},
		{"a UTF-16 surrogate", "a\xed\xa0\x80", "is not UTF-8"},
		{"a dot at the end", "a./b", "ends in a dot or space"},
		{"a dot at the very end", "a/b.", "ends in a dot or space"},
		{"a space at the end", "a /b", "ends in a dot or space"},
		{"three dots", ".../b", "ends in a dot or space"},
		{"CON", "CON", "is a device"},
		{"con with an extension", "a/con.txt", "is a device"},
		{"a device as a folder", "aux/b", "is a device"},
		{"a device with two extensions", "NUL.tar.gz", "is a device"},
		{"a device with a space", "prn .txt", "is a device"},
		{"CONIN$", "conin$", "is a device"},
		{"CONOUT$", "CONOUT$.x", "is a device"},
		{"COM0", "com0", "is a device"},
		{"COM9", "COM9.js", "is a device"},
		{"LPT1", "lpt1", "is a device"},
		{"COM¹", "COM¹", "is a device"},
		{"LPT³", "lpt³.txt", "is a device"},
		{"too long a part", long, "has a part over 255 bytes"},
		{"too long in all", strings.Repeat("abcdefg/", 128) + "x", "is over 1024 bytes"},
		{"too deep", strings.Repeat("a/", 64) + "x", "is over 64 folders deep"},
		{"our marker", ".sha256", "is kept for the copy's own records"},
		{"our manifest, in other letters", ".Manifest.JSON", "is kept for the copy's own records"},
		{"our packed files", ".gzip/index.html", "is kept for the copy's own records"},
		{"our packed files, folded", ".GZIP", "is kept for the copy's own records"},
		{"our record as a folder", ".copy.json/x", "is kept for the copy's own records"},
	}
	installation := installed(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			installation.wantRefused(t, rawZip(t, withIndex(tt.file)), tt.why)
		})
	}
}

// security.md 16: names that meet on a file system which tells less apart.
func TestNamesThatMeet(t *testing.T) {
	tests := []struct {
		name  string
		files []string
		why   string
	}{
		{"twice", []string{"a.js", "a.js"}, "is there twice"},
		{"a folder twice", []string{"a/", "a/"}, "is there twice"},
		{"in other letters", []string{"a.js", "A.js"}, "does not tell cases or forms apart"},
		{"folders in other letters", []string{"a/x", "A/y"}, "does not tell cases or forms apart"},
		{"a listed folder in other letters", []string{"a/x", "A/"}, "does not tell cases or forms apart"},
		{"composed and decomposed", []string{"\u00e9.js", "e\u0301.js"}, "does not tell cases or forms apart"},
		{"full folding: ß is ss", []string{"straße", "STRASSE"}, "does not tell cases or forms apart"},
		{"the Kelvin sign is k", []string{"\u212a.js", "k.js"}, "does not tell cases or forms apart"},
		{"a final sigma", []string{"ς", "σ"}, "does not tell cases or forms apart"},
		{"a file where a folder is needed", []string{"a", "a/b"}, "is a file where another entry needs a folder"},
		{"a folder where a file is", []string{"a/b", "a"}, "is a file where another entry needs a folder"},
		{"a listed folder where a file is", []string{"a", "a/"}, "is a file where another entry needs a folder"},
		{"the same in other letters", []string{"A", "a/b"}, "does not tell cases or forms apart"},
		{"the index in other letters", []string{"INDEX.html"}, "does not tell cases or forms apart"},
	}
	installation := installed(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			installation.wantRefused(t, rawZip(t, withIndex(tt.files...)), tt.why)
		})
	}
}

// What a web build really names its files passes.
func TestNamesThatPass(t *testing.T) {
	names := []string{
		"_next/static/chunks/app/[slug]/(group)/@modal/page-1f3a9c2b.js", ".nojekyll", ".well-known/x.json", "a/", "a/b/", "a/b/c.js",
		"日本語.html", "emoji-😀.svg", "con-tact.html", "console.js", "com10.txt", "communication", "lpt.js", "nul-values.md",
		"a b.txt", " leading.txt", "..a", "a..b", "~tilde", "100%.css", "a+b=c&d.js", "sha256", "x/.sha256",
	}
	dir := t.TempDir()
	if _, err := studio.Unpack(t.Context(), rawZip(t, withIndex(names...)), dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// security.md 16: bounds, "counted while copying and never believed from headers".
func TestArchivesThatAreRefused(t *testing.T) {
	zeros := deflated(t, make([]byte, 4<<20))
	bomb := zip.FileHeader{Name: "bomb", Method: zip.Deflate, CRC32: crcOfZeros(4 << 20), UncompressedSize64: 4 << 20, CompressedSize64: uint64(len(zeros))}
	padded := bomb
	padded.CompressedSize64 = 100 << 10
	small := bomb
	small.UncompressedSize64 = 1 << 10
	tests := []struct {
		name string
		fill func(zipWriter)
		why  string
	}{
		{"no index.html", func(w zipWriter) { w.file("studio/index.html", "x", 0o644) }, "has no index.html at its root"},
		{"index.html is a folder", func(w zipWriter) { w.file("index.html/", "", 0o755) }, "has no index.html at its root"},
		{"index.html is a link", func(w zipWriter) { w.file("index.html", "/etc/passwd", 0o777|fs.ModeSymlink) }, "has no index.html at its root"},
		{"nothing at all", func(zipWriter) {}, "has no index.html at its root"},
		{"too many entries", func(w zipWriter) {
			w.file("index.html", "x", 0o644)
			for i := range studio.MaxEntries {
				w.raw(zip.FileHeader{Name: fmt.Sprintf("f%d", i)}, nil)
			}
		}, "has more than 20000 entries"},
		{"too many folders in few entries", func(w zipWriter) {
			w.file("index.html", "x", 0o644)
			for i := range studio.MaxEntries / 50 {
				w.raw(zip.FileHeader{Name: fmt.Sprintf("%d%s/x", i, strings.Repeat("/a", 60))}, nil)
			}
		}, "has more than 20000 entries"},
		{"a big file", func(w zipWriter) {
			withIndex()(w)
			w.raw(zip.FileHeader{Name: "big", UncompressedSize64: studio.MaxFile + 1}, nil)
		}, "is over 64 MiB"},
		{"a size that overflows", func(w zipWriter) {
			withIndex()(w)
			w.raw(zip.FileHeader{Name: "big", UncompressedSize64: 1<<64 - 1}, nil)
		}, "is over 64 MiB"},
		{"too much in all", func(w zipWriter) {
			withIndex()(w)
			for i := range studio.MaxUnpacked/studio.MaxFile + 1 {
				w.raw(zip.FileHeader{Name: fmt.Sprintf("big%d", i), UncompressedSize64: studio.MaxFile}, nil)
			}
		}, "unpacks to more than 256 MiB"},
		{"a bomb", func(w zipWriter) { withIndex()(w); w.raw(bomb, zeros) }, "packed more than 200 to 1"},
		{"a bomb that claims to be packed loosely", func(w zipWriter) {
			withIndex()(w)
			w.raw(padded, append(bytes.Clone(zeros), make([]byte, 100<<10-len(zeros))...))
		}, "packed more than 200 to 1"},
		{"a bomb that claims to be small", func(w zipWriter) { withIndex()(w); w.raw(small, zeros) }, "not a valid zip file"},
		{"a wrong checksum", func(w zipWriter) {
			withIndex()(w)
			w.raw(zip.FileHeader{Name: "x", CRC32: 1, UncompressedSize64: 1, CompressedSize64: 1}, []byte("x"))
		}, "checksum error"},
		{"an encrypted file", func(w zipWriter) { withIndex()(w); w.raw(zip.FileHeader{Name: "x", Flags: 1}, nil) }, "is encrypted"},
		{"an unknown method", func(w zipWriter) { withIndex()(w); w.raw(zip.FileHeader{Name: "x", Method: 14}, nil) }, "method 14"},
	}
	installation := installed(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { installation.wantRefused(t, rawZip(t, tt.fill), tt.why) })
	}
	t.Run("not a zip", func(t *testing.T) { installation.wantRefused(t, []byte("<html>"), "not a valid zip file") })
}

// A small file of one letter is no bomb, and neither is a megabyte that packs well enough.
func TestHighRatiosThatPass(t *testing.T) {
	archive := rawZip(t, func(w zipWriter) {
		withIndex()(w)
		w.file("spaces.txt", strings.Repeat(" ", 1<<20), 0o644)
		w.file("starts-with-zeros.bin", string(make([]byte, 2<<20))+noise(200<<10), 0o644)
	})
	if _, err := studio.Unpack(t.Context(), archive, t.TempDir()); err != nil {
		t.Error(err)
	}
}

// An installation is a cache with one copy in it, which no bad release may touch.
type installation struct {
	release *release
	store   *studio.Store
	cache   string
}

func installed(t *testing.T) installation {
	t.Helper()
	r := newRelease(t)
	r.publish(t, "1.0.0", studioSite("old"))
	s, cfg := open(t, r.URL, nil)
	update(t, s)
	return installation{r, s, cfg.CacheDir}
}

// wantRefused runs a whole update with the archive: refused, nothing written, the old copy there still.
func (i installation) wantRefused(t *testing.T, archive []byte, why string) {
	t.Helper()
	before := tree(t, i.cache)
	i.release.serve(answer(manifest("1.1.0", hash(archive), 1)), answer(string(archive)))
	_, err := i.store.Update(t.Context(), studio.UpdateOptions{})
	if !errors.Is(err, studio.ErrArchive) || !strings.Contains(err.Error(), why) {
		t.Errorf("got %v, want ErrArchive with %q", err, why)
	}
	if !strings.Contains(hint.Of(err), "whoever publishes") {
		t.Errorf("hint: got %q", hint.Of(err))
	}
	// The cache folder's own time changes, and the lock is there from the first update on.
	if after := tree(t, i.cache); withoutFirstLine(after) != withoutFirstLine(before) {
		t.Errorf("something was written:\n%s\nwas\n%s", after, before)
	}
	wantCurrent(t, i.store, studioSite("old"))
}

func withoutFirstLine(s string) string {
	_, rest, _ := strings.Cut(s, "\n")
	return rest
}

// security.md 16: "Symlinks and special files are skipped (the contract) and reported in the log."
func TestLinksAndSpecialFilesAreLeftOut(t *testing.T) {
	archive := rawZip(t, func(w zipWriter) {
		withIndex()(w)
		w.file("link", "/etc/passwd", 0o777|fs.ModeSymlink)
		w.file("pipe", "", 0o644|fs.ModeNamedPipe)
		w.file("a/device", "", 0o644|fs.ModeDevice)
		w.file("a/link-to-folder/", "", 0o777|fs.ModeSymlink)
	})
	r := newRelease(t)
	r.serve(answer(manifest("1.0.0", hash(archive), 1)), answer(string(archive)))
	var log bytes.Buffer
	s, _ := open(t, r.URL, func(cfg *studio.Config) { cfg.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	c := update(t, s)
	wantSite(t, c.Dir, site{"index.html": "x"})
	if !strings.Contains(log.String(), "count=4 first=link") {
		t.Errorf("log: got %s, want the links counted", &log)
	}
	t.Run("but one that another entry goes through is refused", func(t *testing.T) {
		installed(t).wantRefused(t, rawZip(t, func(w zipWriter) {
			withIndex()(w)
			w.file("out", "/tmp", 0o777|fs.ModeSymlink)
			w.file("out/x", "x", 0o644)
		}), "is a file where another entry needs a folder")
	})
}

func deflated(t *testing.T, data []byte) []byte {
	t.Helper()
	archive := rawZip(t, func(w zipWriter) { w.file("x", string(data), 0o644) })
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := r.File[0].OpenRaw()
	if err != nil {
		t.Fatal(err)
	}
	packed, err := io.ReadAll(raw)
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

func crcOfZeros(n int) uint32 { return crc32.ChecksumIEEE(make([]byte, n)) }

// noise does not compress, and is the same each time.
func noise(n int) string {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data) // it never fails
	return string(data)
}
