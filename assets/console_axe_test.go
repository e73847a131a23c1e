package assets_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
)

// axePackage looks for what keeps people out: https://github.com/dequelabs/axe-core.
const axePackage = "axe-core@4.10.3"

// installAxe returns the source of axe.
func installAxe(t *testing.T) string {
	t.Helper()
	npm := servertest.Need(t, "npm", "nodejs npm")
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "package.json"), []byte(`{"private":true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", axePackage)
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		servertest.Missing(t, "npm cannot install "+axePackage+" (is there a registry?): "+err.Error()+"\n"+string(out))
	}
	source, err := os.ReadFile(filepath.Join(folder, "node_modules/axe-core/axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

// violation is what axe found: a rule, how bad it is, and where.
type violation struct {
	Rule   string   `json:"rule"`
	Impact string   `json:"impact"`
	Help   string   `json:"help"`
	Where  []string `json:"where"`
}

// In light and dark, wide and narrow, no room keeps anybody out.
func (b chromium) testAccess(t *testing.T) {
	axe := installAxe(t)
	for _, room := range []struct {
		path, ready string
		play        func(*companion)
	}{
		{"overview", `document.querySelectorAll('#models tbody tr').length > 2 && document.querySelector('#upstreams-list li')`, playBusy},
		{"overview", `document.querySelector('#curl')?.textContent`, func(*companion) {}},
		{"calls", `document.querySelectorAll('.window .call').length > 5`, playBusy},
		{"calls/call-2", `document.querySelector('#call-answer')`, playKept},
		{"try", `document.querySelector('#try-model').value`, playBusy},
		{"data", `!document.querySelector('#data-ask').hidden`, playData},
		{"studio", `document.querySelector('#studio-sha').innerText.length > 60`, playUpdate},
		{"doctor", `document.querySelectorAll('#doctor-checks li').length > 3`, playBusy},
		{"settings", `document.querySelectorAll('#settings tbody tr').length > 3`, playBusy},
		{"sessions", `document.querySelectorAll('.said').length === 4`, playSessions},
	} {
		for scheme, width := range map[string]int64{"light": 1280, "dark": 360} {
			t.Run(room.path+" "+scheme, func(t *testing.T) {
				t.Parallel()
				c := newCompanion(t)
				room.play(c)
				if room.path == "sessions" {
					c.change(func(s *protocol.Status) { s.Sessions = &protocol.SessionCounts{Live: 2, Running: 1} })
				}
				p := b.open(t, c.url("/console/#/"+room.path), chromedp.EmulateViewport(width, 900), media("prefers-color-scheme", scheme))
				p.waitForText("#phase", "Running")
				p.waitFor(room.ready)
				p.waitFor(`document.getAnimations().length === 0`)
				evaluate[bool](p, axe+`; Boolean(window.axe)`)
				for _, found := range evaluate[[]violation](p, `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
					violations.map(({ id, impact, help, nodes }) => ({ rule: id, impact, help, where: nodes.map(({ html }) => html.slice(0, 160)) })))`) {
					t.Errorf("%s (%s): %s: %q", found.Rule, found.Impact, found.Help, found.Where)
				}
			})
		}
	}
}
