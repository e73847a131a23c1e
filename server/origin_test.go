package server

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

func TestSplitHost(t *testing.T) {
	for _, c := range []struct {
		host, name string
		port       int
		ok         bool
	}{
		{"localhost", "localhost", 0, true},
		{"localhost:4319", "localhost", 4319, true},
		{"localhost.:4319", "localhost.", 4319, true},
		{"[::1]", "[::1]", 0, true},
		{"[::1]:65535", "[::1]", 65535, true},
		{"a_b-c.d9:1", "a_b-c.d9", 1, true},
		{"", "", 0, false},
		{":4319", "", 0, false},
		{"localhost:", "", 0, false},
		{"localhost:0", "", 0, false},
		{"localhost:04319", "", 0, false},
		{"localhost:65536", "", 0, false},
		{"localhost:4319:4319", "", 0, false},
		{"localhost:+80", "", 0, false},
		{"localhost..", "", 0, false},
		{".localhost", "", 0, false},
		{"::1", "", 0, false},
		{"[::1", "", 0, false},
		{"[::1]4319", "", 0, false},
		{"[127.0.0.1]", "", 0, false},
		{"[fe80::1%25lo]", "", 0, false},
		{"local host", "", 0, false},
		{"user@localhost", "", 0, false},
		{"localhost/", "", 0, false},
		{"löcalhost", "", 0, false},
	} {
		name, port, ok := splitHost(c.host)
		if ok != c.ok || ok && (name != c.name || port != c.port) {
			t.Errorf("splitHost(%q): got %q %d %v, want %q %d %v", c.host, name, port, ok, c.name, c.port, c.ok)
		}
	}
}

// FuzzHost holds the parser of Host against net/url: what it takes for this machine, a browser that was given it as an
// address must go to this machine for.
func FuzzHost(f *testing.F) {
	for _, seed := range []string{"localhost:4319", "[::1]:4319", "127.0.0.1", "chatwright.localhost.", "127.1", "localhost@evil.test", "127.0.0.1.evil.test:80", "[::ffff:127.0.0.1]", "localhost\x00.evil", "[::1]:"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, host string) {
		name, port, ok := splitHost(host)
		if !ok {
			return
		}
		u, err := url.Parse("http://" + host + "/")
		if err != nil || u.User != nil || u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
			t.Fatalf("splitHost took %q, which is no host to net/url: %v", host, err)
		}
		if got := strings.Trim(name, "[]"); got != u.Hostname() {
			t.Errorf("%q: got name %q, want %q", host, got, u.Hostname())
		}
		if want := u.Port(); want != "" && want != strconv.Itoa(port) || want == "" && port != 0 {
			t.Errorf("%q: got port %d, want %q", host, port, want)
		}
		if isOwnName(name) && !thisMachine(u.Hostname()) {
			t.Errorf("%q counts as this machine", host)
		}
		if isOwnName(name) && !isLocalName(name) {
			t.Errorf("%q is served and may not call", host)
		}
	})
}

// FuzzOrigin does the same for Origin.
func FuzzOrigin(f *testing.F) {
	for _, seed := range []string{"http://localhost", "https://a.b.localhost:3000", "http://[::1]:1", "null", "", "http://localhost:80@evil.test", "http://evil.test?.localhost", "HTTP://localhost", "http://.localhost", "http://127.0.0.1:5173/", "javascript://localhost"} {
		f.Add(seed)
	}
	g, err := newGuard(Config{}, nil, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, origin string) {
		if !g.allowedOrigin(origin, "rebind.test", false) || g.origins[origin] {
			return
		}
		u, err := url.Parse(origin)
		if err != nil || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "http" && u.Scheme != "https" {
			t.Fatalf("%q is allowed and no origin to net/url: %v", origin, err)
		}
		if !thisMachine(u.Hostname()) {
			t.Errorf("%q is allowed", origin)
		}
	})
}

// thisMachine is written apart from what it judges.
func thisMachine(hostname string) bool {
	hostname = strings.ToLower(strings.TrimSuffix(hostname, "."))
	if hostname == "localhost" || strings.HasSuffix(hostname, ".localhost") && !strings.HasPrefix(hostname, ".") {
		return true
	}
	addr, err := netip.ParseAddr(hostname)
	return err == nil && (addr == netip.IPv6Loopback() || addr.Is4() && addr.As4()[0] == 127)
}

func TestNamesOfFiles(t *testing.T) {
	for path, want := range map[string]string{
		"/":                     "index.html",
		"/index.html":           "index.html",
		"/assets/main.js":       "assets/main.js",
		"/playground/":          "playground/",
		"/a..b":                 "a..b",
		"/.env":                 "",
		"/a/.sha256":            "",
		"/.well-known/x":        "",
		"/../etc/passwd":        "",
		"/a/../../etc/passwd":   "",
		"/a/./b":                "",
		"//etc/passwd":          "",
		"/a//b":                 "",
		"//":                    "",
		"/a\\..\\..\\b":         "",
		"/a\x00.js":             "",
		"":                      "",
		"*":                     "",
		"evil.test:443":         "",
		"/sessions/llama3.2":    "sessions/llama3.2",
		"/C:/windows/win.ini":   "C:/windows/win.ini", // os.Root knows what that means where it means something
		"/playground/model:7b/": "playground/model:7b/",
	} {
		got, ok := fileName(path)
		if got != want || ok != (want != "") {
			t.Errorf("fileName(%q): got %q %v, want %q", path, got, ok, want)
		}
	}
}

// companion.md: an extension is a last dot followed by at least one letter.
func TestHasExtension(t *testing.T) {
	for name, want := range map[string]bool{
		"app.js": true, "a/b.woff2": true, "x.tar.gz": true, "data.JSON": true,
		"llama3.2": false, "a.b/c": false, "qwen2.5-coder": false, "trailing.": false, "none": false,
	} {
		if got := hasExtension(name); got != want {
			t.Errorf("hasExtension(%q): got %v, want %v", name, got, want)
		}
	}
}

// security.md 7: hashed assets are immutable; nothing else may be, or a browser would keep an old file for a year.
func TestIsHashed(t *testing.T) {
	for name, want := range map[string]bool{
		"main-QX3ZV7KA.js":                  true, // Angular
		"chunk-ABCDEFGH.js":                 true,
		"media/inter-5KZ2QWER.woff2":        true,
		"assets/index-BxK3f9aZ.css":         true, // Vite
		"assets/index-Bx-3f9aZ.js":          true,
		"assets/chart-DiwrgTda.js":          true,
		"assets/chart-1f3a9c2b.json":        false, // data has the names that people give it
		"samples/chat-scenario1.json":       false,
		"media/intro-scenario1.mp4":         false,
		"guide-20261130a.pdf":               false,
		"lang-JavaScript.js":                false,
		"worker-version12.js":               false,
		"chart-one_two2.js":                 false,
		"app.1f3a9c2b.css":                  true, // webpack
		"_next/static/chunks/main.js":       true, // Next keeps all of that folder apart by build
		"index.html":                        false,
		"index-1f3a9c2b.html":               false,
		"app-settings.js":                   false,
		"my-Component.js":                   false,
		"report-20261130.json":              false,
		"samples/support-bot.json":          false,
		"favicon.ico":                       false,
		"manifest.webmanifest":              false,
		"LICENSE":                           false,
		"studio-ui-0123456":                 false,
		"assets/logo-with-a-long-name.woff": false,
	} {
		if got := isHashed(name); got != want {
			t.Errorf("isHashed(%q): got %v, want %v", name, got, want)
		}
	}
}

// security.md 6.
func TestCheckAddr(t *testing.T) {
	for _, c := range []struct {
		addr          string
		local, remote bool
	}{
		{"127.0.0.1:4319", true, true},
		{"127.0.0.1:0", true, true},
		{"127.9.9.9:4319", true, true},
		{"[::1]:4319", true, true},
		{"localhost:4319", true, true},
		{"LOCALHOST:4319", true, true},
		{"0.0.0.0:4319", false, true},
		{":4319", false, true},
		{"[::]:4319", false, true},
		{"192.168.1.5:4319", false, true},
		{"[::ffff:127.0.0.1]:4319", false, true},
		{"example.com:4319", false, true},
		{"localhost.evil.test:4319", false, true},
		{"127.0.0.1", false, false},
		{"127.0.0.1:", false, false},
		{"127.0.0.1:http", false, false},
		{"127.0.0.1:65536", false, false},
		{"127.0.0.1:-1", false, false},
		{"127.0.0.1:+80", false, false},
		{"127.0.0.1:04319", false, false},
		{"::1:4319", false, false},
		{"", false, false},
	} {
		if got := CheckAddr(c.addr, false) == nil; got != c.local {
			t.Errorf("CheckAddr(%q, false): got %v, want %v", c.addr, got, c.local)
		}
		if got := CheckAddr(c.addr, true) == nil; got != c.remote {
			t.Errorf("CheckAddr(%q, true): got %v, want %v", c.addr, got, c.remote)
		}
	}
}
