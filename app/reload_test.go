package app

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server/servertest/timetest"
)

// hangups runs a companion that reads these settings at each hangup.
func hangups(t *testing.T) (l *living, hangup func(flags ...string)) {
	signals := make(chan os.Signal, 1)
	next := make(chan settings.Settings, 1)
	l = live(t, func(c *Config) {
		c.Hangup = signals
		c.Reload = func() (settings.Settings, error) { return <-next, nil }
	})
	return l, func(flags ...string) {
		next <- settingsWith(t, flags...)
		signals <- os.Interrupt // any signal: main passes SIGHUP alone
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestHangupWithBadFilesLeavesTheServerRunning(t *testing.T) {
	l, hangup := hangups(t)
	addr := l.discovery().Addr
	for name, flag := range map[string]string{
		"a fixtures file that is missing": "datastate-fixtures=/nowhere/fixtures.json",
		"one that is none":                "datastate-fixtures=" + write(t, "fixtures.json", `["not", "an", "object"]`),
		"a folder that is missing":        "ui-dir=/nowhere/ui",
	} {
		t.Run(name, func(t *testing.T) {
			l.t = t
			hangup(flag)
			l.awaitMenu("Settings not reloaded: ")
			resp, err := http.Get("http://" + addr + "/health")
			if err != nil {
				t.Fatalf("the server is gone: %v", err)
			}
			_ = resp.Body.Close()
			hangup()
			l.awaitView("no notice", func(menu string) bool { return !strings.Contains(menu, "not reloaded") })
		})
	}
}

func TestHangupWithAnotherAddressOrPageIsToldEverywhere(t *testing.T) {
	l, hangup := hangups(t)
	l.awaitMenu("Running on")
	addr := closedAddr(t)
	hangup("addr="+addr, "ui-dir="+filepath.Dir(write(t, "index.html", "<p>Studio</p>")))
	l.awaitMenu("Running on " + addr)
	timetest.Until(t, "daemon.json to name "+addr, func() (string, bool) { got := l.discovery().Addr; return got, got == addr })
	l.click(tray.OpenStudio)
	if got, want := <-l.opened, ":"+addr[strings.LastIndexByte(addr, ':')+1:]+"/"; !strings.HasSuffix(got, want) {
		t.Errorf("Open Studio opens %s, want the folder that is served: %s", got, want)
	}
}

func TestHangupChangesTheLogLevel(t *testing.T) {
	l, hangup := hangups(t)
	hangup("log-level=debug")
	timetest.Until(t, "something that is logged at debug", func() (string, bool) {
		l.click(tray.OpenConsole) // which has the upstream probed, and that is logged at debug
		<-l.opened
		text, _ := os.ReadFile(l.cfg.Paths.Log)
		return string(text), strings.Contains(string(text), "level=DEBUG")
	})
}

func TestHangupSaysWhatTheNextStartChanges(t *testing.T) {
	l, hangup := hangups(t)
	hangup("metrics-capacity=50", "ui=true")
	l.awaitMenu("Settings reloaded, but ui, metrics-capacity counts from the next start on")
}
