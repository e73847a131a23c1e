package doctor_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"chatwright.dev/tray/app/doctor"
	"chatwright.dev/tray/app/paths"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// healthy is a machine on which everything is well.
func healthy(t *testing.T) doctor.Config {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"state", "run", "ui"} {
		if err := os.Mkdir(filepath.Join(home, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return doctor.Config{
		Addr: freeAddr(t), Headless: true,
		Paths:    paths.Paths{State: filepath.Join(home, "state"), Runtime: filepath.Join(home, "run"), UI: filepath.Join(home, "ui"), Config: filepath.Join(home, "tray.toml")},
		Upstream: upstream.NewDemo(upstream.DemoConfig{}),
		Holder:   func(context.Context, string) (string, bool) { return "", false },
		Find:     func(context.Context) []protocol.FoundServer { return nil },
		Opener:   func() error { return nil },
		Studio:   func() (string, error) { return "0.4.1 (offline copy)", nil },
	}
}

func freeAddr(t *testing.T) string {
	t.Helper()
	ln := listen(t, "127.0.0.1:0")
	_ = ln.Close()
	return ln.Addr().String()
}

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", address)
	if err != nil {
		servertest.Missing(t, "this machine has no "+address+": "+err.Error())
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

func target(t *testing.T, base string) *upstream.Target {
	t.Helper()
	got, err := upstream.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func check(t *testing.T, cfg doctor.Config, id string) protocol.Check {
	t.Helper()
	for _, c := range doctor.Run(t.Context(), cfg) {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("there is no check %q", id)
	return protocol.Check{}
}

func TestAHealthyMachine(t *testing.T) {
	checks := doctor.Run(t.Context(), healthy(t))
	if doctor.Failed(checks) {
		t.Errorf("got %+v", checks)
	}
	seen := map[string]bool{}
	for _, c := range checks {
		if c.Name == "" || c.Detail == "" || seen[c.ID] {
			t.Errorf("got %+v", c)
		}
		seen[c.ID] = true
		if (c.State == protocol.CheckWarning || c.State == protocol.CheckFailed) && c.Fix == "" {
			t.Errorf("%s: there is trouble and no way out: %+v", c.ID, c)
		}
	}
	for _, id := range []string{"port", "name", "localhost", "upstream", "servers", "families", "proxy", "state", "runtime", "settings", "cache", "browser", "studio", "datastate", "autostart"} {
		if !seen[id] {
			t.Errorf("%s was not looked at", id)
		}
	}
}

func TestWhatIsWrongIsSaidWithAWayOut(t *testing.T) {
	silent := freeAddr(t)
	html := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<p>")) }))
	defer html.Close()
	for _, c := range []struct {
		name, id string
		sick     func(t *testing.T, cfg *doctor.Config)
		state    protocol.CheckState
		detail   string
		fix      string
	}{
		{"the port is held", "port", func(_ *testing.T, cfg *doctor.Config) {
			cfg.Holder = func(context.Context, string) (string, bool) { return "python3 (pid 812)", false }
		}, "failed", "is held by python3 (pid 812)", "choose another port"},
		{"another companion", "port", func(_ *testing.T, cfg *doctor.Config) {
			cfg.Holder = func(context.Context, string) (string, bool) { return "", true }
		}, "warning", "another Chatwright server", "another port"},
		{"ours, stopped", "port", func(_ *testing.T, cfg *doctor.Config) { cfg.Running = true }, "failed", "nobody serves", "chatwright-tray start"},
		{"ours", "port", func(_ *testing.T, cfg *doctor.Config) {
			cfg.Running = true
			cfg.Holder = func(context.Context, string) (string, bool) { return "chatwright-tray", true }
		}, "ok", "is served", ""},
		{"somebody on the other family", "localhost", func(t *testing.T, cfg *doctor.Config) {
			_, port, _ := net.SplitHostPort(cfg.Addr)
			listen(t, "[::1]:"+port)
		}, "warning", "somebody else listens on [::1]:", "have callers use 127.0.0.1"},
		{"no model server", "upstream", func(t *testing.T, cfg *doctor.Config) { cfg.Upstream = target(t, "http://"+silent+"/v1") }, "failed", "connection refused", "start your model server"},
		{"a wrong base URL", "upstream", func(t *testing.T, cfg *doctor.Config) { cfg.Upstream = target(t, html.URL) }, "warning", "is the base URL right?", "/v1"},
		{"another server than usual", "servers", func(_ *testing.T, cfg *doctor.Config) {
			cfg.Find = func(context.Context) []protocol.FoundServer {
				return []protocol.FoundServer{{Kind: "koboldcpp", Name: "KoboldCpp", BaseURL: "http://localhost:11434/v1"}}
			}
		}, "warning", "at localhost:11434, the usual place of Ollama, answers KoboldCpp", "another port"},
		{"the usual server", "servers", func(_ *testing.T, cfg *doctor.Config) {
			cfg.Find = func(context.Context) []protocol.FoundServer {
				return []protocol.FoundServer{{Kind: "llama.cpp", Name: "llama.cpp", BaseURL: "http://localhost:8080/v1"}}
			}
		}, "ok", "llama.cpp (localhost:8080)", ""},
		{"one family", "families", func(t *testing.T, cfg *doctor.Config) {
			_, port, _ := net.SplitHostPort(listen(t, "127.0.0.1:0").Addr().String())
			cfg.Upstream = target(t, "http://localhost:"+port+"/v1")
		}, "ok", "127.0.0.1 only", ""},
		{"a damaged copy", "studio", func(_ *testing.T, cfg *doctor.Config) {
			cfg.Studio = func() (string, error) { return "", errors.New("0.4.1 was changed") }
		}, "failed", "0.4.1 was changed", "studio update"},
		{"no opener, for a tray", "browser", func(_ *testing.T, cfg *doctor.Config) {
			cfg.Headless = false
			cfg.Opener = func() error { return hint.With(errors.New("no program"), "install xdg-utils") }
		}, "failed", "no program", "install xdg-utils"},
		{"no opener, headless", "browser", func(_ *testing.T, cfg *doctor.Config) {
			cfg.Opener = func() error { return hint.With(errors.New("no program"), "install xdg-utils") }
		}, "warning", "no program", "install xdg-utils"},
		{"a folder that others read", "state", func(t *testing.T, cfg *doctor.Config) {
			if runtime.GOOS == "windows" {
				t.Skip("modes say nothing there")
			}
			if err := os.Chmod(cfg.Paths.State, 0o755); err != nil {
				t.Fatal(err)
			}
		}, "warning", "can be read by others (mode 0755)", "chmod 700"},
		{"a folder that cannot be made", "cache", func(t *testing.T, cfg *doctor.Config) {
			cfg.Paths.UI = filepath.Join(cfg.Paths.State, "file", "ui")
			if err := os.WriteFile(filepath.Join(cfg.Paths.State, "file"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "failed", "", "see to it"},
		{"databases", "datastate", func(_ *testing.T, cfg *doctor.Config) {
			cfg.Holders = func(context.Context) []protocol.Check {
				return []protocol.Check{{ID: "datastate", Name: "Database app", State: protocol.CheckFailed, Detail: "it refused", Fix: "start it"}}
			}
		}, "failed", "it refused", "start it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := healthy(t)
			c.sick(t, &cfg)
			got := check(t, cfg, c.id)
			if got.State != c.state || !strings.Contains(got.Detail, c.detail) || !strings.Contains(got.Fix, c.fix) || (c.fix == "") != (got.Fix == "") {
				t.Errorf("got %+v, want %s, %q, %q", got, c.state, c.detail, c.fix)
			}
		})
	}
}

func TestProxyOfTheEnvironment(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://user:planted-secret@proxy.example:3128")
	t.Setenv("NO_PROXY", "")
	cfg := healthy(t)
	cfg.Getenv = os.Getenv
	if got := check(t, cfg, "proxy"); got.State != "ok" || !strings.Contains(got.Detail, "not used") {
		t.Errorf("on this machine: got %+v", got)
	}
	cfg.Upstream = target(t, "http://192.0.2.1:11434/v1")
	if got := check(t, cfg, "proxy"); got.State != "warning" || !strings.Contains(got.Detail, "through the proxy proxy.example:3128 (HTTP_PROXY)") || strings.Contains(got.Detail+got.Fix, "planted-secret") {
		t.Errorf("elsewhere: got %+v", got)
	}
	t.Setenv("NO_PROXY", "192.0.2.1")
	if got := check(t, cfg, "proxy"); got.State != "ok" {
		t.Errorf("an exception: got %+v", got)
	}
}

func TestWithoutASessionBusOnlyTheTraySuffers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no session bus there")
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
	cfg := healthy(t)
	if got := check(t, cfg, "bus"); got.State != "skipped" {
		t.Errorf("headless: got %+v", got)
	}
	cfg.Headless = false
	if got := check(t, cfg, "bus"); got.State != "failed" || got.Fix == "" {
		t.Errorf("got %+v", got)
	}
	if got := check(t, cfg, "panel"); got.State != "skipped" {
		t.Errorf("got %+v", got)
	}
}
