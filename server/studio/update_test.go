package studio_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/studio"
)

// studio.md, "The contract": the layout of the cache.
func TestUpdateInstallsTheRelease(t *testing.T) {
	r := newRelease(t)
	files := studioSite("one")
	sum := r.publish(t, "1.0.0", files)
	// GitHub's releases may grow members; hashes may be spelled in capitals.
	raw := fmt.Sprintf(`{"sha256": %q, "version": "1.0.0", "uiContract": 1, "later": {}}`+"\n", strings.ToUpper(sum))
	r.serve(answer(raw), nil)
	s, cfg := open(t, r.URL, nil)

	c := update(t, s)
	if want := filepath.Join(cfg.CacheDir, "1.0.0"); c.Dir != want {
		t.Errorf("folder: got %s, want %s", c.Dir, want)
	}
	if c.Version != "1.0.0" || c.SHA256 != sum || c.UIContract != 1 || c.Legacy || time.Since(c.InstalledAt) > time.Minute {
		t.Errorf("got %+v", c)
	}
	wantSite(t, c.Dir, files)
	for name, want := range map[string]string{".sha256": sum + "\n", ".manifest.json": raw} {
		if got, _ := os.ReadFile(filepath.Join(c.Dir, name)); string(got) != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	wantNoLeftovers(t, cfg.CacheDir)
	again, ok := s.Current()
	if !ok || again.Dir != c.Dir || again.SHA256 != c.SHA256 || !again.InstalledAt.Equal(c.InstalledAt) {
		t.Errorf("current: got %+v, want %+v", again, c)
	}
}

// security.md 17: files are 0644, whatever the archive says.
func TestModesOfTheArchiveAreNotTaken(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	r := newRelease(t)
	archive := rawZip(t, func(w zipWriter) {
		w.file("index.html", "x", 0o777|fs.ModeSetuid)
		w.file("run.sh", "x", 0o755)
	})
	r.serve(answer(manifest("1.0.0", hash(archive), 1)), answer(string(archive)))
	s, _ := open(t, r.URL, nil)
	c := update(t, s)
	for _, name := range []string{"index.html", "run.sh"} {
		info, err := os.Stat(filepath.Join(c.Dir, name))
		if err != nil || info.Mode()&^0o644 != 0 {
			t.Errorf("%s: got mode %v (%v), want nothing beyond 0644", name, info.Mode(), err)
		}
	}
}

func TestBaseURLWithAndWithoutSlash(t *testing.T) {
	r := newRelease(t)
	r.publish(t, "1.0.0", studioSite("one"))
	for _, base := range []string{r.URL, strings.TrimSuffix(r.URL, "/")} {
		s, _ := open(t, base, nil)
		update(t, s)
	}
}

// studio.md: "A marker that matches the manifest: used as it is, no download."
func TestAMatchingMarkerNeedsNoDownload(t *testing.T) {
	t.Run("of our own", func(t *testing.T) {
		r := newRelease(t)
		r.publish(t, "1.0.0", studioSite("one"))
		s, _ := open(t, r.URL, nil)
		first, second := update(t, s), update(t, s)
		if got := r.downloads.Load(); got != 1 || first.Dir != second.Dir {
			t.Errorf("got %d downloads, want 1", got)
		}
	})
	t.Run("of the command-line companion", func(t *testing.T) {
		r := newRelease(t)
		sum := r.publish(t, "1.0.0", studioSite("one"))
		s, cfg := open(t, r.URL, nil)
		write(t, filepath.Join(cfg.CacheDir, "1.0.0", "index.html"), "by hand")
		write(t, filepath.Join(cfg.CacheDir, "1.0.0", ".sha256"), strings.ToUpper(sum))
		c := update(t, s)
		if !c.Legacy || c.UIContract != 1 || r.downloads.Load() != 0 {
			t.Errorf("got %+v after %d downloads, want the legacy copy after none", c, r.downloads.Load())
		}
	})
}

// studio.md: "A folder without a marker was not finished and is never offered."
func TestAFolderWithoutAMarkerIsNeverOffered(t *testing.T) {
	r := newRelease(t)
	s, cfg := open(t, r.URL, nil)
	write(t, filepath.Join(cfg.CacheDir, "1.0.0", "index.html"), "half")
	write(t, filepath.Join(cfg.CacheDir, "1.0.0", "stale.js"), "half")
	if c, ok := s.Current(); ok {
		t.Fatalf("offered %s", c.Dir)
	}
	files := studioSite("one")
	r.publish(t, "1.0.0", files)
	wantSite(t, update(t, s).Dir, files)
}

// studio.md: whatever keeps the manifest away, the installed copy stays, and the cause is told.
func TestManifestThatCannotBeHad(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	tests := []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"404", fail(404), "the server answered 404 Not Found"},
		{"503", fail(503), "the server answered 503 Service Unavailable"},
		{"bad JSON", answer(`{"version": `), "decoding the manifest: unexpected EOF"},
		{"a login page", answer("<!doctype html><title>Welcome to our hotel</title>"), "does this network want a login?"},
		{"text after it", answer(manifest("1.0.0", sum, 1) + "}"), "text after the JSON value"},
		{"endless", answer(strings.Repeat(" ", 1<<20)), "over 64 KiB"},
		{"cut short", cutShort(manifest("1.0.0", sum, 1)), "unexpected EOF"},
		{"no version", answer(manifest("", sum, 1)), "version is empty"},
		{"a version that leads elsewhere", answer(manifest("../1.0.0", sum, 1)), "not a safe folder name"},
		{"no hash", answer(manifest("1.0.0", "", 1)), "sha256 is not 64 hexadecimal digits"},
		{"no contract", answer(`{"version": "1.0.0", "sha256": "` + sum + `"}`), "has no uiContract"},
		{"a contract that is no integer", answer(`{"version": "1.0.0", "sha256": "` + sum + `", "uiContract": "1"}`), "decoding the manifest"},
		{"no answer", hang, "no whole answer within 100ms"},
		{"half an answer", stall(manifest("1.0.0", sum, 1)), "no whole answer within 100ms"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // an install waits for the disk
			r := newRelease(t)
			files := studioSite("one")
			r.publish(t, "0.9.0", files)
			s, cfg := open(t, r.URL, nil)
			update(t, s)
			r.serve(tt.answer, nil)
			cfg.ManifestTimeout = 100 * time.Millisecond
			if tt.want != "no whole answer within 100ms" {
				cfg.ManifestTimeout = time.Minute
			}
			s, err := studio.Open(cfg)
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Update(t.Context(), studio.UpdateOptions{})
			if !errors.Is(err, studio.ErrManifest) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want ErrManifest with %q", err, tt.want)
			}
			if !strings.Contains(hint.Of(err), "--ui-url") {
				t.Errorf("hint: got %q, want the way out", hint.Of(err))
			}
			wantCurrent(t, s, files)
		})
	}
}

func TestNoNetworkTellsItsCause(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	s, cfg := open(t, closed.URL, nil)
	_, err := s.Update(t.Context(), studio.UpdateOptions{})
	if !errors.Is(err, studio.ErrManifest) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v, want ErrManifest, connection refused", err)
	}
	if _, err := os.Stat(cfg.CacheDir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the cache folder was made for nothing")
	}
}

// studio.md: "TLS and HTTP errors are told apart in words."
func TestAnUntrustedCertificateIsSaidSo(t *testing.T) {
	secure := httptest.NewUnstartedServer(fail(404))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // the refused handshakes
	secure.StartTLS()
	defer secure.Close()
	s, _ := open(t, secure.URL, nil)
	if _, err := s.Update(t.Context(), studio.UpdateOptions{}); err == nil || !strings.Contains(err.Error(), "certificate is not trusted") {
		t.Errorf("got %v, want words about the certificate", err)
	}
	plain := newRelease(t)
	s, _ = open(t, strings.Replace(plain.URL, "http://", "https://", 1), nil)
	if _, err := s.Update(t.Context(), studio.UpdateOptions{}); err == nil || !strings.Contains(err.Error(), "TLS") && !strings.Contains(err.Error(), "HTTP response to HTTPS client") {
		t.Errorf("got %v, want words about TLS", err)
	}
}

func TestRedirects(t *testing.T) {
	check := studio.NewClient().CheckRedirect
	to := func(url string) *http.Request { return httptest.NewRequest(http.MethodGet, url, nil) }
	if err := check(to("https://b.test/"), []*http.Request{to("https://a.test/")}); err != nil {
		t.Errorf("https to https: got %v, want it followed, as GitHub's releases need", err)
	}
	if err := check(to("http://a.test/"), []*http.Request{to("https://a.test/")}); err == nil {
		t.Error("https to http: followed")
	}
	if err := check(to("http://a.test/"), make10(to("http://a.test/"))); err == nil {
		t.Error("a loop: followed for ever")
	}
}

func make10(r *http.Request) []*http.Request {
	via := make([]*http.Request, 10)
	for i := range via {
		via[i] = r
	}
	return via
}

// studio.md: another contract is "refused outright, with words"; security.md 18.
func TestAnotherContractIsRefused(t *testing.T) {
	for _, contract := range []int{0, 2, -1} {
		r := newRelease(t)
		files := studioSite("one")
		r.publish(t, "1.0.0", files)
		s, cfg := open(t, r.URL, nil)
		update(t, s)
		r.serve(answer(manifest("2.0.0", strings.Repeat("0", 64), contract)), fail(500))
		_, err := s.Update(t.Context(), studio.UpdateOptions{})
		if want := fmt.Sprintf("Studio 2.0.0 speaks %d, this companion speaks 1", contract); !errors.Is(err, studio.ErrContract) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want ErrContract with %q", err, want)
		}
		if hint.Of(err) == "" {
			t.Error("no way out is told")
		}
		wantCurrent(t, s, files)
		if r.downloads.Load() != 1 {
			t.Error("the refused release was downloaded")
		}
		wantNoLeftovers(t, cfg.CacheDir)
	}
}

// security.md 18: "an older semantic version than the installed one … is refused with words".
func TestDowngrades(t *testing.T) {
	tests := []struct {
		installed, offered string
		refused            bool
	}{
		{"1.10.0", "1.9.0", true},
		{"1.0.0", "1.0.0-rc.1", true},
		{"v1.0.0", "0.9.9", true},
		{"1.9.0", "1.10.0", false},
		{"1.0.0+a", "1.0.0+b", false}, // build metadata orders nothing
		{"2026-11-30", "2026-11-29", false},
		{"1.0.0", "nightly", false},
	}
	for _, tt := range tests {
		t.Run(tt.offered+" over "+tt.installed, func(t *testing.T) {
			r := newRelease(t)
			s, _ := open(t, r.URL, nil)
			r.publish(t, tt.installed, studioSite("installed"))
			update(t, s)
			r.publish(t, tt.offered, studioSite("offered"))
			_, err := s.Update(t.Context(), studio.UpdateOptions{})
			if !tt.refused {
				if err != nil {
					t.Fatal(err)
				}
				wantCurrent(t, s, studioSite("offered"))
				return
			}
			if !errors.Is(err, studio.ErrOlder) || !strings.Contains(err.Error(), tt.installed+" is installed") {
				t.Errorf("got %v, want ErrOlder that names both versions", err)
			}
			wantCurrent(t, s, studioSite("installed"))
		})
	}
}

func TestADamagedNewerCopyDoesNotKeepTheReleaseOut(t *testing.T) {
	r := newRelease(t)
	s, _ := open(t, r.URL, nil)
	r.publish(t, "2.0.0", studioSite("two"))
	write(t, filepath.Join(update(t, s).Dir, "index.html"), "damaged")
	r.publish(t, "1.0.0", studioSite("one"))
	update(t, s)
	wantCurrent(t, s, studioSite("one"))
}

// studio.md: "Two processes that update at once do not harm each other." (A lock held by another process is in
// crash_test.go.)
func TestConcurrentUpdatesInstallOnce(t *testing.T) {
	r := newRelease(t)
	r.publish(t, "1.0.0", studioSite("one"))
	_, cfg := open(t, r.URL, nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s, err := studio.Open(cfg)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := s.Update(t.Context(), studio.UpdateOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := r.downloads.Load(); got != 1 {
		t.Errorf("got %d downloads, want 1: the others wait and find it installed", got)
	}
	s, _ := open(t, r.URL, func(c *studio.Config) { *c = cfg })
	wantCurrent(t, s, studioSite("one"))
	wantNoLeftovers(t, cfg.CacheDir)
}

func TestOpenRefusesABadConfig(t *testing.T) {
	for name, base := range map[string]string{
		"no scheme":         "studio.test/latest/",
		"another scheme":    "ftp://studio.test/",
		"no host":           "https:///latest/",
		"a user":            "https://ann:s3cr3t@studio.test/",
		"a query":           "https://studio.test/?token=s3cr3t",
		"a fragment":        "https://studio.test/#latest",
		"not a URL":         "https://ann:s3cr3t@studio.test/%zz",
		"a file, not a URL": "/srv/studio",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := studio.Open(studio.Config{CacheDir: t.TempDir(), BaseURL: base})
			if err == nil || hint.Of(err) == "" {
				t.Fatalf("got %v with hint %q, want an error with a way out", err, hint.Of(err))
			}
			if strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("the secret is in %q", err)
			}
		})
	}
	if _, err := studio.Open(studio.Config{}); err == nil {
		t.Error("no cache folder: accepted")
	}
}
