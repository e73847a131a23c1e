package app

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/app/instance"
	"chatwright.dev/tray/app/paths"
	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/timetest"
	"chatwright.dev/tray/server/watch"
)

const patience = 20 * time.Second

// screen is a tray that a test looks at and clicks.
type screen struct {
	views  *watch.Value[tray.View]
	clicks chan tray.Action
}

func (s screen) Show(v tray.View)           { s.views.Set(v) }
func (s screen) Clicks() <-chan tray.Action { return s.clicks }

// living is a companion that runs within the test.
type living struct {
	screen
	t      *testing.T
	cfg    Config
	opened chan string
	ended  chan error
	end    context.CancelFunc
}

// live runs a companion with these settings until the test ends, and waits until it is ready.
func live(t *testing.T, change func(*Config)) *living {
	t.Helper()
	l := &living{
		screen: screen{watch.New(tray.View{}), make(chan tray.Action)},
		t:      t, opened: make(chan string, 8), ended: make(chan error, 1),
	}
	l.cfg = Config{Settings: settingsWith(t), Paths: pathsIn(t), Version: "test", Screen: l.screen}
	ready := make(chan struct{})
	l.cfg.Ready = func(protocol.Status) { close(ready) }
	l.cfg.Detect.Address = func(int) string { return "" } // what runs on this machine is no part of the test
	l.cfg.OpenURL = func(url string) error { l.opened <- url; return nil }
	change(&l.cfg)
	ctx, cancel := context.WithCancel(t.Context())
	l.end = cancel
	go func() { l.ended <- Run(ctx, l.cfg) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-l.ended:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(patience):
			t.Error("Run does not end")
		}
	})
	select {
	case <-ready:
	case err := <-l.ended:
		l.ended <- nil
		t.Fatalf("Run ended before it was ready: %v", err)
	case <-time.After(patience):
		t.Fatal("the app is not ready")
	}
	return l
}

func settingsWith(t *testing.T, flags ...string) settings.Settings {
	t.Helper()
	values := map[string][]string{"addr": {"127.0.0.1:0"}, "upstream": {"demo"}}
	for _, f := range flags {
		name, value, _ := strings.Cut(f, "=")
		values[name] = []string{value}
	}
	s, err := settings.Load(settings.Input{Flag: func(name string) ([]string, bool) { v, ok := values[name]; return v, ok }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func pathsIn(t *testing.T) paths.Paths {
	t.Helper()
	home, err := os.MkdirTemp("", "cw") // short: the path of a socket has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	p, err := paths.Resolve(home)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// awaitMenu waits until the menu holds a text, and returns the menu.
func (l *living) awaitMenu(text string) string {
	l.t.Helper()
	return l.awaitView("a row with "+text, func(menu string) bool { return strings.Contains(menu, text) })
}

func (l *living) awaitView(what string, ok func(menu string) bool) string {
	l.t.Helper()
	deadline := time.After(patience)
	for {
		view, changed := l.views.Watch()
		if menu := view.String(); ok(menu) {
			return menu
		}
		select {
		case <-changed:
		case <-deadline:
			l.t.Fatalf("the menu does not show %s:\n%s", what, view)
		}
	}
}

func (l *living) click(a tray.Action) {
	l.t.Helper()
	select {
	case l.clicks <- a:
	case <-time.After(patience):
		l.t.Fatal("nobody hears the click")
	}
}

// A model server that is not there is said at once, and the demo is offered but never chosen for the person.
func TestWithoutAnUpstreamTheDemoIsOffered(t *testing.T) {
	gone := closedAddr(t)
	l := live(t, func(c *Config) { c.Settings = settingsWith(t, "upstream=http://"+gone+"/v1") })
	menu := l.awaitMenu("Use the demo model")
	if !strings.Contains(menu, gone) || !strings.Contains(menu, "icon: warning") {
		t.Errorf("the menu does not warn and say what was looked for:\n%s", menu)
	}
	l.click(tray.UseDemo)
	l.awaitMenu("Demo model")
	menu = l.awaitMenu("Back to " + gone)
	if strings.Contains(menu, "icon: warning") {
		t.Errorf("the demo works, and the icon still warns:\n%s", menu)
	}
	l.click(tray.UseConfigured)
	l.awaitMenu("Use the demo model")
}

// Somebody starts the model server and opens the menu to see whether it is noticed.
func TestOpeningTheMenuLooksForADeadUpstreamAgain(t *testing.T) {
	addr := closedAddr(t)
	l := live(t, func(c *Config) { c.Settings = settingsWith(t, "upstream=http://"+addr+"/v1") })
	l.awaitMenu("Use the demo model")
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	model := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"object":"list","data":[]}`))
	})}
	served := make(chan error, 1)
	go func() { served <- model.Serve(ln) }()
	t.Cleanup(func() { _ = model.Close(); <-served })
	l.click(tray.MenuOpened)
	l.awaitView("a reachable upstream", func(menu string) bool {
		return strings.Contains(menu, "Running on") && !strings.Contains(menu, "Use the demo model")
	})
}

func closedAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
	return ln.Addr().String()
}

func TestAnActionThatFailsIsShown(t *testing.T) {
	l := live(t, func(c *Config) {
		c.OpenURL = func(string) error { return hint.With(errors.New("no browser was found"), "install xdg-utils") }
	})
	l.click(tray.OpenStudio)
	menu := l.awaitMenu("no browser was found")
	if !strings.Contains(menu, "Opening https://chatwright.dev/studio/") {
		t.Errorf("the notice does not say what was tried:\n%s", menu)
	}
}

func TestQuitEndsTheApp(t *testing.T) {
	stopping := make(chan struct{})
	l := live(t, func(c *Config) { c.Stopping = func() { close(stopping) } })
	l.click(tray.Quit)
	<-stopping
	if err := <-l.ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	l.ended <- nil // for the cleanup
	if _, err := os.Stat(l.cfg.Paths.Discovery); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("daemon.json is left: %v", err)
	}
}

func TestOneAppOfAFolder(t *testing.T) {
	l := live(t, func(*Config) {})
	if err := Run(t.Context(), Config{Settings: l.cfg.Settings, Paths: l.cfg.Paths, Version: "test"}); !errors.Is(err, instance.ErrHeld) {
		t.Errorf("a second Run: got %v, want %v", err, instance.ErrHeld)
	}
}

func TestHangupReadsTheSettingsAgain(t *testing.T) {
	hangup := make(chan os.Signal, 1)
	next := make(chan func() (settings.Settings, error), 1)
	l := live(t, func(c *Config) {
		c.Hangup = hangup
		c.Reload = func() (settings.Settings, error) { return (<-next)() }
	})
	before := l.awaitMenu("Running on")

	next <- func() (settings.Settings, error) {
		return settings.Settings{}, hint.With(errors.New("tray.toml line 3: unknown key"), "see the README")
	}
	hangup <- os.Interrupt // any signal: main passes SIGHUP alone
	l.awaitMenu("Settings not reloaded: tray.toml line 3: unknown key")

	gone := closedAddr(t)
	changed := settingsWith(t, "upstream=http://"+gone+"/v1", "grace=1s")
	next <- func() (settings.Settings, error) { return changed, nil }
	hangup <- os.Interrupt
	menu := l.awaitView("the new upstream and no old notice", func(menu string) bool {
		return strings.Contains(menu, gone) && !strings.Contains(menu, "not reloaded")
	})
	if menu == before {
		t.Error("nothing changed")
	}
}

func TestAppEndsWithItsParent(t *testing.T) {
	parent := exec.Command("sleep", "60")
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	l := live(t, func(c *Config) { c.Settings.ParentPID = parent.Process.Pid })
	_ = parent.Process.Kill()
	_ = parent.Wait()
	if err := <-l.ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	l.ended <- nil
}

// Named after the original's fault: a hung manifest host blocks start.
func TestOriginalFault_HungManifestHostBlocksStart(t *testing.T) {
	hang := make(chan struct{})
	release := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(hang); release.Close() })
	begun := time.Now()
	live(t, func(c *Config) { c.Settings = settingsWith(t, "ui=true", "ui-url="+release.URL) })
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("ready after %v", took)
	}
}

func TestStudioThatCannotBeHadIsOneWarning(t *testing.T) {
	release := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(release.Close)
	warned := make(chan string, 8)
	l := live(t, func(c *Config) {
		c.Settings = settingsWith(t, "ui=true", "ui-url="+release.URL)
		c.Warn = func(text string) { warned <- text }
	})
	if text := <-warned; !strings.Contains(text, "404") {
		t.Errorf("the warning %q does not name the cause", text)
	}
	l.awaitMenu("Studio could not be fetched")
	resp, err := http.Get("http://" + l.discovery().Addr + "/")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("without Studio / is the console: got status %d", resp.StatusCode)
	}
}

func (l *living) discovery() protocol.Discovery {
	l.t.Helper()
	d, err := instance.ReadDiscovery(l.cfg.Paths.Discovery)
	if err != nil {
		l.t.Fatal(err)
	}
	return d
}

func TestBadFixturesEndTheStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fixtures.json")
	if err := os.WriteFile(file, []byte(`["not", "an", "object"]`), 0o600); err != nil {
		t.Fatal(err)
	}
	err := Run(t.Context(), Config{Settings: settingsWith(t, "datastate-fixtures="+file), Paths: pathsIn(t), Version: "test"})
	if err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v, want an error that names %s", err, file)
	}
}

func TestMemoryOfUpstreams(t *testing.T) {
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"object":"list","data":[]}`))
	}))
	t.Cleanup(model.Close)
	where := pathsIn(t)
	base := model.URL + "/v1"
	live(t, func(c *Config) { c.Paths = where; c.Settings = settingsWith(t, "upstream="+base) })
	timetest.Until(t, "a state file that says when "+base+" answered", func() (settings.State, bool) {
		state, _, _ := settings.ReadState(where.StateFile)
		return state, !state.Upstreams[base].LastAnswered.IsZero()
	})
}
