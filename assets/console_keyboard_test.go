package assets_test

import (
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/browsertest"
)

// focused is how the element that has the focus calls itself.
const focused = `(document.activeElement.getAttribute('aria-label') ?? document.activeElement.labels?.[0]?.firstElementChild.innerText ?? document.activeElement.innerText).trim()`

// walk presses Tab and wants these, each of which shows that it has the focus.
func (p *tab) walk(want ...string) {
	p.t.Helper()
	for _, name := range want {
		p.run(chromedp.KeyEvent(kb.Tab))
		if got := evaluate[string](p, focused); got != name {
			p.t.Errorf("Tab: got %q, want %q", got, name)
		}
		if !evaluate[bool](p, `getComputedStyle(document.activeElement).outlineStyle === 'solid'`) {
			p.t.Errorf("%q does not show that it has the focus", name)
		}
	}
}

func (b chromium) testKeyboard(t *testing.T) {
	c := newCompanion(t)
	p := b.open(t, c.url("/console/"), browsertest.Command(browser.SetPermission, browser.SetPermissionParams{
		Permission: &browser.PermissionDescriptor{Name: "clipboard-write"}, Setting: "granted",
	}), browsertest.Command(browser.SetPermission, browser.SetPermissionParams{
		Permission: &browser.PermissionDescriptor{Name: "clipboard-read"}, Setting: "granted",
	}))
	p.waitFor(`document.querySelector('#curl').textContent && document.querySelector('#upstreams-list button')`)
	const timeline = "Timeline of calls. Arrow keys go from call to call, Enter opens one, plus and minus zoom, space pauses."
	p.walk("Skip to the content", "Overview", "Calls", "Try it", "Data state", "Studio", "Doctor", "Settings",
		"Copy the address", "chatwright.dev", "Pause", "Zoom in", timeline, "A command that makes a call", "Copy the command")
	p.run(chromedp.KeyEvent(kb.Enter))
	p.waitForText("#curl + button", "Copied")
	if got, want := evaluate[string](p, `navigator.clipboard.readText()`), evaluate[string](p, `document.querySelector('#curl').textContent`); got != want {
		t.Errorf("copied: got %q, want %q", got, want)
	}
	p.waitForText("#curl + button", "Copy")
	p.walk("Look again", "Use Demo model")
	if got := evaluate[int](p, `document.querySelectorAll('[aria-live=polite], [role=status]').length`); got != 1 {
		t.Errorf("got %d live regions, want the phase alone", got)
	}
	p.run(chromedp.KeyEvent(kb.Enter))
	c.waitFor("the demo model to be chosen", func() bool { return len(c.rooms.actions) == 1 })

	begun := time.Now().Add(-5 * time.Second)
	c.end(protocol.Call{Model: "older", Verdict: protocol.VerdictComplete, LatencyMs: 900, Timestamp: begun},
		protocol.Call{Model: "newer", Verdict: protocol.VerdictComplete, LatencyMs: 900, Timestamp: begun.Add(time.Second)})
	t.Run("the timeline", func(t *testing.T) { p.timelineByKeys(t) })
	t.Run("the calls", func(t *testing.T) { p.callsByKeys(t) })
	p.clean(c)
}

func (p *tab) timelineByKeys(t *testing.T) {
	p.waitFor(`document.querySelector('#models tbody').innerText.includes('older')`)
	p.run(chromedp.Focus("#timeline-area"), chromedp.KeyEvent(kb.ArrowLeft))
	p.waitFor(`document.querySelector('#timeline-call').innerText.includes('newer')`)
	p.run(chromedp.KeyEvent(kb.ArrowLeft))
	p.waitFor(`document.querySelector('#timeline-call').innerText.includes('older')`)
	if got := evaluate[string](p, `document.querySelector('#timeline-call').getAttribute('aria-live')`); got != "polite" {
		t.Errorf("what the arrow keys pick is announced: got %q", got)
	}
	p.run(chromedp.KeyEvent("+"), chromedp.KeyEvent(" "))
	p.waitForText("#timeline-span", "10\u2009min, paused")
	p.waitForText("#timeline-pause", "Resume")
	p.run(chromedp.KeyEvent(kb.Enter))
	p.waitForText("#call-detail h2", "older")
}

func (p *tab) callsByKeys(t *testing.T) {
	p.run(chromedp.Focus("#filter-text"))
	p.walk("Model", "Result", "Verdict", "Calls, newest first. Arrow keys go from row to row, Enter reads one, Escape closes it.")
	p.run(chromedp.KeyEvent(kb.Home))
	p.waitForText("#call-detail h2", "newer")
	p.run(chromedp.KeyEvent(kb.ArrowDown))
	p.waitForText("#call-detail h2", "older")
	for _, what := range []string{"aria-activedescendant of the grid", "aria-selected"} {
		if !evaluate[bool](p, `document.getElementById(document.querySelector('#calls-grid').getAttribute('aria-activedescendant')).getAttribute('aria-selected') === 'true'`) {
			t.Errorf("%s does not name the row that is shown", what)
		}
	}
	p.run(chromedp.KeyEvent(kb.Enter))
	if got := evaluate[string](p, `document.activeElement.id`); got != "call-detail" {
		t.Errorf("Enter: the focus is on %q, want the call", got)
	}
	p.run(chromedp.KeyEvent(kb.Escape))
	p.waitFor(`document.querySelector('#call-detail').hidden && document.activeElement.id === 'calls-grid'`)
}
