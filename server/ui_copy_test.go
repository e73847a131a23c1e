package server_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/studio"
)

// A kept is a server whose Studio is kept up to date from a release, as the daemon has it.
type kept struct {
	*servertest.Running
	release *studioRelease
	keeper  *studio.Keeper
	cache   string
}

func keepStudio(t *testing.T) *kept {
	t.Helper()
	k := &kept{release: newStudioRelease(t), cache: filepath.Join(t.TempDir(), "ui")}
	store, err := studio.Open(studio.Config{CacheDir: k.cache, BaseURL: k.release.URL})
	if err != nil {
		t.Fatal(err)
	}
	ui := server.NewUISource("")
	k.keeper = studio.NewKeeper(store, ui.SetCopy)
	t.Cleanup(k.keeper.Close)
	ui.OnDamage(func() { k.keeper.Damaged() })
	k.keeper.Refresh()
	k.Running = servertest.Start(t, server.Config{UI: ui, Studio: k.keeper.State()})
	return k
}

// install publishes these files as version and updates to it.
func (k *kept) install(t *testing.T, version string, files map[string]string) {
	t.Helper()
	k.release.publishFiles(t, version, files)
	if err := k.keeper.Update(t.Context(), false); err != nil {
		t.Fatal(err)
	}
}

// publishFiles releases these files as version.
func (r *studioRelease) publishFiles(t testing.TB, version string, files map[string]string) {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(f, files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(buf.Bytes())
	r.archive.Store(buf.Bytes())
	r.manifest.Store(fmt.Sprintf(`{"version":%q,"sha256":%q,"uiContract":1}`, version, hex.EncodeToString(sum[:])))
}

var script = strings.Repeat("export function chat() { return 42 }\n", 200)

func studioFiles(edition string) map[string]string {
	return map[string]string{
		"index.html":                                            "<title>" + edition + "</title><script>boot()</script>" + strings.Repeat("<p>hello</p>", 200),
		"_next/static/chunks/" + edition + ".js":                script,
		"_next/static/chunks/shared.js":                         script + edition,
		"media/logo-" + strings.ToUpper(edition) + "7K2QX9.svg": "<svg>" + strings.Repeat("<g/>", 500) + "</svg>",
		"samples/bot.json":                                      `{"edition":"` + edition + `"}`,
		"app.webmanifest":                                       `{}`,
		"media/a.woff2":                                         "font",
		"lib/x.mjs":                                             "export {}",
		"lib/x.wasm":                                            "\x00asm",
	}
}

func etagOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
}

// get asks without the client's own gzip.
func (k *kept) get(t *testing.T, path string, headers ...string) answer {
	t.Helper()
	if !slices.Contains(headers, "Accept-Encoding") {
		headers = append(headers, "Accept-Encoding", "identity")
	}
	return ask(t, k.Running, "GET", path, "", headers...)
}

// security.md 7, and the promise of the release: types by our own table, ETags by content, caching by name.
func TestACopyIsServedByItsRecord(t *testing.T) {
	k := keepStudio(t)
	files := studioFiles("one")
	k.install(t, "1.0.0", files)
	for name, kind := range map[string]string{
		"index.html":                 "text/html; charset=utf-8",
		"_next/static/chunks/one.js": "text/javascript; charset=utf-8",
		"samples/bot.json":           "application/json; charset=utf-8",
		"app.webmanifest":            "application/manifest+json; charset=utf-8",
		"media/a.woff2":              "font/woff2",
		"lib/x.mjs":                  "text/javascript; charset=utf-8",
		"lib/x.wasm":                 "application/wasm",
	} {
		got := k.get(t, "/"+name)
		got.wants(t, 200, files[name])
		got.wantsHeader(t, "Content-Type", kind)
		got.wantsHeader(t, "Etag", etagOf(files[name]))
		got.wantsHeader(t, "Content-Length", fmt.Sprint(len(files[name])))
		cache := "no-cache"
		if strings.HasPrefix(name, "_next/static/") {
			cache = "public, max-age=31536000, immutable"
		}
		got.wantsHeader(t, "Cache-Control", cache)
		got.wantsHeader(t, "X-Content-Type-Options", "nosniff")
		again := k.get(t, "/"+name, "If-None-Match", etagOf(files[name]))
		again.wants(t, 304, "")
	}
	for _, path := range []string{"/.copy.json", "/.manifest.json", "/.sha256", "/.gzip/index.html", "/.gzip/_next/static/chunks/one.js", "/missing.js"} {
		k.get(t, path).wants(t, 404, `{"error":"not found"}`+"\n")
	}
	for _, path := range []string{"/", "/playground?tab=ai-test", "/models/llama3.2", "/samples"} {
		k.get(t, path).wants(t, 200, files["index.html"])
	}
	if policy := k.get(t, "/").Header.Get("Content-Security-Policy"); !strings.Contains(policy, "'sha256-") {
		t.Errorf("policy: got %q, want the hash of the inline script", policy)
	}
}

// studio.md: switching "is an atomic pointer: requests in flight keep the old folder; open pages … are never mixed
// between versions". A page that was loaded before the update goes on finding its own chunks.
func TestAnOpenPageFindsItsChunksAfterAnUpdate(t *testing.T) {
	k := keepStudio(t)
	one, two := studioFiles("one"), studioFiles("two")
	k.install(t, "1.0.0", one)
	k.install(t, "1.1.0", two)
	k.get(t, "/").wants(t, 200, two["index.html"])
	const old = "/_next/static/chunks/one.js"
	got := k.get(t, old)
	got.wants(t, 200, script)
	got.wantsHeader(t, "Cache-Control", "public, max-age=31536000, immutable")
	if packed := k.get(t, old, "Accept-Encoding", "gzip"); gunzip(t, packed.Body) != script {
		t.Error("the old chunk is another one when packed")
	}
	// A picture that is a document too, with the policy of its own bytes.
	const logo = "/media/logo-ONE7K2QX9.svg"
	picture := k.get(t, logo, "Accept-Encoding", "gzip")
	if picture.Status != 200 || gunzip(t, picture.Body) != one[logo[1:]] || picture.Header.Get("Content-Security-Policy") == "" {
		t.Errorf("%s: got %d %v", logo, picture.Status, picture.Header)
	}
	// Only what is hashed: everything else is the new version's, or not there.
	k.get(t, "/samples/bot.json").wants(t, 200, two["samples/bot.json"])
	k.get(t, "/_next/static/chunks/shared.js").wants(t, 200, two["_next/static/chunks/shared.js"])

	// After a rollback the page of the version rolled back from finds its own as well.
	if err := k.keeper.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.get(t, "/").wants(t, 200, one["index.html"])
	k.get(t, old).wants(t, 200, script)
	k.get(t, "/_next/static/chunks/two.js").wants(t, 200, script)

	// Two versions are kept: what is older than that is gone, and said to be.
	if err := k.keeper.Update(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	k.install(t, "1.2.0", studioFiles("three"))
	k.get(t, old).wants(t, 404, `{"error":"not found"}`+"\n")

	// A changed chunk of the old version is not served in place of the real one.
	chunk := filepath.Join(k.cache, "1.1.0", "_next", "static", "chunks", "two.js")
	if err := os.WriteFile(chunk, []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	k.get(t, "/_next/static/chunks/two.js").wants(t, 404, `{"error":"not found"}`+"\n")
	k.get(t, "/").wants(t, 200, studioFiles("three")["index.html"])
}

// A request that began before the switch ends with the old file.
func TestARequestInFlightKeepsItsVersion(t *testing.T) {
	k := keepStudio(t)
	random := make([]byte, 16<<20) // more than any buffer on the way holds
	_, _ = rand.NewChaCha8([32]byte{1}).Read(random)
	large := string(random)
	one := studioFiles("one")
	one["large.bin"] = large
	k.install(t, "1.0.0", one)
	req, err := http.NewRequest(http.MethodGet, k.URL+"/large.bin", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := k.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	k.install(t, "1.1.0", studioFiles("two"))
	k.install(t, "1.2.0", studioFiles("three"))
	if _, err := os.Stat(filepath.Join(k.cache, "1.0.0")); !os.IsNotExist(err) {
		t.Errorf("the old version is still there: %v", err)
	}
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != large {
		t.Errorf("got %d bytes, %v, want all of the old file", len(body), err)
	}
}

// security.md 19: "a served folder that no longer matches is not served, the previous version is".
func TestACopyThatWasChangedIsNotServed(t *testing.T) {
	spoil := map[string]func(t *testing.T, path string){
		"changed": func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte("changed"), 0o600)) },
		"changed at the same size": func(t *testing.T, path string) {
			data, err := os.ReadFile(path)
			must(t, err)
			data[0] ^= 1
			must(t, os.WriteFile(path, data, 0o600))
			must(t, os.Chtimes(path, time.Now(), time.Now().Add(time.Second)))
		},
		"removed": func(t *testing.T, path string) { must(t, os.Remove(path)) },
		"a link": func(t *testing.T, path string) {
			must(t, os.Remove(path))
			must(t, os.Symlink("/etc/passwd", path))
		},
		"a folder": func(t *testing.T, path string) {
			must(t, os.Remove(path))
			must(t, os.Mkdir(path, 0o700))
		},
	}
	for name, spoil := range spoil {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // an install waits for the disk
			k := keepStudio(t)
			one, two := studioFiles("one"), studioFiles("two")
			k.install(t, "1.0.0", one)
			k.install(t, "1.1.0", two)
			k.get(t, "/").wants(t, 200, two["index.html"])
			k.get(t, "/samples/bot.json").wants(t, 200, two["samples/bot.json"])
			spoil(t, filepath.Join(k.cache, "1.1.0", "samples", "bot.json"))
			// The very request that finds it out is answered by the previous version already.
			k.get(t, "/samples/bot.json").wants(t, 200, one["samples/bot.json"])
			k.get(t, "/").wants(t, 200, one["index.html"])
			if got := k.keeper.Status(); got.Version != "1.0.0" || !strings.Contains(got.Error, "Studio 1.1.0 was changed") {
				t.Errorf("got %+v, want it said", got)
			}
			// And with no other version the console, never the changed files.
			spoil(t, filepath.Join(k.cache, "1.0.0", "samples", "bot.json"))
			k.get(t, "/samples/bot.json").wants(t, 404, `{"error":"not found"}`+"\n")
			if got := k.get(t, "/"); !strings.Contains(got.Body, "/console/console.js") {
				t.Errorf("got %q, want the console", got.Body)
			}
		})
	}
}

// The same version comes anew, with other files, where the damaged one was: it is another copy.
func TestADamagedCopyIsReplacedInItsPlace(t *testing.T) {
	k := keepStudio(t)
	k.install(t, "1.0.0", studioFiles("one"))
	k.get(t, "/samples/bot.json").wants(t, 200, `{"edition":"one"}`)
	must(t, os.Remove(filepath.Join(k.cache, "1.0.0", "app.webmanifest")))
	again := studioFiles("again")
	k.install(t, "1.0.0", again)
	for path, name := range map[string]string{"/": "index.html", "/samples/bot.json": "samples/bot.json", "/app.webmanifest": "app.webmanifest"} {
		k.get(t, path).wants(t, 200, again[name])
	}
	if c, _ := k.keeper.Served(); filepath.Base(c.Dir) != "1.0.0" {
		t.Errorf("it is in %s", c.Dir)
	}
}

// Where nobody can set another copy, no byte of the changed one goes out all the same.
func TestADamagedCopyWithNobodyToTell(t *testing.T) {
	k := keepStudio(t)
	k.install(t, "1.0.0", studioFiles("one"))
	c, _ := k.keeper.Served()
	ui := server.NewUISource("")
	ui.SetCopy(c, nil)
	r := servertest.Start(t, server.Config{UI: ui})
	ask(t, r, "GET", "/samples/bot.json", "").wants(t, 200, `{"edition":"one"}`)
	must(t, os.WriteFile(filepath.Join(c.Dir, "samples", "bot.json"), []byte("changed"), 0o600))
	ask(t, r, "GET", "/samples/bot.json", "").wants(t, 500, `{"error":"the copy of Studio was changed after it was installed"}`+"\n")
	ui.OnDamage(func() {}) // nor by somebody who does nothing
	ask(t, r, "GET", "/samples/bot.json", "").wants(t, 500, `{"error":"the copy of Studio was changed after it was installed"}`+"\n")
}

// A file that was changed and put back before anybody looked is no reason to be deaf to the next change.
func TestDamageIsToldOfEachTime(t *testing.T) {
	k := keepStudio(t)
	k.install(t, "1.0.0", studioFiles("one"))
	old, _ := k.keeper.Served()
	k.install(t, "1.1.0", studioFiles("two"))
	c, _ := k.keeper.Served()
	ui := server.NewUISource("")
	ui.SetCopy(c, nil)
	told := 0
	ui.OnDamage(func() {
		if told++; told == 2 {
			ui.SetCopy(old, nil)
		}
	})
	r := servertest.Start(t, server.Config{UI: ui})
	sample := filepath.Join(c.Dir, "samples", "bot.json")
	must(t, os.WriteFile(sample, []byte("changed"), 0o600))
	ask(t, r, "GET", "/samples/bot.json", "").wants(t, 500, `{"error":"the copy of Studio was changed after it was installed"}`+"\n")
	ask(t, r, "GET", "/samples/bot.json", "").wants(t, 200, `{"edition":"one"}`)
	if told != 2 {
		t.Errorf("told %d times, want 2", told)
	}
}

// Several ranges come in a frame, which is not packed as the file is: who asks for them gets the whole file.
func TestSeveralRangesOfAPackedFile(t *testing.T) {
	k := keepStudio(t)
	files := studioFiles("one")
	files["long.js"] = strings.Repeat("0123456789", 500)
	k.install(t, "1.0.0", files)
	one := ask(t, k.Running, "GET", "/long.js", "", "Accept-Encoding", "gzip", "Range", "bytes=0-1")
	one.wants(t, 206, "\x1f\x8b")
	one.wantsHeader(t, "Content-Encoding", "gzip")
	several := ask(t, k.Running, "GET", "/long.js", "", "Accept-Encoding", "gzip", "Range", "bytes=0-1,4-5")
	if several.Status != 200 || !strings.HasPrefix(several.Body, "\x1f\x8b") {
		t.Errorf("got %d, %.20q", several.Status, several.Body)
	}
	several.wantsHeader(t, "Content-Type", "text/javascript; charset=utf-8")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
