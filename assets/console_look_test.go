package assets_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"chatwright.dev/tray/server/protocol"
)

// look.md: light and dark, at 360 px and wide, in every state: nothing is wider than the page, and each state is
// photographed for a person to look at.
func (b chromium) testLooks(t *testing.T) {
	for _, view := range []struct {
		name   string
		play   func(*companion)
		width  int64
		scheme string
		lost   bool
	}{
		{"copy-dark", playCopy, 1280, "dark", false},
		{"empty-light", func(*companion) {}, 1280, "light", false},
		{"empty-narrow", func(*companion) {}, 360, "dark", false},
		{"notice-dark", playNotices, 1280, "dark", false},
		{"notice-narrow", playNotices, 360, "light", false},
		{"data-light", playData, 1280, "light", false},
		{"data-dark", playData, 1280, "dark", false},
		{"data-narrow", playData, 360, "light", false},
		{"data-narrow-dark", playData, 360, "dark", false},
		{"lost-light", playCalls, 1280, "light", true},
		{"lost-narrow", playCalls, 360, "dark", true},
	} {
		t.Run(view.name, func(t *testing.T) {
			t.Parallel()
			c := newCompanion(t)
			view.play(c)
			room := map[bool]string{true: "#/data", false: "#/overview"}[strings.HasPrefix(view.name, "data-")]
			p := b.open(t, c.url("/console/"+room), chromedp.EmulateViewport(view.width, 800),
				media("prefers-color-scheme", view.scheme))
			if room == "#/overview" {
				p.waitFor(`document.querySelector('#empty').hidden || document.querySelector('#curl').textContent`)
				p.waitFor(`document.querySelector('#tiles .calls .value').innerText !== '–\nunknown'`)
			} else {
				p.waitFor(`!document.querySelector('#data-ask').hidden`)
				p.write("#data-example", "1")
				p.ask("pass")
			}
			if view.lost {
				c.stop()
				p.waitFor(`!document.querySelector('#lost').hidden`)
			}
			p.waitFor(`document.getAnimations().length === 0`)
			p.photograph(view.name)
			if over := evaluate[int](p, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
				t.Errorf("the page is %d px wider than its window", over)
			}
			want := map[string]string{"light": "rgb(246, 249, 252)", "dark": "rgb(12, 19, 32)"}[view.scheme]
			if got := evaluate[string](p, `getComputedStyle(document.body).backgroundColor`); got != want {
				t.Errorf("paper: got %s, want %s", got, want)
			}
			p.clean(c, lostConnection...)
		})
	}
}

// playCalls is a morning of work: one call of every verdict, the usual ones several times.
func playCalls(c *companion) {
	start := time.Now().Add(-10 * time.Minute).UTC()
	rows := []protocol.Call{
		{Model: "llama3.2", Verdict: protocol.VerdictComplete, Status: 200, LatencyMs: 10_812, FirstTokenMs: new(int64(312)), CompletionTokens: 412, PromptTokens: 96, UsageKnown: true, TokensPerSecond: 38.2, FinishReason: "stop", Streamed: true},
		{Model: "llama3.2", Verdict: protocol.VerdictUnreachable, LatencyMs: 2, Error: "dial tcp 127.0.0.1:11434: connect: connection refused"},
		{Model: "qwen2.5-coder:32b-instruct-q4_K_M", Verdict: protocol.VerdictLoading, Status: 503, LatencyMs: 14, Error: "Loading model"},
		{Model: "qwen2.5-coder:32b-instruct-q4_K_M", Verdict: protocol.VerdictComplete, Status: 200, LatencyMs: 125_400, FirstTokenMs: new(int64(21_300)), CompletionTokens: 2048, PromptTokens: 12_345, UsageKnown: true, TokensPerSecond: 4.1, FinishReason: "length"},
		{Model: "llama3.2", Verdict: protocol.VerdictCancelled, Status: 499, LatencyMs: 3_050, FirstTokenMs: new(int64(290)), Streamed: true},
		{Model: "llama3.2", Verdict: protocol.VerdictUpstreamError, Status: 400, LatencyMs: 31, Error: "json: cannot unmarshal string into Go struct field ChatRequest.messages of type []api.Message"},
		{Model: "llama3.2", Verdict: protocol.VerdictNoDone, Status: 200, LatencyMs: 1_840, FirstTokenMs: new(int64(301)), FinishReason: "stop", Streamed: true},
		{Model: "llama3.2", Verdict: protocol.VerdictTruncated, Status: 200, LatencyMs: 4_410, FirstTokenMs: new(int64(333)), Error: "unexpected EOF", Streamed: true},
		{Model: "llama3.2", Verdict: protocol.VerdictStreamError, Status: 200, LatencyMs: 6_200, FirstTokenMs: new(int64(298)), Error: "CUDA out of memory", Streamed: true},
		{Model: strings.Repeat("very-long-model-name-", 9), Verdict: protocol.VerdictComplete, Status: 200, LatencyMs: 640, FirstTokenMs: new(int64(88)), CompletionTokens: 17, PromptTokens: 40, UsageKnown: true, TokensPerSecond: 61.6, FinishReason: "tool_calls"},
		{Model: "gemma3:4b", Verdict: protocol.VerdictComplete, Status: 200, LatencyMs: 1_790, FirstTokenMs: new(int64(402)), CompletionTokens: 58, PromptTokens: 31, UsageKnown: true, TokensPerSecond: 41.7, FinishReason: "stop"},
		{Model: "llama3.2", Verdict: protocol.VerdictComplete, Status: 200, LatencyMs: 1_810, FirstTokenMs: new(int64(295)), CompletionTokens: 61, PromptTokens: 96, UsageKnown: true, TokensPerSecond: 40.4, FinishReason: "stop", Streamed: true},
	}
	for i := range rows {
		rows[i].Timestamp = start.Add(time.Duration(i) * 47 * time.Second)
	}
	c.end(rows...)
	c.change(func(s *protocol.Status) {
		s.StartedAt = start.Add(-90 * time.Minute)
		s.Metrics = protocol.Metrics{
			Calls: 1_242, Errors: 17, InFlight: 1, PromptTokens: 118_402, CompletionTokens: 48_212,
			LatencyP50Ms: new(int64(1_810)), LatencyP95Ms: new(int64(125_400)), FirstTokenP50Ms: new(int64(301)), TokensPerSecond: 38.4,
		}
	})
}

func playNotices(c *companion) {
	playCalls(c)
	c.change(func(s *protocol.Status) {
		s.Phase = protocol.PhaseDegraded
		s.Upstream.Reach, s.Upstream.Detail = protocol.ReachDown, "Nothing listens on localhost:11434; Ollama usually does."
		s.Notices = []protocol.Notice{
			{Cause: "upstream", Text: "Upstream refused the connection: is Ollama up?", Hint: "Start it with “ollama serve”, or choose the demo model.", Since: time.Now().Add(-3 * time.Minute)},
			{Cause: "update", Text: "Studio could not be updated: the release host did not answer within 30 s.", Since: time.Now().Add(-26 * time.Hour)},
		}
	})
}

func playCopy(c *companion) {
	playCalls(c)
	c.change(func(s *protocol.Status) {
		s.UI = protocol.UI{Source: protocol.UICopy, Version: "0.4.1"}
		s.Upstream = protocol.Upstream{Name: "Demo model", BaseURL: "demo", Demo: true, Reach: protocol.ReachOK}
	})
}

func playData(c *companion) {
	c.locked(func() {
		c.holders = twoHolders
		c.answer = func(string) string { return threeRows }
	})
}
