// Package tray_test holds the rules of the house: who may import whom, and why.
package tray_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "chatwright.dev/tray"

// A layerRule forbids the packages that from matches to import what to matches, but for the packages in except.
// Patterns are import paths without the module's own prefix; "/..." at the end takes in everything below. "*" is
// every package of the module.
type layerRule struct {
	from, to string
	except   []string
	reason   string
}

var layerRules = []layerRule{
	{from: "server/...", to: "app/...", reason: "the daemon must run, and be tested, with no desktop"},
	{from: "server/...", to: "cmd/...", reason: "a library does not know the program around it"},
	{from: "app/...", to: "cmd/...", reason: "a library does not know the program around it"},
	{from: "assets/...", to: "server/...", reason: "assets are bytes"},
	{from: "assets/...", to: "app/...", reason: "assets are bytes"},

	{from: "app/tray", to: "net/http", reason: "the menu is a function of its state"},
	{from: "app/tray", to: "server/...", reason: "the menu is a function of its state"},
	{from: "app/tray", to: "fyne.io/systray", reason: "the menu is a function of its state"},

	{from: "*", to: "fyne.io/systray", except: []string{"app/tray/desktop"},
		reason: "systray is global state with traps; one package knows them"},
	{from: "*", to: "github.com/pkg/browser", except: []string{"cmd/chatwright-tray"},
		reason: "opening a browser is an effect that main injects, so that no test opens one"},
	{from: "*", to: "github.com/atotto/clipboard", except: []string{"cmd/chatwright-tray"},
		reason: "the clipboard is an effect that main injects, so that no test overwrites it"},
	{from: "*", to: "github.com/adrg/xdg", except: []string{"app/paths"},
		reason: "every file and directory there is stands in app/paths"},
	{from: "app", to: "app/tray/desktop", reason: "main injects the screen, so that app needs no cgo on any system"},
	{from: "app/...", to: "app/tray/desktop", except: []string{"app/tray/desktop/..."},
		reason: "main injects the screen, so that app needs no cgo on any system"},

	{from: "server/proxy", to: "server/metrics", reason: "they meet in server, through interfaces of the receiving side"},
	{from: "server/proxy", to: "server/datastate/...", reason: "they meet in server"},
	{from: "server/proxy", to: "server/studio", reason: "they meet in server"},
	{from: "server/metrics", to: "server/proxy", reason: "they meet in server"},
	{from: "server/metrics", to: "server/datastate/...", reason: "they meet in server"},
	{from: "server/metrics", to: "server/studio", reason: "they meet in server"},
	{from: "server/datastate/...", to: "server/proxy", reason: "they meet in server"},
	{from: "server/datastate/...", to: "server/metrics", reason: "they meet in server"},
	{from: "server/datastate/...", to: "server/studio", reason: "they meet in server"},
	{from: "server/studio", to: "server/proxy", reason: "they meet in server"},
	{from: "server/studio", to: "server/metrics", reason: "they meet in server"},
	{from: "server/studio", to: "server/datastate/...", reason: "they meet in server"},
	{from: "server/history", to: "server/proxy", reason: "they meet in app: what calls are, protocol says"},
	{from: "server/history", to: "server/metrics", reason: "they meet in app, which passes what counts as an error"},
	{from: "server/history", to: "server/datastate/...", reason: "they meet in app"},
	{from: "server/history", to: "server/studio", reason: "they meet in app"},
	{from: "server/proxy", to: "server/history", reason: "no call may come to wait for a disk"},
	{from: "server/metrics", to: "server/history", reason: "they meet in app"},
	{from: "server/datastate/...", to: "server/history", reason: "they meet in app"},
	{from: "server/studio", to: "server/history", reason: "they meet in app"},
	{from: "server", to: "server/history", reason: "a server that is embedded elsewhere brings no database along; Config.Record is the way"},
	{from: "server/telemetry", to: "server/proxy", reason: "it is told of calls; they meet in app"},
	{from: "server/telemetry", to: "server/metrics", reason: "it is told of calls; they meet in app"},
	{from: "server/telemetry", to: "server/datastate/...", reason: "it is told of calls; they meet in app"},
	{from: "server/telemetry", to: "server/studio", reason: "it is told of calls; they meet in app"},
	{from: "server/telemetry", to: "server/history", reason: "it is told of calls; they meet in app"},
	{from: "server", to: "server/telemetry", reason: "a server that is embedded elsewhere brings no SDK along; Config.Record is the way"},
	{from: "server/session", to: "net/http", reason: "it holds conversations; whoever answers them, and asks for them, speaks HTTP"},
	{from: "server/session", to: "server/upstream", reason: "a turn asks session.Model, and app says who that is"},
	{from: "server/session", to: "server/proxy", reason: "they meet in app, through session.Model"},
	{from: "server/session", to: "server/metrics", reason: "they meet in app"},
	{from: "server/session", to: "server/datastate/...", reason: "they meet in app"},
	{from: "server/session", to: "server/studio", reason: "they meet in app"},
	{from: "server/session", to: "server/history", reason: "they meet in app"},
	{from: "server/proxy", to: "server/session", reason: "they meet in app, through session.Model"},
	{from: "server/metrics", to: "server/session", reason: "they meet in app"},
	{from: "server/datastate/...", to: "server/session", reason: "they meet in app"},
	{from: "server/studio", to: "server/session", reason: "they meet in app"},
	{from: "*", to: "go.opentelemetry.io/otel/...", except: []string{"server/telemetry"},
		reason: "the SDK has global state; one package knows how to leave it alone"},
	{from: "*", to: "github.com/prometheus/...", except: []string{"server/metrics"},
		reason: "Prometheus is one way to read the metrics, and no way to keep them"},
	{from: "server/...", to: "server", except: []string{"server/servertest"},
		reason: "package server puts its parts together; a part that knew the whole would be a cycle in waiting"},
	{from: "server/protocol", to: module + "/...", reason: "wire types are shared by both sides of every conversation"},
	{from: "server/policy", to: module + "/...", reason: "words that every side shares"},
	{from: "*", to: "charm.land/...", except: []string{"app/attach"},
		reason: "the frames of the terminal client are plain values; one package shows them"},
	{from: "app/attach/...", to: "charm.land/lipgloss/...", reason: "styles are those of x/ansi: nothing asks the terminal before a client is attached"},
	{from: "app/attach/...", to: "github.com/yuin/goldmark/...",
		reason: "it builds its tables as a program starts, half a megabyte that an idle daemon would hold; app/attach/markdown does without"},
	{from: "app/attach/markdown", to: module + "/...", reason: "a leaf: text in, lines out"},
	{from: "app/attach/safetext", to: module + "/...", reason: "a leaf that everything may use"},
	{from: "app/attach/transcript", to: "net/http", reason: "what a session looks like is a function of its events"},
	{from: "app/attach/screen", to: "net/http", reason: "a frame is a function of its state"},
	{from: "app/attach/screen", to: "server/client", reason: "a frame is a function of its state"},
	{from: "app", to: "app/attach/...", reason: "a daemon shows no terminal"},
	{from: "server/watch", to: module + "/...", reason: "a leaf that everything may use"},
	{from: "server/hint", to: module + "/...", reason: "a leaf that everything may use"},
	{from: "server/internal/coding", to: module + "/...", reason: "a leaf that everything may use"},
	{from: "server/chat", to: module + "/...", reason: "the caller's side of the API: proxy, upstreams and sessions meet it in app"},
	{from: "server/session", to: "server/chat", reason: "a session asks a Model; they meet in app"},
	{from: "server/session", to: "server/proxy", reason: "they meet in app"},
	{from: "server/session", to: "server/upstream", reason: "they meet in app: a session knows the names of upstreams alone"},
	{from: "server/proxy", to: "server/session", reason: "they meet in app"},
	{from: "server/wholefile", to: module + "/...", reason: "a leaf that everything may use"},
	{from: "*", to: "build/...", except: []string{"build/..."}, reason: "how packages are made is no part of the program"},
	{from: "build/package", to: "app/...", reason: "it packages what the program says of itself, not what it knows of its source"},
	{from: "server/datastate/dtql", to: module + "/...", reason: "a language is a library of its own: it knows neither databases nor assertions"},
	{from: "*", to: "go.yaml.in/yaml/...", except: []string{"server/datastate/dtql"}, reason: "DTQL is the one thing that is YAML here"},
	{from: "server", to: "server/datastate/sqlstore", reason: "a server that is embedded elsewhere brings no database drivers along; Config.Databases is the way"},
	{from: "*", to: "github.com/jackc/pgx/...", except: []string{"server/datastate/sqlstore", "server/servertest/dbtest"},
		reason: "a dialect is one file of sqlstore"},
	{from: "*", to: "github.com/go-sql-driver/mysql", except: []string{"server/datastate/sqlstore", "server/servertest/dbtest"},
		reason: "a dialect is one file of sqlstore"},
}

func TestLayers(t *testing.T) {
	packages := listPackages(t)
	for _, rule := range layerRules {
		for _, pkg := range packages {
			from := strings.TrimPrefix(strings.TrimPrefix(pkg.ImportPath, module), "/")
			if !matches(rule.from, from) || slices.ContainsFunc(rule.except, func(p string) bool { return matches(p, from) }) {
				continue
			}
			for _, imported := range pkg.Imports {
				own, isOwn := strings.CutPrefix(imported, module)
				if matches(rule.to, imported) || isOwn && matches(rule.to, strings.TrimPrefix(own, "/")) {
					t.Errorf("%s imports %s, which it must not: %s", pkg.ImportPath, imported, rule.reason)
				}
			}
		}
	}
}

// The rules would prove nothing if a pattern matched nothing because of a slip.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"*", "server", true},
		{"server/...", "server", true},
		{"server/...", "server/proxy", true},
		{"server/...", "serverless", false},
		{"app", "app/tray", false},
		{"net/http", "net/http", true},
		{"net/http", "net/http/httptest", false},
		{module + "/...", module + "/server", true},
	} {
		if got := matches(c.pattern, c.path); got != c.want {
			t.Errorf("matches(%q, %q): got %v, want %v", c.pattern, c.path, got, c.want)
		}
	}
}

func matches(pattern, path string) bool {
	if pattern == "*" {
		return true
	}
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == base || strings.HasPrefix(path, base+"/")
	}
	return path == pattern
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	// Each system sees other files, so the rules are held against the three that are shipped.
	var all []goPackage
	for _, goos := range []string{"linux", "windows", "darwin"} {
		cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports", "./...")
		cmd.Env = append(cmd.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list for %s: %v", goos, err)
		}
		for dec := json.NewDecoder(bytes.NewReader(out)); ; {
			var pkg goPackage
			if err := dec.Decode(&pkg); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			all = append(all, pkg)
		}
	}
	if len(all) == 0 {
		t.Fatal("no packages were found")
	}
	return all
}
