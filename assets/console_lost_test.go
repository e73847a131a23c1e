package assets_test

import (
	"slices"
	"testing"

	"chatwright.dev/tray/server/protocol"
)

// lostConnection is what Chromium itself says of a connection that was cut, not made, or refused.
var lostConnection = []string{
	"ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "status of 503",
}

func (b chromium) testLosingTheCompanion(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *companion, func() *tab){
		"it says so, tries again and resumes":             resumes,
		"an answer that is no stream is tried again":      triesAgain,
		"another run of the companion begins anew":        beginsAnew,
		"a hidden page holds no connection":               letsGoWhileHidden,
		"a companion that is not there at first is found": startsLate,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompanion(t)
			var p *tab
			test(t, c, func() *tab {
				p = b.open(t, c.url("/console/#/calls"))
				return p
			})
			p.clean(c, lostConnection...)
		})
	}
}

const answering = `document.querySelector('#lost').hidden && !document.querySelector('#main').classList.contains('stale')`

func resumes(t *testing.T, c *companion, open func() *tab) {
	p := open()
	c.end(protocol.Call{Model: "before"})
	p.waitForText(".window .model", "before")
	c.stop()
	p.waitForText("#lost", "The companion is not answering. Trying again… If it has ended, start it: chatwright-tray start")
	p.waitForText("#phase", "Not answering")
	p.wantText(".window .model", "before")

	c.end(protocol.Call{Model: "meanwhile"})
	c.start()
	p.waitFor(answering)
	p.waitForText("#phase", "Running")
	p.waitForText(".window .model", "meanwhile")
	if got := evaluate[int](p, `document.querySelectorAll('.window .call').length`); got != 2 {
		t.Errorf("got %d rows after the reconnection, want 2", got)
	}
	c.locked(func() {
		if !slices.Contains(c.resumed, "1") {
			t.Errorf("the page resumed after %q, want after the event 1", c.resumed)
		}
	})
}

func triesAgain(_ *testing.T, c *companion, open func() *tab) {
	p := open()
	p.waitForText("#phase", "Running")
	c.locked(func() { c.refuse = true })
	c.stop()
	c.start()
	c.waitFor("a refused attempt", func() bool { return c.refused > 0 })
	p.wantText("#lost", "The companion is not answering. Trying again… If it has ended, start it: chatwright-tray start")
	c.locked(func() { c.refuse = false })
	p.waitFor(answering)
	p.wantText("#phase", "Running")
}

func startsLate(_ *testing.T, c *companion, open func() *tab) {
	c.refuse = true
	p := open()
	p.waitForText("#lost", "The companion is not answering. Trying again… If it has ended, start it: chatwright-tray start")
	p.goTo("overview")
	p.waitForText("#tiles .calls .value [aria-hidden]", "–")
	c.locked(func() { c.refuse = false })
	p.waitFor(answering)
	p.waitForText("#tiles .calls .value", "0")
}

func beginsAnew(t *testing.T, c *companion, open func() *tab) {
	p := open()
	c.end(protocol.Call{ID: "old-1", Model: "old"}, protocol.Call{ID: "old-2", Model: "old"})
	p.waitForText(".window .model", "old")
	c.stop()
	// The new run has ended as many calls as the old one: the cursor of the page would skip them all.
	c.locked(func() {
		c.status.InstanceID = "two"
		c.calls = []protocol.Call{{ID: "new-1", Model: "new one"}, {ID: "new-2", Model: "new two"}}
	})
	c.start()
	p.waitForText(".window .model", "new two")
	if got, want := evaluate[[]string](p, `Array.from(document.querySelectorAll('.window .model'), (cell) => cell.innerText)`), []string{"new two", "new one"}; !slices.Equal(got, want) {
		t.Errorf("rows: got %q, want those of the new run: %q", got, want)
	}
}

// Browsers allow six connections to one host over HTTP/1.1: forgotten tabs must leave them to Studio.
func letsGoWhileHidden(_ *testing.T, c *companion, open func() *tab) {
	p := open()
	p.waitForText("#phase", "Running")
	evaluate[bool](p, `Boolean(Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => 'hidden' }))`)
	evaluate[bool](p, `document.dispatchEvent(new Event('visibilitychange'))`)
	c.waitFor("the stream to close", func() bool { return len(c.streams) == 0 })
	c.end(protocol.Call{Model: "unseen"})
	evaluate[bool](p, `delete document.visibilityState && document.dispatchEvent(new Event('visibilitychange'))`)
	p.waitForText(".window .model", "unseen")
	c.waitFor("one stream", func() bool { return len(c.streams) == 1 })
}
