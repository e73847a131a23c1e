package studio_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"chatwright.dev/tray/server/studio"
)

// A release is a server with the two files of a Studio release, either of which can be made to lie.
type release struct {
	URL       string
	downloads atomic.Int32 // of the archive

	mu                           sync.Mutex
	manifest, archive, signature http.HandlerFunc
}

func newRelease(t testing.TB) *release {
	t.Helper()
	r := &release{signature: fail(404)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /latest/studio-ui.manifest.json", func(w http.ResponseWriter, req *http.Request) { r.handler(&r.manifest)(w, req) })
	mux.HandleFunc("GET /latest/studio-ui.manifest.json.minisig", func(w http.ResponseWriter, req *http.Request) { r.handler(&r.signature)(w, req) })
	mux.HandleFunc("GET /latest/studio-ui.zip", func(w http.ResponseWriter, req *http.Request) {
		r.downloads.Add(1)
		r.handler(&r.archive)(w, req)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	r.URL = server.URL + "/latest/"
	return r
}

func (r *release) handler(which *http.HandlerFunc) http.HandlerFunc {
	r.mu.Lock()
	defer r.mu.Unlock()
	return *which
}

// serve sets what the two files answer from now on; nil leaves one as it is.
func (r *release) serve(manifest, archive http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if manifest != nil {
		r.manifest = manifest
	}
	if archive != nil {
		r.archive = archive
	}
}

// publish releases files as version, honestly, and returns the archive's hash.
func (r *release) publish(t testing.TB, version string, files site) (sum string) {
	t.Helper()
	archive := files.zip(t)
	sum = hash(archive)
	r.serve(answer(manifest(version, sum, 1)), (&fileServer{body: string(archive), etag: `"` + sum[:16] + `"`}).ServeHTTP)
	return sum
}

func manifest(version, sum string, contract int) string {
	return fmt.Sprintf(`{"version": %q, "sha256": %q, "uiContract": %d}`, version, sum, contract)
}

func answer(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(body))
	}
}

func fail(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// hang answers nothing for as long as the client waits.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// stall sends the headers and some of body, and then nothing for as long as the client waits.
func stall(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = w.Write([]byte(body[:len(body)/2]))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// cutShort promises all of body and closes the connection half way.
func cutShort(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = w.Write([]byte(body[:len(body)/2]))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// A site is the files of a Studio: name to content.
type site map[string]string

// studioSite is a small Studio whose every file tells its edition.
func studioSite(edition string) site {
	return site{
		"index.html":                        "<title>Studio " + edition + "</title>",
		"_next/static/app-1f3.js":           "console.log('" + edition + "')" + strings.Repeat(" ", 5000),
		"samples/only-" + edition + ".json": `{"edition": "` + edition + `"}`,
	}
}

func (s site) zip(t testing.TB) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, name := range slices.Sorted(maps.Keys(s)) {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(s[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// readSite reads what would be served from dir: all regular files but those with a dot in front, or in such a folder.
func readSite(t testing.TB, dir string) site {
	t.Helper()
	found := site{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && name != "." && path.Base(name)[0] == '.' {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || path.Base(name)[0] == '.' {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		found[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func wantSite(t testing.TB, dir string, want site) {
	t.Helper()
	if got := readSite(t, dir); !maps.Equal(got, want) {
		t.Errorf("files in %s: got %q, want %q", filepath.Base(dir), slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// open opens a store of the release with a cache of its own, after change.
func open(t testing.TB, baseURL string, change func(*studio.Config)) (*studio.Store, studio.Config) {
	t.Helper()
	cfg := studio.Config{CacheDir: filepath.Join(t.TempDir(), "ui"), BaseURL: baseURL}
	if change != nil {
		change(&cfg)
	}
	s, err := studio.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s, cfg
}

// reopen opens the same cache again, as the next process does.
func reopen(t testing.TB, cfg studio.Config) *studio.Store {
	t.Helper()
	s, err := studio.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func update(t testing.TB, s *studio.Store) studio.Copy {
	t.Helper()
	c, err := s.Update(t.Context(), studio.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func wantCurrent(t testing.TB, s *studio.Store, want site) studio.Copy {
	t.Helper()
	c, ok := s.Current()
	if !ok {
		t.Fatal("there is no copy to serve")
	}
	wantSite(t, c.Dir, want)
	return c
}

// wantNoLeftovers wants nothing in the cache but copies and the lock.
func wantNoLeftovers(t testing.TB, cacheDir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(cacheDir, ".tmp-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q (%v)", left, err)
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
