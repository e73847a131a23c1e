package assets_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
)

func (b chromium) testRooms(t *testing.T) {
	for name, test := range map[string]struct {
		room string
		play func(*companion)
		want func(*testing.T, *companion, *tab)
	}{
		"each room is entered by its link":                            {"overview", playBusy, entersEachRoom},
		"a hundred thousand calls scroll, a screenful is in the page": {"calls", playMany, scrollsAHundredThousand},
		"calls are narrowed down, those that end now as well":         {"calls", playBusy, narrowsDown},
		"calls that come keep the lines under the eye":                {"calls", playMany, keepsTheLines},
		"a call says where its time went":                             {"calls", playBusy, saysWhereTheTimeWent},
		"what was kept of a call is shown, and copied as curl":        {"calls/call-2", playKept, showsWhatWasKept},
		"a page without its token says what to do":                    {"calls/call-2", playTokenless, saysWhatToDo},
		"messages are kept only when somebody wishes it, and said so": {"calls", playBusy, keepsMessages},
		"no verdict is cut on a narrow screen":                        {"calls", playEachVerdict, showsVerdictsWhole},
		"an answer streams, and the next message brings it along":     {"try", playBusy, talks},
		"an answer as JSON follows a schema":                          {"try", playBusy, talksJSON},
		"an error of the upstream is said, and the message is back":   {"try", playBusy, saysTheError},
		"Studio is updated, cancelled and rolled back":                {"studio", playUpdate, updatesStudio},
		"the doctor looks when somebody wishes it":                    {"doctor", playBusy, looksAgain},
		"settings say where they come from":                           {"settings", playBusy, showsSettings},
		"the upstream is changed, and a refusal is said":              {"overview", playBusy, changesTheUpstream},
		"models say on what they run and how fast":                    {"overview", playBusy, showsModels},
		"the timeline is paused, zoomed and pointed at":               {"overview", playBusy, pointsAtTheTimeline},
		"ten thousand calls are drawn in a frame":                     {"overview", playBusy, drawsTenThousand},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompanion(t)
			test.play(c)
			p := b.open(t, c.url("/console/#/"+test.room))
			p.waitForText("#phase", "Running")
			test.want(t, c, p)
			p.clean(c, "409 (Conflict)", "503 (Service Unavailable)", "403 (Forbidden)")
		})
	}
}

func entersEachRoom(t *testing.T, _ *companion, p *tab) {
	for _, room := range []struct{ link, title string }{
		{"Calls", "Calls · Running · Chatwright"}, {"Try it", "Try it · Running · Chatwright"}, {"Data state", "Data state · Running · Chatwright"},
		{"Studio", "Studio · Running · Chatwright"}, {"Doctor", "Doctor · Running · Chatwright"}, {"Settings", "Settings · Running · Chatwright"},
		{"Overview", "Running · Chatwright"},
	} {
		evaluate[bool](p, fmt.Sprintf(`(Array.from(document.querySelectorAll('nav a')).find((link) => link.innerText === %q).click(), true)`, room.link))
		p.waitFor(fmt.Sprintf(`document.title === %q && document.querySelector('nav [aria-current=page]').innerText === %q`, room.title, room.link))
		p.waitFor(`document.querySelectorAll('main > .page:not([hidden])').length === 1`)
	}
	evaluate[bool](p, `(history.back(), true)`)
	p.waitFor(`document.title === 'Settings · Running · Chatwright' && !document.querySelector('#page-settings').hidden`)
	if !evaluate[bool](p, `document.querySelector('#sessions-link').hidden`) {
		t.Error("the way to the sessions shows although there are none")
	}
}

func playEachVerdict(c *companion) {
	for _, verdict := range []protocol.Verdict{
		protocol.VerdictComplete, protocol.VerdictNoDone, protocol.VerdictTruncated, protocol.VerdictCancelled,
		protocol.VerdictStreamError, protocol.VerdictUpstreamError, protocol.VerdictLoading, protocol.VerdictUnreachable,
	} {
		c.end(protocol.Call{Model: "llama3.2", Verdict: verdict, LatencyMs: 125_000, CompletionTokens: 12_345, UsageKnown: true, TokensPerSecond: 9.2})
	}
}

func showsVerdictsWhole(t *testing.T, _ *companion, p *tab) {
	p.run(chromedp.EmulateViewport(360, 800))
	p.waitFor(`document.querySelectorAll('.window .call').length === 8 && document.querySelector('.window .call').clientWidth < 360`)
	cut := evaluate[[]string](p, `Array.from(document.querySelectorAll('.window .verdict, .window .verdict .word')).filter(
		(node) => node.scrollWidth > Math.ceil(node.getBoundingClientRect().width) || node.scrollHeight > 40).map((node) => node.innerText)`)
	if len(cut) != 0 {
		t.Errorf("cut: %q", cut)
	}
}

const manyCalls = 100_000

func playMany(c *companion) {
	c.locked(func() {
		now := time.Now().UTC()
		for i := range manyCalls {
			c.rooms.history = append(c.rooms.history, protocol.Call{ID: fmt.Sprintf("old-%d", manyCalls-i), Model: fmt.Sprintf("m%d", manyCalls-i),
				Timestamp: now.Add(-time.Duration(i+1) * time.Minute), LatencyMs: 900, Status: 200, Verdict: protocol.VerdictComplete})
		}
	})
}

func scrollsAHundredThousand(t *testing.T, _ *companion, p *tab) {
	p.waitForText(".window .model", "m100000")
	p.wantText("#calls-count", "500+ calls")
	evaluate[bool](p, `Boolean(window.down = setInterval(() => (document.querySelector('#calls-grid').scrollTop = 1e9), 5))`)
	for n := 10_000; n <= manyCalls; n += 10_000 { // each within patience, however busy the machine is
		p.waitFor(fmt.Sprintf(`Number(document.querySelector('#calls-count').innerText.replace(/\D/g, '')) >= %d`, n))
	}
	p.waitForText("#calls-count", "100,000 calls")
	p.waitFor(`document.querySelector('.window .call:last-child .model').innerText === 'm1'`)
	evaluate[bool](p, `(clearInterval(down), true)`)
	if got := evaluate[int](p, `document.querySelectorAll('.window .call').length`); got > 60 {
		t.Errorf("got %d rows in the page, want a screenful", got)
	}
	if got := evaluate[string](p, `document.querySelector('#calls-grid').getAttribute('aria-rowcount') + ' ' + document.querySelector('.window .call:last-child').getAttribute('aria-rowindex')`); got != "100001 100001" {
		t.Errorf("rows, and the index of the last, for a screen reader: got %s", got)
	}
	// A drag of the scrollbar to anywhere shows what is there.
	evaluate[bool](p, `(document.querySelector('#calls-grid').scrollTop = 50_000 * 33, true)`)
	p.waitFor(`Array.from(document.querySelectorAll('.window .model'), (cell) => cell.innerText).includes('m50000')`)
	took := evaluate[float64](p, `new Promise((done) => {
		const grid = document.querySelector('#calls-grid'), begun = performance.now()
		let frames = 0
		const step = () => ++frames > 20 ? done((performance.now() - begun) / 20) : (grid.scrollTop += 700, requestAnimationFrame(step))
		step()
	})`)
	t.Logf("scrolling through 100,000 calls: %.1f ms a frame", took)
}

func keepsTheLines(_ *testing.T, c *companion, p *tab) {
	p.waitForText(".window .model", "m100000")
	evaluate[bool](p, `(document.querySelector('#calls-grid').scrollTop = 330, true)`)
	const seen = `(() => { const box = document.querySelector('#calls-grid').getBoundingClientRect()
		return document.elementFromPoint(box.left + 200, box.top + 100).closest('.call').querySelector('.model').innerText })()`
	p.waitFor(`document.querySelector('#calls-grid').scrollTop === 330 && ` + seen + ` === 'm99988'`)
	c.end(protocol.Call{Model: "new"}, protocol.Call{Model: "newer"})
	p.waitFor(`document.querySelector('#calls-grid').scrollTop === 330 + 2 * 33`)
	p.waitFor(seen + ` === 'm99988'`)
}

func narrowsDown(t *testing.T, c *companion, p *tab) {
	p.waitForText("#calls-count", "240 calls")
	p.write("#filter-verdict", "unreachable")
	p.waitFor(`Array.from(document.querySelectorAll('.window .verdict')).every((cell) => cell.innerText === 'unreachable') && !/240|Reading/.test(document.querySelector('#calls-count').innerText)`)
	p.write("#filter-verdict", "")
	p.write("#filter-status", "error")
	p.write("#filter-model", "gemma3:4b")
	p.waitFor(`Array.from(document.querySelectorAll('.window .model')).every((cell) => cell.innerText === 'gemma3:4b')`)
	c.end(protocol.Call{ID: "a", Model: "gemma3:4b", Verdict: protocol.VerdictComplete}, protocol.Call{ID: "b", Model: "llama3.2", Verdict: protocol.VerdictTruncated},
		protocol.Call{ID: "c", Model: "gemma3:4b", Verdict: protocol.VerdictTruncated, Error: "the one that passes"})
	p.waitForText(".window .error", "the one that passes")
	if got := evaluate[int](p, `Array.from(document.querySelectorAll('.window .error')).filter((cell) => cell.innerText === '').length`); got != 0 {
		t.Errorf("%d calls without an error passed", got)
	}
	p.write("#filter-text", "no such thing")
	p.waitForText("#calls-none", "No call is like that. Show all, or look for something else.")
	p.click("#filter-none")
	p.waitForText("#calls-count", "243 calls")
	c.locked(func() {
		if !slices.Contains(c.rooms.queries, "limit=500&model=gemma3%3A4b&status=error") {
			t.Errorf("the companion was asked %q, want it to narrow down", c.rooms.queries)
		}
	})
}

func saysWhereTheTimeWent(_ *testing.T, c *companion, p *tab) {
	c.end(protocol.Call{ID: "new", Model: "m", RequestModel: "asked", Verdict: protocol.VerdictComplete, LatencyMs: 2_200, FirstTokenMs: new(int64(300)),
		OverheadUs: 180, FinishReason: "stop", UsageKnown: true, PromptTokens: 1_234, CompletionTokens: 75, BytesIn: 2_048, BytesOut: 120, Status: 200})
	p.waitForText(".window .model", "m")
	p.click(".window .call")
	p.waitForText("#call-detail h2", "m")
	for want, selector := range map[string]string{
		"0.3\u2009s": "div:nth-child(2)", "1.9\u2009s": "div:nth-child(3)", "180\u2009µs": "div:nth-child(4)",
	} {
		p.wantText("#call-timings "+selector+" dd", want)
	}
	p.wantText("#call-timings div:nth-child(1) .unseen", "unknown") // the queue: the upstream does not tell
	p.waitFor(`document.querySelector('#call-facts').innerText.replace(/\s+/g, ' ').includes('Asked for asked Status 200 Prompt tokens 1,234 Answer tokens 75')`)
	p.waitFor(`location.hash === '#/calls/new'`)
	p.wantText("#call-content", "What was said was not kept. To see it for new calls, keep messages.")
	p.goTo("calls/no-such-call")
	p.waitForText("#calls-count", "That call is no longer kept")
}

func showsWhatWasKept(t *testing.T, c *companion, p *tab) {
	curl := servertest.Need(t, "curl", "curl")
	p.waitForText("#call-answer", "A table for two at eight. Under which name?")
	p.waitFor(`document.querySelector('.window [aria-selected=true]')`) // far down, where only a link leads at once
	p.waitFor(`document.querySelector('#call-request').innerText.includes('"content": "It\'s for two, at eight."')`)
	// Chromium writes no file here; what it would write is the same.
	evaluate[bool](p, `(HTMLAnchorElement.prototype.click = function () { window.saved = this },
		URL.createObjectURL = (blob) => { blob.text().then((text) => window.content = text); return '#blob' }, true)`)
	p.click("#call-content > .bar button:nth-of-type(2)")
	p.waitFor(`window.saved?.download === 'call-2.json' && saved.hash === '#blob' && window.content === '{"cassette":1}'`)
	// The command is right when a shell that gets it as it is makes the very same request.
	command := evaluate[string](p, `document.querySelector('#call-curl').textContent`)
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(command, "curl ", curl+" -sS --fail ", 1)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.locked(func() {
		if want := "application/json " + c.rooms.contents["call-2"].Request; !slices.Equal(c.bodies, []string{want}) {
			t.Errorf("the command sent %q, want %q", c.bodies, want)
		}
	})
}

func playTokenless(c *companion) {
	playKept(c)
	c.locked(func() { c.rooms.tokenless = true })
	c.sessions = []protocol.Session{{ID: firstSession, State: protocol.SessionIdle, Live: true}}
}

func saysWhatToDo(t *testing.T, c *companion, p *tab) {
	p.waitForText("#call-content", tokenless)
	p.write("#capture-mode", "disk")
	p.waitForText("#capture-about", tokenless)
	p.goTo("overview")
	p.click("#capturing-off")
	p.waitFor(fmt.Sprintf(`document.querySelector('#capturing-text').innerText.endsWith(%q)`, "can read them. ("+tokenless+")"))
	p.photograph("tokenless")
	p.goTo("sessions")
	p.waitForText("#none", tokenless)
	c.locked(func() {
		if len(c.rooms.actions) != 0 {
			t.Errorf("it did %q", c.rooms.actions)
		}
	})
}

func keepsMessages(t *testing.T, c *companion, p *tab) {
	p.waitForText("#capture-about", "Requests and answers are forgotten when a call ends.")
	if !evaluate[bool](p, `document.querySelector('#capturing').hidden`) {
		t.Error("a banner shows although nothing is kept")
	}
	p.write("#capture-mode", "memory")
	p.waitFor(`!document.querySelector('#capturing').hidden`)
	p.wantText("#capturing-text", "Messages are being kept in memory: 0 calls, 0\u2009B of 64\u2009MB. Anybody who can read this page can read them.")
	for _, room := range []string{"overview", "try", "data", "studio", "doctor", "settings"} {
		p.goTo(room)
		if evaluate[bool](p, `document.querySelector('#capturing').offsetHeight === 0`) {
			t.Errorf("%s does not say that messages are kept", room)
		}
	}
	// What ends now is kept, and counted; forgetting leaves the mode as it is.
	c.locked(func() { c.rooms.capture.Kept = 1 })
	c.end(protocol.Call{Model: "m"})
	p.waitFor(`document.querySelector('#capturing-text').innerText.includes('1 call,')`)
	p.goTo("calls")
	p.waitFor(`!document.querySelector('#capture-forget').hidden`)
	p.click("#capture-forget")
	p.waitFor(`document.querySelector('#capture-forget').hidden`)
	p.click("#capturing-off")
	p.waitFor(`document.querySelector('#capturing').hidden`)
	// Somebody else turns it on, on the command line say: the status tells.
	c.locked(func() { c.rooms.capture = captureState{Mode: "disk", Kept: 1, Bytes: 900, LimitBytes: 64_000_000} })
	p.run(chromedp.Reload())
	p.waitForText("#capturing-text", "Messages are being kept on disk: 1 call, 900\u2009B of 64\u2009MB. Anybody who can read this page can read them.")
	c.locked(func() {
		if want := []string{`capture {"mode":"memory","forget":false}`, `capture {"mode":"memory","forget":true}`, `capture {"mode":"off","forget":false}`}; !slices.Equal(c.rooms.actions, want) || c.rooms.refuse != nil {
			t.Errorf("actions: got %q, without the token %q; want %q", c.rooms.actions, c.rooms.refuse, want)
		}
	})
}
