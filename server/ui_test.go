package server_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
)

// uiFolder makes a folder with these files.
func uiFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func studioFolder(t *testing.T) string {
	return uiFolder(t, map[string]string{
		"index.html":          "<title>studio</title>",
		"main-QX3ZV7KA.js":    "console.log(1)",
		"samples/bot.json":    `{"name":"bot"}`,
		"media/a-5KZ2QWER.md": "0123456789",
		"docs/index.html":     "docs",
		"plain":               "no extension",
		".sha256":             "secret",
		".git/config":         "secret",
		"a/.hidden/x.js":      "secret",
	})
}

// companion.md, static UI at "/"; security.md 7.
func TestUIPaths(t *testing.T) {
	dir := studioFolder(t)
	outside := filepath.Join(t.TempDir(), "passwd")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"out.js": outside, "outdir": filepath.Dir(outside), "up.js": "../../../../../../../../etc/passwd",
		"in.js": ".sha256", "indir": ".git", "same.js": "main-QX3ZV7KA.js",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	r, _ := withUpstream(t, "chat", server.Config{UIDir: dir})
	const page, missing = "<title>studio</title>", `{"error":"not found"}` + "\n"
	for path, want := range map[string]string{
		"/":                             page,
		"/index.html":                   page,
		"/playground?tab=ai-test":       page,
		"/playground/":                  page,
		"/models/llama3.2":              page,
		"/models/model:7b":              page,
		"/docs":                         page, // a folder is no regular file, and has no page of its own
		"/docs/":                        page,
		"/docs/index.html":              "docs",
		"/main-QX3ZV7KA.js":             "console.log(1)",
		"/samples/bot.json":             `{"name":"bot"}`,
		"/plain":                        "no extension",
		"/missing.js":                   missing,
		"/samples/missing.json":         missing,
		"/.sha256":                      missing,
		"/.git/config":                  missing,
		"/.git":                         missing,
		"/a/.hidden/x.js":               missing,
		"/%2esha256":                    missing,
		"/out.js":                       missing,
		"/outdir/passwd":                page, // no extension, and nothing there that may be served
		"/up.js":                        missing,
		"/in.js":                        missing,
		"/indir/config":                 page,
		"/same.js":                      missing, // safe rather than clever: no link is followed
		"/../../etc/passwd":             missing,
		"/..%2f..%2fetc%2fpasswd":       missing,
		"/a/..%5c..%5csecret":           missing,
		"/%2e%2e/%2e%2e/etc/hosts":      missing,
		"//etc/passwd":                  missing,
		"/a%00.js":                      missing,
		"/health/":                      page, // not the API route, which wins only where it is
		"/main-QX3ZV7KA.js/x.js":        missing,
		"/main-QX3ZV7KA.js/":            missing,
		"/v1/models/x":                  `{"error":{"message":"not found: only /v1/models and /v1/chat/completions are passed on","type":"invalid_request_error","param":null,"code":"not_found"}}` + "\n",
		"/" + strings.Repeat("x", 5000): page,
	} {
		got := ask(t, r, "GET", path, "")
		status := 200
		if strings.HasPrefix(want, `{"error"`) {
			status = 404
		}
		if got.Status != status || got.Body != want {
			t.Errorf("%s: got %d %q, want %d %q", path, got.Status, got.Body, status, want)
		}
		if strings.Contains(got.Body, "secret") {
			t.Errorf("%s: got what is not to be served", path)
		}
	}
	ask(t, r, "GET", "/health", "").wants(t, 200, `{"name":"chatwright-server","version":"test","capabilities":["ai-proxy","datastate"]}`+"\n")
	if console := ask(t, r, "GET", "/console/", ""); console.Status != 200 || console.Body == page {
		t.Error("the console is gone when a UI is served")
	}
	post := ask(t, r, "POST", "/missing.js", "")
	post.wants(t, 405, `{"error":"method not allowed"}`+"\n")
	post.wantsHeader(t, "Allow", "GET, HEAD")
}

// What net/http's client would tidy up before sending.
func TestUIRawTraversal(t *testing.T) {
	r := servertest.Start(t, server.Config{UIDir: studioFolder(t)})
	for _, path := range []string{"/../../../etc/passwd", "/./index.html", "/a/../index.html", "/..", "/docs/..", "..", "/\\..\\x"} {
		got, _ := raw(t, r, "GET "+path+" HTTP/1.1\r\nHost: ADDR\r\nConnection: close\r\n\r\n")
		if got.Status != 400 && got.Status != 404 {
			t.Errorf("%s: got %d %q, want 400 or 404", path, got.Status, got.Body)
		}
	}
}

func TestOriginalFault_SymlinksAndDotfilesOfTheUIFolderAreServed(t *testing.T) {
	dir := studioFolder(t)
	if err := os.Symlink("/etc/hosts", filepath.Join(dir, "hosts.txt")); err != nil {
		t.Fatal(err)
	}
	r := servertest.Start(t, server.Config{UIDir: dir})
	for _, path := range []string{"/hosts.txt", "/.sha256", "/.git/config"} {
		ask(t, r, "GET", path, "").wants(t, 404, `{"error":"not found"}`+"\n")
	}
}

func TestOriginalFault_IndexWithoutCacheRulesAndMissingScriptsAnsweredWithHTML(t *testing.T) {
	r := servertest.Start(t, server.Config{UIDir: studioFolder(t)})
	ask(t, r, "GET", "/playground", "").wantsHeader(t, "Cache-Control", "no-cache")
	ask(t, r, "GET", "/chunk-ABCDEFGH.js", "").wants(t, 404, `{"error":"not found"}`+"\n")
}

// security.md 7: caching, types that do not depend on the host, the headers of every page.
func TestUIHeaders(t *testing.T) {
	dir := studioFolder(t)
	r := servertest.Start(t, server.Config{UIDir: dir})
	for path, want := range map[string]struct{ kind, cache string }{
		"/":                    {"text/html; charset=utf-8", "no-cache"},
		"/deep/link":           {"text/html; charset=utf-8", "no-cache"},
		"/main-QX3ZV7KA.js":    {"text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
		"/samples/bot.json":    {"application/json; charset=utf-8", "no-cache"},
		"/media/a-5KZ2QWER.md": {"text/markdown; charset=utf-8", "public, max-age=31536000, immutable"},
		"/plain":               {"application/octet-stream", "no-cache"},
	} {
		got := ask(t, r, "GET", path, "")
		got.wantsHeader(t, "Content-Type", want.kind)
		got.wantsHeader(t, "Cache-Control", want.cache)
		got.wantsHeader(t, "X-Content-Type-Options", "nosniff")
		got.wantsHeader(t, "Referrer-Policy", "no-referrer")
		etag := got.Header.Get("Etag")
		if !strings.HasPrefix(etag, `"`) || len(etag) < 10 {
			t.Errorf("%s: got Etag %q, want a strong one", path, etag)
		}
		if isPage := strings.HasPrefix(want.kind, "text/html"); isPage != strings.Contains(got.Header.Get("Content-Security-Policy"), "script-src 'self'") {
			t.Errorf("%s: got policy %q", path, got.Header.Get("Content-Security-Policy"))
		}
		ask(t, r, "GET", path, "", "If-None-Match", etag).wants(t, 304, "")
	}

	// The page's ETag is that of its bytes, whatever the file's time says.
	index := filepath.Join(dir, "index.html")
	old := ask(t, r, "GET", "/", "").Header.Get("Etag")
	stamp := time.Unix(1e9, 0)
	for _, c := range []struct {
		content string
		same    bool
	}{{"<title>studio</title>", true}, {"<title>STUDIO</title>", false}} {
		if err := os.WriteFile(index, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(index, stamp, stamp); err != nil {
			t.Fatal(err)
		}
		if same := ask(t, r, "GET", "/", "").Header.Get("Etag") == old; same != c.same {
			t.Errorf("%s: got the same Etag %v, want %v", c.content, same, c.same)
		}
	}
}

// A path that ends in a slash is a place within the app, never a file: what is relative in it would lead elsewhere.
func TestUIPlacesAreNoFiles(t *testing.T) {
	dir := studioFolder(t)
	must(t, os.WriteFile(filepath.Join(dir, "LICENSE"), []byte("terms"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "part.js"), []byte("part"), 0o600))
	r := servertest.Start(t, server.Config{UIDir: dir})
	page := ask(t, r, "GET", "/", "").Body
	ask(t, r, "GET", "/LICENSE", "").wants(t, 200, "terms")
	ask(t, r, "GET", "/LICENSE/", "").wants(t, 200, page)
	ask(t, r, "GET", "/part.js/", "").wants(t, 404, `{"error":"not found"}`+"\n")
	ask(t, r, "GET", "/index.html/", "").wants(t, 404, `{"error":"not found"}`+"\n")
}

// companion.md: Range and conditional requests.
func TestUIRanges(t *testing.T) {
	r := servertest.Start(t, server.Config{UIDir: studioFolder(t)})
	const path = "/media/a-5KZ2QWER.md"
	part := ask(t, r, "GET", path, "", "Range", "bytes=2-4")
	part.wants(t, 206, "234")
	part.wantsHeader(t, "Content-Range", "bytes 2-4/10")
	ask(t, r, "GET", path, "", "Range", "bytes=20-").wantsHeader(t, "Content-Range", "bytes */10")
	ask(t, r, "GET", path, "", "Range", "bytes=2-4", "If-Range", `"other"`).wants(t, 200, "0123456789")
	ask(t, r, "GET", path, "", "Range", "bytes=9-9").wants(t, 206, "9")
	ask(t, r, "GET", path, "", "Range", "bytes=-1").wants(t, 206, "9")
	ask(t, r, "GET", path, "", "Range", "bytes=9-10").wantsHeader(t, "Content-Range", "bytes 9-9/10")
	ask(t, r, "GET", path, "", "Range", "bytes=10-").wantsHeader(t, "Content-Range", "bytes */10")
	none := ask(t, r, "GET", path, "", "Range", "bytes=-0") // no range stands for nothing
	none.wants(t, 200, "0123456789")
	none.wantsHeader(t, "Content-Range")
	ask(t, r, "GET", path, "", "If-Modified-Since", part.Header.Get("Last-Modified")).wants(t, 304, "")
	ask(t, r, "GET", path, "", "If-Match", `"other"`).wants(t, 412, "")
}

// studio.md: switching is an atomic pointer; requests in flight keep the old folder; files are never mixed up between
// versions that share times and sizes.
func TestUISwitch(t *testing.T) {
	large := strings.Repeat("old", 4<<20)
	one := uiFolder(t, map[string]string{"index.html": "one", "large.txt": large, "same.txt": "1"})
	two := uiFolder(t, map[string]string{"index.html": "two", "large.txt": "new", "same.txt": "2"})
	stamp := time.Unix(1e9, 0)
	for _, dir := range []string{one, two} {
		if err := os.Chtimes(filepath.Join(dir, "same.txt"), stamp, stamp); err != nil {
			t.Fatal(err)
		}
	}
	source := server.NewUISource(one)
	if got := source.Info(); got.Source != protocol.UIFolder {
		t.Errorf("got %+v, want a folder", got)
	}
	r := servertest.Start(t, server.Config{UI: source})
	resp, err := r.Client.Get(r.URL + "/large.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	etag := ask(t, r, "GET", "/same.txt", "").Header.Get("Etag")

	source.Set(two, protocol.UI{Source: protocol.UICopy, Version: "2"})
	ask(t, r, "GET", "/", "").wants(t, 200, "two")
	ask(t, r, "GET", "/large.txt", "").wants(t, 200, "new")
	ask(t, r, "GET", "/same.txt", "", "If-None-Match", etag).wants(t, 200, "2")
	if got := source.Info(); got != (protocol.UI{Source: protocol.UICopy, Version: "2"}) {
		t.Errorf("got %+v", got)
	}
	if err := os.RemoveAll(one); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != large {
		t.Errorf("the request in flight: got %d bytes, %v, want all of the old file", len(rest), err)
	}

	source.Set("", protocol.UI{})
	if got := ask(t, r, "GET", "/", ""); !strings.Contains(got.Body, "/console/console.js") {
		t.Errorf("got %q, want the console", got.Body)
	}
	source.Set(one, protocol.UI{Source: protocol.UIFolder}) // which is gone
	ask(t, r, "GET", "/", "").wants(t, 404, `{"error":"the UI folder has no index.html"}`+"\n")
}

// A build tool that replaces the folder is seen at once.
func TestUIFolderReplaced(t *testing.T) {
	dir := uiFolder(t, map[string]string{"index.html": "one"})
	r := servertest.Start(t, server.Config{UIDir: dir})
	ask(t, r, "GET", "/", "").wants(t, 200, "one")
	if err := os.Rename(uiFolder(t, map[string]string{"index.html": "two"}), dir+".new"); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir+".new", dir); err != nil {
		t.Fatal(err)
	}
	ask(t, r, "GET", "/", "").wants(t, 200, "two")
}
