package assets_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"

	"chatwright.dev/tray/assets"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/browsertest"
)

func (b chromium) testPage(t *testing.T) {
	for name, test := range map[string]func(*testing.T, opener){
		"the page at /console/ shows what the companion says": showsStatus("/console/"),
		"the page at / shows what the companion says":         showsStatus("/"),
		"calls show as they come":                             showsCallsAsTheyCome,
		"figures show as they come":                           showsFigures,
		"foreign text is text":                                showsForeignTextAsText,
		"what is unknown is no zero":                          showsUnknown,
		"every word of the protocol has a word and a shape":   hasWordsForAll,
		"times are local with the zone in the tooltip":        showsLocalTime,
		"numbers read like a person writes them":              formatsNumbers,
		"figures that tick move nothing":                      movesNothing,
		"reduced motion ends the fades":                       respectsReducedMotion,
		"the policy is in force":                              isUnderThePolicy,
		"on Windows the command is for its Command Prompt":    showsCommandForWindows,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func(path string, before ...step) (*companion, *tab) {
				c := newCompanion(t)
				return c, b.open(t, c.url(path), before...)
			})
		})
	}
}

type opener = func(path string, before ...step) (*companion, *tab)

func showsStatus(path string) func(*testing.T, opener) {
	return func(t *testing.T, open opener) {
		c, p := open(path)
		p.waitForText("#phase", "Running")
		p.waitForText("#address", "http://"+c.addr)
		p.wantText("#upstream", "Ollama")
		p.wantText("#reach", "reachable")
		p.wantText("#version", "0.1.0")
		p.wantText("#ui", "No Studio copy here yet")
		p.wantText("#ui-hint", "To get Studio: start with --ui, or open chatwright.dev")
		if got, want := evaluate[string](p, `document.title`), "Running · Chatwright"; got != want {
			t.Errorf("title: got %q, want %q", got, want)
		}

		c.change(func(s *protocol.Status) {
			s.Phase, s.Detail = protocol.PhaseDegraded, "three calls failed in a row"
			s.Upstream.Reach, s.Upstream.Detail = protocol.ReachDown, "connection refused"
			s.UI = protocol.UI{Source: protocol.UICopy, Version: "0.4.1"}
			s.Notices = []protocol.Notice{{Cause: "upstream", Text: "Upstream refused the connection.", Hint: "Start Ollama.", Since: time.Now()}}
		})
		p.waitForText("#phase", "Degraded")
		p.wantText("#detail", "three calls failed in a row")
		p.wantText("#reach", "not reachable")
		p.wantText("#upstream-detail", "connection refused")
		p.wantText("#ui", "Studio 0.4.1")
		p.wantText("#ui-link", "Open Studio")
		p.wantText("#notices p", "Upstream refused the connection.")
		p.wantText("#notices .muted", "Start Ollama.")

		c.change(func(s *protocol.Status) { s.Notices, s.UI = nil, protocol.UI{Source: protocol.UIConsole} })
		p.waitFor(`document.querySelector('#notices').hidden`)
		p.wantText("#ui-hint", "To get Studio: start with --ui, or open chatwright.dev")
		showsTheOfflineCopy(c, p)
		p.clean(c)
	}
}

// showsTheOfflineCopy says how far a copy is that is being fetched, and what to do where nothing is.
func showsTheOfflineCopy(c *companion, p *tab) {
	p.t.Helper()
	studio := func(change protocol.StudioStatus) {
		c.change(func(s *protocol.Status) { s.Studio = &change })
	}
	studio(protocol.StudioStatus{Stage: protocol.StudioIdle, Error: "no network"})
	p.waitForText("#ui-hint", "To fetch it: chatwright-tray studio update, or open chatwright.dev")
	studio(protocol.StudioStatus{Stage: protocol.StudioChecking})
	p.waitForText("#ui-hint", "Looking for Studio; meanwhile there is chatwright.dev")
	studio(protocol.StudioStatus{Stage: protocol.StudioDownloading, Available: "0.4.1", Bytes: 430, Total: 1000})
	p.waitForText("#ui-hint", "Downloading Studio 0.4.1 · 43 %; meanwhile there is chatwright.dev")
	c.change(func(s *protocol.Status) {
		s.UI = protocol.UI{Source: protocol.UICopy, Version: "0.4.1"}
		s.Studio = &protocol.StudioStatus{Stage: protocol.StudioDownloading, Version: "0.4.1", Available: "0.5.0", Bytes: 1}
	})
	p.waitForText("#ui-hint", "Downloading Studio 0.5.0")
	studio(protocol.StudioStatus{Stage: protocol.StudioIdle, Version: "0.5.0"})
	p.waitForText("#ui-hint", "An offline copy, served from this machine.")
}

func showsCallsAsTheyCome(t *testing.T, open opener) {
	c, p := open("/console/#/calls")
	c.end(protocol.Call{Model: "first", Verdict: protocol.VerdictComplete, Status: 200, LatencyMs: 1800})
	p.waitForText(".window .model", "first")

	c.end(protocol.Call{Model: "second", Verdict: protocol.VerdictComplete, Status: 200, LatencyMs: 10_800, FirstTokenMs: new(int64(300)),
		CompletionTokens: 412, PromptTokens: 12, UsageKnown: true, TokensPerSecond: 38.2, FinishReason: "stop"})
	p.waitForText(".window .model", "second")
	want := []string{"second", "200", "complete", "10.8\u2009s", "0.3\u2009s", "412", "38\u2009tok/s", "stop", ""}
	if got := evaluate[[]string](p, `Array.from(document.querySelector('.window .call').children, (cell) => cell.innerText).slice(1)`); !slices.Equal(got, want) {
		t.Errorf("row: got %q, want %q", got, want)
	}

	c.end(protocol.Call{ID: "call-1", Model: "first again", Verdict: protocol.VerdictComplete, Status: 200})
	p.waitForText(".window .call:nth-child(2) .model", "first again")
	if got := evaluate[int](p, `document.querySelectorAll('.window .call').length`); got != 2 {
		t.Errorf("got %d rows after a call that came twice, want 2", got)
	}
	p.clean(c)
}

// The figures are of today where a history is kept, and else since the companion started.
func showsFigures(_ *testing.T, open opener) {
	c, p := open("/console/")
	c.change(func(s *protocol.Status) {
		s.Metrics = protocol.Metrics{Calls: 1234, Errors: 2, InFlight: 1, PromptTokens: 12_345, CompletionTokens: 1_250_000,
			LatencyP50Ms: new(int64(1200)), LatencyP95Ms: new(int64(125_000)), FirstTokenP50Ms: new(int64(300)), TokensPerSecond: 38}
	})
	p.waitForText(".inFlight .value", "1")
	for tile, want := range map[string]string{
		"calls": "1.2k", "errors": "2", "p50": "1.2\u2009s", "p95": "2\u2009min 5\u2009s", "firstToken": "0.3\u2009s",
		"speed": "38\u2009tok/s", "tokens": "1.3M",
	} {
		p.wantText("#tiles ."+tile+" .value", want)
	}
	p.wantText("#tiles .errors .muted", "0.2\u2009% of calls")
	p.wantText("#tiles .tokens .muted", "out · 12.3k in")
	c.change(func(s *protocol.Status) {
		s.History = &protocol.History{Today: protocol.Totals{Calls: 2_000, Errors: 500, PromptTokens: 7, CompletionTokens: 8}}
	})
	p.waitForText("#tiles .calls .muted", "today")
	for tile, want := range map[string]string{"calls": "2k", "errors": "500", "tokens": "8"} {
		p.wantText("#tiles ."+tile+" .value", want)
	}
	p.wantText("#tiles .errors .muted", "25\u2009% of calls")
	p.clean(c)
}

func showsForeignTextAsText(t *testing.T, open opener) {
	const evil = `<img src=x onerror="window.owned=1"><script>window.owned=1</script>`
	c, p := open("/console/")
	c.change(func(s *protocol.Status) {
		s.Version, s.Detail = evil, evil
		s.Upstream = protocol.Upstream{Name: evil, BaseURL: evil, Detail: evil, Reach: "<b>"}
		s.UI = protocol.UI{Source: protocol.UICopy, Version: evil}
		s.Studio = &protocol.StudioStatus{Stage: protocol.StudioUnpacking, Available: evil}
		s.Notices = []protocol.Notice{{Cause: evil, Text: evil, Hint: evil, Since: time.Now()}}
	})
	c.end(protocol.Call{ID: evil, Model: evil, FinishReason: evil, Error: evil, Verdict: evil})
	c.end(protocol.Call{Model: strings.Repeat("endless", 100), Error: strings.Repeat("endless", 100)})
	p.waitForText("#upstream", evil)
	for _, selector := range []string{"#version", "#detail", "#upstream", "#upstream-detail", "#notices p", "#notices .muted"} {
		p.wantText(selector, evil)
	}
	p.wantText("#ui", "Studio "+evil)
	p.wantText("#ui-hint", "Installing Studio "+evil)
	p.wantText("#reach", "unknown")
	p.goTo("calls")
	p.waitForText(".window .call:nth-child(2) .model", evil)
	p.wantText(".window .call:nth-child(2) .finish", evil)
	p.wantText(".window .call:nth-child(2) .error", evil)
	p.wantText(".window .call:nth-child(2) .verdict", "unknown")
	if got := evaluate[int](p, `document.querySelectorAll('main img, main script, main b').length`); got != 0 {
		t.Errorf("foreign text made %d elements, want none", got)
	}
	if evaluate[bool](p, `'owned' in window`) {
		t.Error("foreign text ran as a script")
	}
	if !evaluate[bool](p, `document.querySelector('.window .model').scrollWidth > document.querySelector('.window .model').clientWidth &&
		getComputedStyle(document.querySelector('.window .model')).textOverflow === 'ellipsis'`) {
		t.Error("a very long model name is not cut with an ellipsis")
	}
	if over := evaluate[int](p, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		t.Errorf("very long text makes the page %d px wider than its window", over)
	}
	p.clean(c)
}

func showsUnknown(_ *testing.T, open opener) {
	c, p := open("/console/#/calls")
	c.end(protocol.Call{LatencyMs: 0, Verdict: protocol.VerdictUnreachable}, protocol.Call{Model: "m", Status: 200, UsageKnown: true, FirstTokenMs: new(int64(0))})
	p.waitFor(`document.querySelectorAll('.window .call').length === 2`)
	for _, cell := range []string{"model", "status", "firstToken", "tokens", "speed", "finish"} {
		p.wantText(".window .call:nth-child(2) ."+cell+" [aria-hidden]", "–")
		p.wantText(".window .call:nth-child(2) ."+cell+" .unseen", "unknown")
	}
	p.wantText(".window .call:nth-child(2) .latency", "<1\u2009ms")
	// A usage that is known to be nothing is a zero, and so is a first token that came at once.
	p.wantText(".window .call:nth-child(1) .tokens", "0")
	p.wantText(".window .call:nth-child(1) .firstToken", "<1\u2009ms")
	p.goTo("overview")
	p.waitForText("#tiles .errors .value", "0")
	for _, tile := range []string{"p50", "p95", "firstToken", "speed", "tokens"} {
		p.wantText("#tiles ."+tile+" .value [aria-hidden]", "–")
		p.wantText("#tiles ."+tile+" .value .unseen", "unknown")
	}

	c.change(func(s *protocol.Status) { s.Upstream.Reach, s.StartedAt = protocol.ReachUnknown, time.Time{} })
	p.waitForText("#reach", "unknown")
	p.wantText("#tiles .calls .muted", "ended")
	p.clean(c)
}

// look.md: always with a word or a shape besides the colour.
func hasWordsForAll(t *testing.T, open opener) {
	_, p := open("/console/")
	for table, keys := range map[string][]string{
		"phases": {
			string(protocol.PhaseStarting), string(protocol.PhaseRunning), string(protocol.PhaseDegraded), string(protocol.PhaseExternal),
			string(protocol.PhaseBlocked), string(protocol.PhaseStopped), string(protocol.PhaseFailed),
		},
		"reaches": {string(protocol.ReachUnknown), string(protocol.ReachOK), string(protocol.ReachLoading), string(protocol.ReachDown)},
		"verdicts": {
			string(protocol.VerdictComplete), string(protocol.VerdictNoDone), string(protocol.VerdictTruncated), string(protocol.VerdictCancelled),
			string(protocol.VerdictStreamError), string(protocol.VerdictUpstreamError), string(protocol.VerdictLoading), string(protocol.VerdictUnreachable),
		},
	} {
		got := evaluate[map[string]struct{ Word, Shape, Tone string }](p, `import('/console/texts.js').then((texts) => texts.`+table+`)`)
		if len(got) != len(keys) {
			t.Errorf("%s: got %d, want %d", table, len(got), len(keys))
		}
		styles := consoleFiles(t)["console.css"]
		for _, key := range keys {
			drawn := got[key]
			if drawn.Word == "" || !strings.Contains(styles, `data-shape="`+drawn.Shape+`"`) || !strings.Contains(styles, `data-tone="`+drawn.Tone+`"`) {
				t.Errorf("%s.%s: got %+v, want a word, and a shape and a tone of console.css", table, key, drawn)
			}
		}
	}
	if got := evaluate[[]string](p, `Array.from(document.querySelectorAll('[data-text], [data-label]'), (node) => node.dataset.text ? node.textContent : node.getAttribute('aria-label'))`); slices.Contains(got, "undefined") || slices.Contains(got, "") {
		t.Errorf("index.html names a word that texts.js lacks: %q", got)
	}
}

func showsLocalTime(t *testing.T, open opener) {
	kolkata := time.FixedZone("", 5*3600+1800) // a zone that no machine of ours is in, without summer time
	c, p := open("/console/#/calls", browsertest.Command(emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kolkata"}))
	now := time.Now().In(kolkata)
	before := now.AddDate(0, 0, -2)
	c.end(protocol.Call{Timestamp: before.UTC()}, protocol.Call{Timestamp: now.UTC()})
	p.waitForText(".window .call:nth-child(1) .time", now.Format("15:04:05"))
	p.wantText(".window .call:nth-child(2) .time", before.Format("2 Jan 15:04"))
	if !evaluate[bool](p, `Array.from(document.querySelectorAll('.window .time')).every((cell) => cell.scrollWidth <= cell.clientWidth)`) {
		t.Error("a time with its date is cut")
	}
	title := evaluate[string](p, `document.querySelector('.window .time time').title`)
	for _, want := range []string{now.Format("15:04:05"), now.Format("2006"), "GMT+5:30", "(Asia/"} {
		if !strings.Contains(title, want) {
			t.Errorf("tooltip: got %q, want %q in it", title, want)
		}
	}
	if got, want := evaluate[string](p, `document.querySelector('.window .time time').dateTime`), now.UTC().Format(time.RFC3339Nano); got != want {
		t.Errorf("datetime: got %q, want %q", got, want)
	}
	p.clean(c)
}

// tray.md: 412 tokens, 12.3k, 1.2M; 0.3 s, 1.8 s, 2 min 5 s. look.md: units with a thin space.
func formatsNumbers(t *testing.T, open opener) {
	_, p := open("/console/")
	for call, want := range map[string]string{
		"count(0)": "0", "count(412)": "412", "count(999)": "999", "count(1000)": "1k", "count(12345)": "12.3k",
		"count(999949)": "999.9k", "count(999950)": "1M", "count(1234567)": "1.2M", "count(undefined)": "null",
		"duration(0)": "<1_ms", "duration(99)": "99_ms", "duration(300)": "0.3_s", "duration(1800)": "1.8_s", "duration(59949)": "59.9_s",
		"duration(59950)": "1_min", "duration(125000)": "2_min 5_s", "duration(3599600)": "1_h", "duration(3900000)": "1_h 5_min",
		"duration(undefined)": "null", "duration(null)": "null",
		"speed(38.2)": "38_tok/s", "speed(4.12)": "4.1_tok/s", "speed(9.96)": "10_tok/s", "speed(0)": "null", "speed(undefined)": "null",
		"share(0, 10)": "0_%", "share(1, 3)": "33_%", "share(1, 40)": "2.5_%", "share(1, 10000)": "<0.1_%", "share(0, 0)": "null",
		"parseTime('0001-01-01T00:00:00Z')": "null", "parseTime(undefined)": "null", "parseTime('x')": "null",
	} {
		want = strings.ReplaceAll(want, "_", "\u2009")
		if got := evaluate[string](p, `import('/console/format.js').then((format) => String(format.`+call+`))`); got != want {
			t.Errorf("%s: got %q, want %q", call, got, want)
		}
	}
}

// look.md: nothing jumps when numbers tick.
func movesNothing(t *testing.T, open opener) {
	c, p := open("/console/")
	c.end(protocol.Call{Model: "m"})
	p.waitForText("#models td.model", "m")
	p.waitFor(`document.querySelector('#empty').hidden`)
	const places = `JSON.stringify(Array.from(document.querySelectorAll('#tiles > div, .facts > div, th, #phase, #timeline, #timeline-panel button'), (node) => { const { x, y, width, height } = node.getBoundingClientRect(); return [x, y, width, height] }))`
	before := evaluate[string](p, places)
	c.change(func(s *protocol.Status) {
		s.Metrics = protocol.Metrics{Calls: 987_654, Errors: 8_888, InFlight: 64, PromptTokens: 88_888_888, CompletionTokens: 88_888_888,
			LatencyP50Ms: new(int64(88_888)), LatencyP95Ms: new(int64(8_888_888)), FirstTokenP50Ms: new(int64(58_888)), TokensPerSecond: 8888}
	})
	c.end(protocol.Call{Model: strings.Repeat("m", 200), Verdict: protocol.VerdictUpstreamError, Status: 500, LatencyMs: 8_888_888, FirstTokenMs: new(int64(888_888)),
		CompletionTokens: 888_888, UsageKnown: true, TokensPerSecond: 888, FinishReason: "content_filter", Error: strings.Repeat("e", 200)})
	p.waitForText("#tiles .inFlight .value", "64")
	p.waitFor(`document.querySelectorAll('#models tbody tr').length === 2`)
	if after := evaluate[string](p, places); after != before {
		t.Errorf("figures moved something:\nbefore %s\nafter  %s", before, after)
	}
	if cut := evaluate[[]string](p, `Array.from(document.querySelectorAll('#tiles dd, #tiles dt, th')).filter((node) => node.scrollWidth > node.clientWidth).map((node) => node.innerText)`); len(cut) > 0 {
		t.Errorf("figures that are cut: %q", cut)
	}
	p.clean(c)
}

func respectsReducedMotion(t *testing.T, open opener) {
	const longest = `Math.max(...Array.from(document.querySelectorAll('*'), (node) => parseFloat(getComputedStyle(node).transitionDuration)))`
	_, p := open("/console/")
	if got := evaluate[float64](p, longest); got > 0.12 {
		t.Errorf("got a fade of %v s, want at most 0.12 s", got)
	}
	p.run(media("prefers-reduced-motion", "reduce"))
	if got := evaluate[float64](p, longest); got != 0 {
		t.Errorf("got a fade of %v s with reduced motion, want none", got)
	}
}

// The other tests say that nothing was refused; this one that it would have been, and that they would have seen it.
func isUnderThePolicy(t *testing.T, open opener) {
	_, p := open("/console/")
	evaluate[bool](p, `(() => { const image = document.createElement('img'); image.src = 'http://127.0.0.1:1/x'; document.body.append(image); return true })()`)
	p.waitFor(`violations.length === 1`)
	if got, want := evaluate[string](p, `violations[0]`), "img-src http://127.0.0.1:1/x"; got != want {
		t.Errorf("violation: got %q, want %q", got, want)
	}
	if got := evaluate[string](p, `fetch('/console/').then((answer) => answer.headers.get('Content-Security-Policy'))`); got != assets.ConsolePolicy {
		t.Errorf("policy: got %q, want %q", got, assets.ConsolePolicy)
	}
}

func showsCommandForWindows(_ *testing.T, open opener) {
	c, p := open("/console/", browsertest.Command(emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{
		UserAgent: "Mozilla/5.0 (Windows NT 10.0; Win64; x64)",
	}))
	p.waitFor(`document.querySelector('#curl').textContent`)
	p.wantText("#curl", `curl http://`+c.addr+`/v1/chat/completions -H "Content-Type: application/json" `+
		`-d "{\"model\":\"llama3.2\",\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}"`)
	p.clean(c)
}
