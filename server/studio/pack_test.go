package studio_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/server/studio"
)

// unpacked installs an archive made by fill and returns its copy.
func unpacked(t *testing.T, fill func(w *zip.Writer)) studio.Copy {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	fill(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := newRelease(t)
	r.serve(answer(manifest("1.0.0", hash(buf.Bytes()), 1)), answer(buf.String()))
	s, _ := open(t, r.URL, nil)
	return update(t, s)
}

func put(t *testing.T, w *zip.Writer, name string, method uint16, content string) {
	t.Helper()
	f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
	if err == nil {
		_, err = io.WriteString(f, content)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Answers are packed when a copy is installed, and only where that is worth it; what is packed is in the record too.
func TestFilesArePackedWhereThatIsWorthIt(t *testing.T) {
	text, random := strings.Repeat("function chat() { return 42 }\n", 200), noise(8<<10)
	files := map[string]struct {
		content string
		method  uint16
		packed  bool
	}{
		"index.html":              {"<title>x</title>", zip.Deflate, false}, // too small
		"app.js":                  {text, zip.Deflate, true},
		"_next/static/chunk/a.js": {text, zip.Deflate, true},
		"stored.css":              {text, zip.Store, true},
		"stored-random.bin":       {random, zip.Store, false}, // no smaller
		"random.bin":              {random, zip.Deflate, false},
		"picture.png":             {text, zip.Deflate, false}, // packed in itself, as a rule
		"font.woff2":              {text, zip.Deflate, false},
		".well-known/x.txt":       {text, zip.Deflate, true},
	}
	c := unpacked(t, func(w *zip.Writer) {
		for name, file := range files {
			put(t, w, name, file.method, file.content)
		}
	})
	recorded := map[string]studio.File{}
	for _, file := range c.Files {
		recorded[file.Name] = file
	}
	for name, file := range files {
		twin, ok := recorded[studio.PackedName(name)]
		if ok != file.packed {
			t.Errorf("%s: packed %v, want %v", name, ok, file.packed)
		}
		if !ok {
			continue
		}
		data, err := os.ReadFile(filepath.Join(c.Dir, filepath.FromSlash(twin.Name)))
		if err != nil {
			t.Fatal(err)
		}
		if hash(data) != twin.SHA256 || int64(len(data)) != twin.Size || len(data) > len(file.content)*9/10 {
			t.Errorf("%s: got %d bytes, %+v", name, len(data), twin)
		}
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != file.content {
			t.Errorf("%s: unpacks to %d bytes, %v", name, len(got), err)
		}
	}
}

// An entry with bytes after its end unpacks all right, and would be a broken answer if they were taken over.
func TestBytesAfterTheEndOfAnEntryAreNotPacked(t *testing.T) {
	text := strings.Repeat("function chat() { return 42 }\n", 200)
	var deflated bytes.Buffer
	fw, err := flate.NewWriter(&deflated, 6)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(fw, text)
	if err := fw.Close(); err != nil {
		t.Fatal(err)
	}
	deflated.WriteString("and more")
	c := unpacked(t, func(w *zip.Writer) {
		put(t, w, "index.html", zip.Store, "x")
		f, err := w.CreateRaw(&zip.FileHeader{Name: "app.js", Method: zip.Deflate, UncompressedSize64: uint64(len(text)),
			CompressedSize64: uint64(deflated.Len())})
		if err == nil {
			_, err = f.Write(deflated.Bytes())
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	wantSite(t, c.Dir, site{"index.html": "x", "app.js": text})
	for _, file := range c.Files {
		if strings.HasPrefix(file.Name, ".gzip/") {
			t.Errorf("packed %s", file.Name)
		}
	}
}

// security.md 19 holds for what is packed as well: it is what most answers are.
func TestAChangedPackedFileIsNoticed(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string){
		"changed": func(t *testing.T, path string) { write(t, path, "changed") },
		"missing": remove,
	} {
		t.Run(name, func(t *testing.T) {
			_, s, cfg := versions(t, "1.0.0", "1.1.0")
			spoil(t, filepath.Join(cfg.CacheDir, "1.1.0", ".gzip", "_next", "static", "app-1f3.js"))
			wantVersion(t, s, "1.0.0")
		})
	}
}
