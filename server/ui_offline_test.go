package server_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/studio"
)

// studioRelease serves one release; fail, when set, answers for the manifest instead.
type studioRelease struct {
	*httptest.Server
	manifest, archive atomic.Value // string, []byte
	fail              atomic.Pointer[http.HandlerFunc]
	requests          atomic.Int32
}

func newStudioRelease(t testing.TB) *studioRelease {
	t.Helper()
	r := &studioRelease{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.requests.Add(1)
		switch fail := r.fail.Load(); {
		case req.URL.Path == "/studio-ui.manifest.json" && fail != nil:
			(*fail)(w, req)
		case req.URL.Path == "/studio-ui.manifest.json":
			_, _ = w.Write([]byte(r.manifest.Load().(string)))
		case req.URL.Path == "/studio-ui.zip":
			_, _ = w.Write(r.archive.Load().([]byte))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *studioRelease) publish(t *testing.T, version string, contract int, page string) {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	index, err := w.Create("index.html")
	if err == nil {
		_, err = index.Write([]byte(page))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(buf.Bytes())
	r.archive.Store(buf.Bytes())
	r.manifest.Store(fmt.Sprintf(`{"version":%q,"sha256":%q,"uiContract":%d}`, version, hex.EncodeToString(sum[:]), contract))
}

func (r *studioRelease) answerManifestWith(h http.HandlerFunc) { r.fail.Store(&h) }

func wantPage(t *testing.T, dir, want string) {
	t.Helper()
	if got, err := os.ReadFile(filepath.Join(dir, "index.html")); string(got) != want {
		t.Errorf("index.html: got %q (%v), want %q", got, err, want)
	}
}

// studio.md, "The contract".
func TestResolveOfflineUIInstallsAndReuses(t *testing.T) {
	r := newStudioRelease(t)
	r.publish(t, "1.0.0", server.SupportedUIContract, "one")
	opts := server.OfflineUIOptions{BaseURL: r.URL, CacheDir: t.TempDir()}
	for range 2 {
		dir, err := server.ResolveOfflineUI(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(opts.CacheDir, "1.0.0"); dir != want {
			t.Errorf("got %s, want %s", dir, want)
		}
		wantPage(t, dir, "one")
	}
	if got := r.requests.Load(); got != 3 {
		t.Errorf("got %d requests, want two manifests and one archive", got)
	}
}

// studio.md: "The manifest cannot be had … but a finished copy is there: the newest finished copy is served, with a
// logged note."
func TestResolveOfflineUIFallsBackToTheInstalledCopy(t *testing.T) {
	reasons := map[string]func(t *testing.T, r *studioRelease){
		"no network": func(_ *testing.T, r *studioRelease) { r.Close() },
		"404":        func(_ *testing.T, r *studioRelease) { r.answerManifestWith(http.NotFound) },
		"5xx": func(_ *testing.T, r *studioRelease) {
			r.answerManifestWith(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) })
		},
		"bad JSON":      func(_ *testing.T, r *studioRelease) { r.manifest.Store("{") },
		"a wrong hash":  func(t *testing.T, r *studioRelease) { r.publish(t, "1.1.0", 1, "new"); r.archive.Store([]byte("PK")) }, // security.md 15
		"an older one":  func(t *testing.T, r *studioRelease) { r.publish(t, "0.9.0", 1, "older") },                              // security.md 18
		"a bad archive": func(t *testing.T, r *studioRelease) { publishEmptyArchive(t, r) },                                      // security.md 16
	}
	for name, spoil := range reasons {
		t.Run(name, func(t *testing.T) {
			r := newStudioRelease(t)
			r.publish(t, "1.0.0", 1, "one")
			var notes bytes.Buffer
			opts := server.OfflineUIOptions{BaseURL: r.URL, CacheDir: t.TempDir(), HTTPClient: r.Client(), Logger: log.New(&notes, "", 0)}
			if _, err := server.ResolveOfflineUI(t.Context(), opts); err != nil {
				t.Fatal(err)
			}
			notes.Reset()
			spoil(t, r)
			dir, err := server.ResolveOfflineUI(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			wantPage(t, dir, "one")
			if !strings.Contains(notes.String(), "the installed copy is served") || !strings.Contains(notes.String(), "version=1.0.0") {
				t.Errorf("note: got %q, want it said, with the version", notes.String())
			}
		})
	}
}

func publishEmptyArchive(t *testing.T, r *studioRelease) {
	t.Helper()
	var buf bytes.Buffer
	if err := zip.NewWriter(&buf).Close(); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(buf.Bytes())
	r.archive.Store(buf.Bytes())
	r.manifest.Store(fmt.Sprintf(`{"version":"1.1.0","sha256":%q,"uiContract":1}`, hex.EncodeToString(sum[:])))
}

// studio.md: "None: an error that carries the cause and says what to do."
func TestResolveOfflineUIWithNoCopyAtAll(t *testing.T) {
	r := newStudioRelease(t)
	r.answerManifestWith(http.NotFound)
	_, err := server.ResolveOfflineUI(t.Context(), server.OfflineUIOptions{BaseURL: r.URL, CacheDir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "404 Not Found") || hint.Of(err) == "" {
		t.Errorf("got %v (hint %q), want the cause and a way out", err, hint.Of(err))
	}
}

// studio.md: another contract is "refused outright, with words; never served in part".
func TestResolveOfflineUIRefusesAnotherContract(t *testing.T) {
	r := newStudioRelease(t)
	opts := server.OfflineUIOptions{BaseURL: r.URL, CacheDir: t.TempDir()}
	r.publish(t, "2.0.0", server.SupportedUIContract+1, "two")
	for _, installed := range []bool{false, true} {
		if installed {
			r.publish(t, "1.0.0", 1, "one")
			if _, err := server.ResolveOfflineUI(t.Context(), opts); err != nil {
				t.Fatal(err)
			}
			r.publish(t, "2.0.0", server.SupportedUIContract+1, "two")
		}
		dir, err := server.ResolveOfflineUI(t.Context(), opts)
		if !errors.Is(err, studio.ErrContract) || !strings.Contains(err.Error(), "Studio 2.0.0 speaks 2, this companion speaks 1") {
			t.Errorf("installed %t: got %q, %v; want it refused with words", installed, dir, err)
		}
	}
}

// companion.md, "What the original gets wrong": the offline fallback does not check the contract.
func TestWrongInTheOriginal_OfflineFallbackDoesNotCheckTheContract(t *testing.T) {
	r := newStudioRelease(t)
	opts := server.OfflineUIOptions{BaseURL: r.URL, CacheDir: t.TempDir()}
	r.publish(t, "1.0.0", 1, "one")
	dir, err := server.ResolveOfflineUI(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	// As if a companion of another contract had installed it: its own manifest says so.
	manifest := filepath.Join(dir, ".manifest.json")
	data, err := os.ReadFile(manifest)
	if err == nil {
		err = os.WriteFile(manifest, bytes.Replace(data, []byte(`"uiContract":1`), []byte(`"uiContract":2`), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	if dir, err := server.ResolveOfflineUI(t.Context(), opts); err == nil {
		t.Errorf("got %s, a copy of another contract", dir)
	}
}

func TestResolveOfflineUIFallsBackToTheCommandLineCompanionsCopy(t *testing.T) {
	legacy := t.TempDir()
	copied := filepath.Join(legacy, "0.3.0")
	if err := os.Mkdir(copied, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"index.html": "legacy", ".sha256": strings.Repeat("ab", 32)} {
		if err := os.WriteFile(filepath.Join(copied, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := newStudioRelease(t)
	r.answerManifestWith(http.NotFound)
	dir, err := server.ResolveOfflineUI(t.Context(), server.OfflineUIOptions{BaseURL: r.URL, CacheDir: t.TempDir(), LegacyDir: legacy})
	if err != nil || dir != copied {
		t.Errorf("got %s, %v; want %s", dir, err, copied)
	}
}

func TestResolveOfflineUIEndsWithItsContext(t *testing.T) {
	r := newStudioRelease(t)
	r.publish(t, "1.0.0", 1, "one")
	opts := server.OfflineUIOptions{BaseURL: r.URL, CacheDir: t.TempDir()}
	if _, err := server.ResolveOfflineUI(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	r.answerManifestWith(func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := server.ResolveOfflineUI(ctx, opts); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's end and no fallback", err)
	}
}

// A server holds on to the copy that ResolveOfflineUI named for as long as it serves: an update and a prune of another
// program leave it.
func TestAServedCopyOfResolveOfflineUIIsNotPruned(t *testing.T) {
	r, cache := newStudioRelease(t), t.TempDir()
	r.publish(t, "1.0.0", 1, "one")
	dir, err := server.ResolveOfflineUI(t.Context(), server.OfflineUIOptions{BaseURL: r.URL, CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	serving := servertest.Start(t, server.Config{UIDir: dir})
	ask(t, serving, "GET", "/", "").wants(t, 200, "one")

	store, err := studio.Open(studio.Config{CacheDir: cache, BaseURL: r.URL})
	if err != nil {
		t.Fatal(err)
	}
	keeper := studio.NewKeeper(store, nil)
	defer keeper.Close()
	for _, version := range []string{"1.1.0", "1.2.0"} {
		r.publish(t, version, 1, version)
		if err := keeper.Update(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	pruned, err := keeper.Prune(t.Context())
	if err != nil || !slices.Equal(pruned.InUse, []string{"1.0.0"}) || len(pruned.Removed) > 0 {
		t.Errorf("got %+v, %v; want 1.0.0 kept", pruned, err)
	}
	ask(t, serving, "GET", "/", "").wants(t, 200, "one")
	serving.End()
	if err := serving.Wait(); err != nil {
		t.Fatal(err)
	}
	if pruned, err := keeper.Prune(t.Context()); err != nil || !slices.Equal(pruned.Removed, []string{"1.0.0"}) {
		t.Errorf("afterwards: got %+v, %v; want 1.0.0 gone", pruned, err)
	}
}

func TestResolveOfflineUIRefusesABadAddress(t *testing.T) {
	_, err := server.ResolveOfflineUI(t.Context(), server.OfflineUIOptions{BaseURL: "studio.test", CacheDir: t.TempDir()})
	if err == nil || !strings.Contains(hint.Of(err), "--ui-url") {
		t.Errorf("got %v (hint %q), want a hint that names --ui-url", err, hint.Of(err))
	}
}

// companion.md: "$XDG_CACHE_HOME/chatwright/ui, or $CHATWRIGHT_HOME/ui when that is set".
func TestDefaultUICacheDir(t *testing.T) {
	cache, home := t.TempDir(), t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("CHATWRIGHT_HOME", "")
	if got, want := server.DefaultUICacheDir(), filepath.Join(cache, "chatwright", "ui"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	t.Setenv("CHATWRIGHT_HOME", home)
	if got, want := server.DefaultUICacheDir(), filepath.Join(home, "ui"); got != want {
		t.Errorf("with CHATWRIGHT_HOME: got %s, want %s", got, want)
	}
	t.Chdir(home)
	t.Setenv("CHATWRIGHT_HOME", "state")
	if got := server.DefaultUICacheDir(); !filepath.IsAbs(got) {
		t.Errorf("with a relative CHATWRIGHT_HOME: got %s, want an absolute path", got)
	}
	t.Setenv("CHATWRIGHT_HOME", "")
	t.Setenv("XDG_CACHE_HOME", "relative")
	if got := server.DefaultUICacheDir(); !filepath.IsAbs(got) || strings.Contains(got, "relative") {
		t.Errorf("with a relative XDG_CACHE_HOME: got %s, want it ignored", got)
	}
}
