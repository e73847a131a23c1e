package app

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server/studio"
	"chatwright.dev/tray/server/studio/studiotest"
)

// withRelease is a companion that keeps a copy of that release, in which these versions were installed before it
// started, oldest first.
func withRelease(t *testing.T, release *studiotest.Release, installed ...string) *living {
	t.Helper()
	return live(t, func(c *Config) {
		c.Settings = settingsWith(t, "ui=true", "ui-url="+release.URL)
		c.OpenFile = c.OpenURL
		store, err := studio.Open(studio.Config{CacheDir: c.Paths.UI, BaseURL: release.URL})
		if err != nil {
			t.Fatal(err)
		}
		for _, version := range installed {
			release.Publish(version, studiotest.Studio(version))
			if _, err := store.Update(t.Context(), studio.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// page is what is served at a path.
func (l *living) page(path string) string {
	l.t.Helper()
	resp, err := http.Get("http://" + l.discovery().Addr + path)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return string(body)
}

// studio.md: with no copy at all, "/" is the console. tray.md: long work shows progress, and can be cancelled.
func TestTheFirstCopyIsDownloadedInTheBackground(t *testing.T) {
	release := studiotest.NewRelease(t)
	resume := release.HoldArchive("0.4.1", studiotest.Studio("0.4.1"), 0.43)
	l := withRelease(t, release)
	if page := l.page("/"); !strings.Contains(page, "console.js") {
		t.Errorf("meanwhile / is not the console: %.200s", page)
	}
	menu := l.awaitMenu("Downloading Studio 0.4.1 · ")
	if !strings.Contains(menu, "Cancel the update") || strings.Contains(menu, "Get the offline copy") {
		t.Errorf("the menu does not offer to cancel, or offers to begin:\n%s", menu)
	}
	l.click(tray.StudioCancel)
	menu = l.awaitMenu("Studio: no offline copy yet")
	if strings.Contains(menu, "⚠") {
		t.Errorf("a cancelled download is no failure:\n%s", menu)
	}
	l.click(tray.StudioUpdate)
	l.awaitMenu("Downloading Studio 0.4.1 · ")
	resume()
	l.awaitMenu("Studio 0.4.1 (offline copy)")
	if page := l.page("/"); !strings.Contains(page, "Stand-in Studio 0.4.1") {
		t.Errorf("/ is not Studio: %.200s", page)
	}
}

func TestClicksOnTheRowsOfTheCopy(t *testing.T) {
	release := studiotest.NewRelease(t)
	l := withRelease(t, release, "0.4.0", "0.4.1")
	l.awaitMenu("Studio 0.4.1 (offline copy)")
	l.awaitMenu("Roll back to 0.4.0")
	l.click(tray.StudioRollback)
	l.awaitMenu("Studio 0.4.0 (offline copy)")
	l.awaitMenu("0.4.1 is available; you went back from it")
	if page := l.page("/"); !strings.Contains(page, "Stand-in Studio 0.4.0") {
		t.Errorf("after the rollback: %.200s", page)
	}
	l.click(tray.StudioUpdate) // whoever clicks wants it, held back or not
	l.awaitMenu("Studio 0.4.1 (offline copy)")
	l.click(tray.StudioFolder)
	if got := <-l.opened; got != l.cfg.Paths.UI {
		t.Errorf("opened %s, want %s", got, l.cfg.Paths.UI)
	}

	l.awaitMenu("reload pages that are open")
	l.awaitMenu("Check for updates") // an update that goes on would be joined
	release.Answer(studiotest.Manifest, studiotest.Fail(http.StatusServiceUnavailable))
	l.click(tray.StudioUpdate)
	l.awaitMenu("⚠ Studio was not updated: the server answered 503")
	l.awaitView("a failure, with the icon that warns", func(menu string) bool {
		return strings.Contains(menu, "icon: warning") && strings.Contains(menu, "The last check failed")
	})
	release.Publish("0.4.1", studiotest.Studio("0.4.1"))
	l.click(tray.StudioUpdate)
	l.awaitView("no warning any more", func(menu string) bool {
		return !strings.Contains(menu, "⚠") && strings.Contains(menu, "icon: idle")
	})
}

// security.md 19: a served folder that no longer matches is not served, the previous version is. And what was lost is
// fetched again.
func TestADamagedCopyIsReplaced(t *testing.T) {
	release := studiotest.NewRelease(t)
	l := withRelease(t, release, "0.4.0", "0.4.1")
	l.awaitMenu("Studio 0.4.1 (offline copy)")
	l.awaitMenu("up to date")
	l.awaitMenu("Check for updates") // the look of the start is over
	index := filepath.Join(l.cfg.Paths.UI, "0.4.1", "index.html")
	if err := os.WriteFile(index, []byte("<title>not what was installed</title>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if page := l.page("/"); strings.Contains(page, "not what was installed") || !strings.Contains(page, "Stand-in Studio 0.4.") {
		t.Errorf("served: %.200s", page)
	}
	release.Await(studiotest.Archive, 3)
	l.awaitView("the copy that was fetched again", func(string) bool { return strings.Contains(l.page("/"), "Stand-in Studio 0.4.1") })
}

// studio.md: "Open Studio" opens chatwright.localhost where the system resolves that name to loopback, else 127.0.0.1.
func TestWhereOpenStudioLeads(t *testing.T) {
	loopback, both, elsewhere := []string{"127.0.0.1"}, []string{"::1", "127.0.0.1"}, []string{"192.0.2.7"}
	for _, c := range []struct {
		addr     string
		resolved []string
		want     string
	}{
		{"127.0.0.1:4319", loopback, "http://chatwright.localhost:4319/"},
		{"127.0.0.1:4319", both, "http://chatwright.localhost:4319/"},
		{"127.0.0.1:4319", nil, "http://127.0.0.1:4319/"},
		{"127.0.0.1:4319", elsewhere, "http://127.0.0.1:4319/"},
		{"127.0.0.1:4319", append(elsewhere, "127.0.0.1"), "http://127.0.0.1:4319/"},
		{"127.0.0.1:4319", []string{"::1"}, "http://127.0.0.1:4319/"}, // loopback, but not where we listen
		{"[::1]:4319", both, "http://chatwright.localhost:4319/"},
		{"[::1]:4319", loopback, "http://[::1]:4319/"},
		{"127.0.0.2:80", loopback, "http://127.0.0.2:80/"},
		{"localhost:4319", loopback, "http://chatwright.localhost:4319/"},
		{"0.0.0.0:4319", loopback, "http://chatwright.localhost:4319/"},
		{"0.0.0.0:4319", nil, "http://127.0.0.1:4319/"},
		{"[::]:4319", nil, "http://[::1]:4319/"},
	} {
		resolve := func(_ context.Context, host string) (ips []net.IPAddr, err error) {
			if host != "chatwright.localhost" {
				t.Errorf("asked for %s", host)
			}
			for _, text := range c.resolved {
				ips = append(ips, net.IPAddr{IP: net.ParseIP(text)})
			}
			if ips == nil {
				return nil, &net.DNSError{IsNotFound: true}
			}
			return ips, nil
		}
		if got := studioURL(t.Context(), c.addr, resolve); got != c.want {
			t.Errorf("%s, the name is at %v: got %s, want %s", c.addr, c.resolved, got, c.want)
		}
	}
}
