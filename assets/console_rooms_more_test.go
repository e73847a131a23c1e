package assets_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"chatwright.dev/tray/server/protocol"
)

func (p *tab) say(text string) {
	p.t.Helper()
	p.write("#try-text", text)
	p.run(chromedp.Focus("#try-text"), chromedp.KeyEvent(kb.Enter))
}

const said = `Array.from(document.querySelectorAll('#try-talk .said'), (turn) => turn.innerText.replace(/\n+/g, ' | '))`

func talks(t *testing.T, c *companion, p *tab) {
	c.locked(func() {
		c.rooms.talk = "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"Hm.\"}}]}\n\n" +
			"data: {\"choices\":[{\"delta\":{\"content\":\"Two <b>and\"}}]}\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\" two\"},\"finish_reason\":\"length\"}]}\n\n" +
			"data: {\"choices\":[],\"usage\":{\"completion_tokens\":5}}\n\ndata: [DONE]\n\n"
	})
	p.waitFor(`document.querySelector('#try-model').value === 'llama3.2'`)
	p.say("Hello")
	p.waitFor(`document.querySelector('#try-talk .end')?.innerText.includes('5 tokens')`)
	got := evaluate[[]string](p, said)
	if len(got) != 2 || got[0] != "You | Hello" || !strings.HasPrefix(got[1], "llama3.2 | Reasoning | Two <b>and two | ") || !strings.HasSuffix(got[1], "finish: length") {
		t.Errorf("said: got %q", got)
	}
	if got := evaluate[string](p, `document.querySelector('#try-talk details p').textContent`); got != "Hm." {
		t.Errorf("reasoning: got %q", got)
	}
	p.say("And then?")
	c.waitFor("the second message", func() bool { return len(c.bodies) == 2 })
	want := `application/json {"model":"llama3.2","messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":"Two <b>and two"},` +
		`{"role":"user","content":"And then?"}],"stream":true,"stream_options":{"include_usage":true}}`
	c.locked(func() {
		if c.bodies[1] != want {
			t.Errorf("sent: got %s, want %s", c.bodies[1], want)
		}
	})
	p.click("#try-clear")
	p.waitFor(`document.querySelector('#try-hint') && ` + said + `.length === 0`)
}

func talksJSON(t *testing.T, c *companion, p *tab) {
	c.locked(func() {
		c.rooms.talk = "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"done\\\":true}\"}}]}\n\ndata: [DONE]\n\n"
	})
	p.waitFor(`document.querySelector('#try-model').value`)
	p.click("#try-json")
	p.waitFor(`!document.querySelector('#try-schema-field').hidden`)
	p.write("#try-schema", "{")
	p.say("Is it done?")
	p.waitFor(`document.querySelector('#try-talk .end')?.innerText.startsWith('The schema is no JSON')`)
	p.write("#try-schema", `{"type":"object"}`)
	p.say("Is it done?")
	p.waitFor(`document.querySelector('#try-talk').innerText.includes('valid JSON')`)
	p.wantText("#try-talk .said:last-child .words", "{\n  \"done\": true\n}")
	c.locked(func() {
		if len(c.bodies) != 1 || !strings.Contains(c.bodies[0], `"response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":{"type":"object"}}}`) {
			t.Errorf("sent: got %s", c.bodies)
		}
	})
}

func saysTheError(t *testing.T, c *companion, p *tab) {
	c.locked(func() { c.rooms.talk = "503" })
	p.waitFor(`document.querySelector('#try-model').value`)
	p.say("Hello")
	p.waitForText("#try-talk .end", "llama3.2 is loading · wait a little")
	if got := evaluate[string](p, `document.querySelector('#try-text').value`); got != "Hello" {
		t.Errorf("the message that got no answer: got %q, want it back to be sent again", got)
	}
}

func updatesStudio(t *testing.T, c *companion, p *tab) {
	p.waitForText("#studio-stage", "Downloading · 6.3\u2009MB of 18\u2009MB · 2.4\u2009MB/s")
	if got := evaluate[float64](p, `document.querySelector('#studio-bar').value`); got < 0.34 || got > 0.35 {
		t.Errorf("progress: got %v, want 0.346", got)
	}
	p.click("#studio-cancel")
	c.change(func(s *protocol.Status) {
		s.Studio = &protocol.StudioStatus{Stage: protocol.StudioIdle, Version: "0.4.1", Previous: "0.4.0", Available: "0.5.0", Error: "no network", Hint: "try later"}
	})
	p.waitForText("#studio-error", "no network · try later")
	p.waitForText("#studio-update", "Update to 0.5.0")
	p.wantText("#studio-rollback", "Go back to 0.4.0")
	c.locked(func() { c.rooms.refusal = `{"error":"another update is running","hint":"wait for it"}` })
	p.click("#studio-update")
	p.waitForText("#studio-error", "another update is running · wait for it")
	c.locked(func() { c.rooms.refusal = "" })
	p.click("#studio-rollback")
	c.waitFor("the way back", func() bool { return len(c.rooms.actions) == 3 })
	c.locked(func() {
		if want := []string{"studio-cancel {}", "studio-update {}", "studio-rollback {}"}; !slices.Equal(c.rooms.actions, want) {
			t.Errorf("actions: got %q, want %q", c.rooms.actions, want)
		}
		c.rooms.studioV.Version, c.rooms.studioV.SHA256 = "0.4.0", strings.Repeat("ab", 32)
	})
	c.change(func(s *protocol.Status) {
		s.Studio = &protocol.StudioStatus{Stage: protocol.StudioIdle, Version: "0.4.0"}
	})
	p.waitForText("#studio-sha", strings.Repeat("ab", 32))
	p.wantText("#studio-previous", "none")
}

func looksAgain(t *testing.T, c *companion, p *tab) {
	p.waitForText("#doctor-sum", "5 checks: 1 failed, 1 warning.")
	p.wantText("#doctor-checks li:nth-child(2)", "failed\n\nThe upstream\n\nNothing listens on localhost:11434; Ollama usually does.\n\nollama serve\nCopy")
	c.locked(func() {
		c.rooms.checks = []protocol.Check{{ID: "port", Name: "The port", State: protocol.CheckOK, Detail: "It is ours."}}
		if c.rooms.looked != 1 {
			t.Errorf("the doctor looked %d times, want once", c.rooms.looked)
		}
	})
	p.click("#doctor-run")
	p.waitForText("#doctor-sum", "All 1 checks are fine.")
}

func showsSettings(_ *testing.T, _ *companion, p *tab) {
	p.waitFor(`document.querySelectorAll('#settings tbody tr').length === 5`)
	p.wantText("#settings tbody tr:nth-child(2)", "upstream\nThe model server that calls go to.\n\t\nhttp://localhost:11434/v1\n\t\ntray.toml\n\t\n--upstream\nCHATWRIGHT_SERVER_UPSTREAM")
	p.wantText("#settings tbody tr:nth-child(5) .value", "not set")
}

func changesTheUpstream(t *testing.T, c *companion, p *tab) {
	p.waitFor(`document.querySelectorAll('#upstreams-list li').length === 4`)
	p.wantText("#upstreams-list [aria-current] .name", "Ollama")
	p.wantText("#upstreams-why", "Ollama was chosen: used last.")
	p.click(`[data-use="http://localhost:8080/v1"]`)
	c.waitFor("the action", func() bool { return len(c.rooms.actions) == 1 })
	c.change(func(s *protocol.Status) {
		s.Upstream = protocol.Upstream{Name: "llama.cpp", BaseURL: "http://localhost:8080/v1", Reach: protocol.ReachLoading}
	})
	p.waitForText("#upstreams-list [aria-current] .name", "llama.cpp")
	p.waitForText("#upstream", "llama.cpp")
	c.locked(func() { c.rooms.refusal = `{"error":"work is not reachable","hint":"look again"}` })
	p.click(`[data-use=work]`)
	p.waitForText("#upstreams-error", "work is not reachable · look again")
	c.locked(func() { c.rooms.refusal = "" })
	p.click("#upstreams-look")
	p.waitFor(`document.querySelector('#upstreams-error').hidden`)
	c.waitFor("look-again", func() bool {
		return slices.Equal(c.rooms.actions, []string{`use-upstream {"upstream":"http://localhost:8080/v1"}`, `use-upstream {"upstream":"work"}`, "look-again {}"})
	})
	if got := evaluate[string](p, `document.querySelector('meta[name=chatwright-token]').content`); got != pageToken {
		t.Errorf("the token of the page: got %q", got)
	}
}

func showsModels(t *testing.T, _ *companion, p *tab) {
	p.waitFor(`document.querySelectorAll('#models tbody tr').length === 4 && document.querySelector('#models .histogram').getAttribute('aria-label').includes('whole answers')`)
	for row, want := range map[string]string{
		"1": "llama3.2 loaded 3.4\u2009GB GPU 301 4.1\u2009s 38\u2009tok/s", "2": "qwen2.5-coder:32b-instruct-q4_K_M loaded 22\u2009GB 62\u2009% GPU 99 18.1\u2009s 9.2\u2009tok/s",
		"4": "nomic-embed-text:latest not loaded 274\u2009MB – unknown 0 – unknown – unknown",
	} {
		if got := strings.Join(strings.FieldsFunc(p.text("#models tbody tr:nth-child("+row+")"), func(r rune) bool { return r == '\n' || r == '\t' || r == ' ' }), " "); got != want {
			t.Errorf("row %s: got %q, want %q", row, got, want)
		}
	}
	if got := evaluate[bool](p, `Array.from(document.querySelectorAll('#models .chart')).every((chart) => chart.getAttribute('aria-label'))`); !got {
		t.Error("a drawing does not say what it shows")
	}
}

func pointsAtTheTimeline(t *testing.T, _ *companion, p *tab) {
	p.waitFor(`document.querySelector('#models tbody tr')`)
	p.click("#timeline-pause")
	p.waitForText("#timeline-span", "15\u2009min, paused")
	// The pointer goes over the drawing from left to right until it meets a call.
	p.waitFor(`(() => { const canvas = document.querySelector('#timeline'), box = canvas.getBoundingClientRect()
		for (let x = box.left + 60; x < box.right; x += 2) {
			canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: x, clientY: box.top + 60 }))
			if (!document.querySelector('#timeline-call').hidden) return true
		}
		return false })()`)
	call := p.text("#timeline-call")
	if !strings.Contains(call, "\u2009s · ") || !strings.Contains(call, ":") {
		t.Errorf("the call under the pointer: got %q, want its time, model and duration", call)
	}
	p.click("#timeline-in")
	p.waitForText("#timeline-span", "10\u2009min, paused")
	p.click("#timeline")
	p.waitFor(`location.hash.startsWith('#/calls/call-') && !document.querySelector('#call-detail').hidden`)
}

func drawsTenThousand(t *testing.T, _ *companion, p *tab) {
	p.waitFor(`document.querySelector('#timeline').clientWidth > 0`)
	got := evaluate[map[string]float64](p, `Promise.all([import('/console/timeline.js'), import('/console/recent.js')]).then(async ([{ Timeline }, { Recent }]) => {
		const recent = new Recent(), verdicts = ['complete', 'complete', 'complete', 'truncated', 'upstream-error', 'cancelled'], now = Date.now()
		recent.add(Array.from({ length: 10_000 }, (_, i) => ({ id: String(i), timestamp: new Date(now - 880_000 + i * 85).toISOString(),
			latencyMs: Math.round(20 * 1.0009 ** ((i * 7919) % 7000)), verdict: verdicts[(i * 31) % 6] })))
		const line = new Timeline(document.querySelector('#timeline'), recent, () => {})
		line.open()
		const frame = () => new Promise(requestAnimationFrame)
		await frame(); await frame()
		const drawing = [], frames = []
		for (let i = 0, last = performance.now(); i < 40; i++) {
			await frame()
			const from = performance.now()
			line.draw()
			drawing.push(performance.now() - from)
			frames.push(from - last)
			last = from
		}
		line.close()
		const middle = (list) => list.sort((a, b) => a - b)[list.length >> 1]
		return { points: recent.points.length, drawing: middle(drawing), frame: middle(frames), best: frames[0] }
	})`)
	t.Logf("a frame of %v calls: %.1f ms of drawing, %.1f ms from frame to frame, %.1f ms at best", got["points"], got["drawing"], got["frame"], got["best"])
	if got["points"] != 10_000 || got["drawing"] > 160 {
		t.Errorf("got %+v, want 10,000 points drawn in 16 ms, or ten times that on a busy machine", got)
	}
}
