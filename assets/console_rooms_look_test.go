package assets_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"chatwright.dev/tray/server/protocol"
)

// look.md: each room in light and dark, at 360 px and at 4K: nothing is wider than the page, and each is photographed
// for a person to look at.
func (b chromium) testRoomLooks(t *testing.T) {
	for _, view := range []struct {
		name, path string
		play       func(*companion)
		width      int64
		scheme     string
		ready      string
	}{
		{"overview-light", "#/overview", playBusy, 1280, "light", `document.querySelectorAll('#models tbody tr').length > 2 && document.querySelector('#upstreams-list li')`},
		{"overview-dark", "#/overview", playBusy, 1280, "dark", `document.querySelectorAll('#models tbody tr').length > 2 && document.querySelector('#upstreams-list li')`},
		{"overview-narrow", "#/overview", playBusy, 360, "light", `document.querySelectorAll('#models tbody tr').length > 2 && document.querySelector('#upstreams-list li')`},
		{"overview-4k", "#/overview", playBusy, 3840, "dark", `document.querySelectorAll('#models tbody tr').length > 2 && document.querySelector('#upstreams-list li')`},
		{"calls-light", "#/calls", playBusy, 1280, "light", `document.querySelectorAll('.window .call').length > 10`},
		{"calls-dark", "#/calls", playBusy, 1280, "dark", `document.querySelectorAll('.window .call').length > 10`},
		{"calls-middle", "#/calls", playBusy, 820, "light", `document.querySelectorAll('.window .call').length > 5`},
		{"calls-narrow", "#/calls", playBusy, 360, "light", `document.querySelectorAll('.window .call').length > 5`},
		{"calls-4k", "#/calls", playBusy, 3840, "light", `document.querySelectorAll('.window .call').length > 10`},
		{"call-light", "#/calls/call-2", playKept, 1280, "light", `document.querySelector('#call-answer')`},
		{"call-dark", "#/calls/call-2", playKept, 1280, "dark", `document.querySelector('#call-answer')`},
		{"call-narrow", "#/calls/call-2", playKept, 360, "dark", `document.querySelector('#call-answer')`},
		{"try-light", "#/try", playBusy, 1280, "light", `document.querySelector('#try-model').value`},
		{"try-narrow", "#/try", playBusy, 360, "dark", `document.querySelector('#try-model').value`},
		{"studio-light", "#/studio", playUpdate, 1280, "light", `document.querySelector('#studio-sha').innerText.length > 60`},
		{"studio-narrow", "#/studio", playUpdate, 360, "dark", `document.querySelector('#studio-sha').innerText.length > 60`},
		{"doctor-light", "#/doctor", playBusy, 1280, "light", `document.querySelectorAll('#doctor-checks li').length > 3`},
		{"doctor-narrow", "#/doctor", playBusy, 360, "dark", `document.querySelectorAll('#doctor-checks li').length > 3`},
		{"settings-light", "#/settings", playBusy, 1280, "light", `document.querySelectorAll('#settings tbody tr').length > 3`},
		{"settings-dark", "#/settings", playBusy, 1280, "dark", `document.querySelectorAll('#settings tbody tr').length > 3`},
		{"settings-narrow", "#/settings", playBusy, 360, "light", `document.querySelectorAll('#settings tbody tr').length > 3`},
	} {
		t.Run(view.name, func(t *testing.T) {
			t.Parallel()
			c := newCompanion(t)
			view.play(c)
			p := b.open(t, c.url("/console/"+view.path), chromedp.EmulateViewport(view.width, 900), media("prefers-color-scheme", view.scheme))
			p.waitFor(`document.querySelector('#phase .word').innerText === 'Running' && ` + view.ready)
			p.waitFor(`document.getAnimations().length === 0`)
			p.photograph(view.name)
			if over := evaluate[int](p, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
				t.Errorf("the page is %d px wider than its window", over)
			}
			p.clean(c)
		})
	}
}

// playBusy is an hour with three models: mostly whole answers, and some of every other end.
func playBusy(c *companion) {
	c.locked(func() {
		dice := rand.New(rand.NewPCG(1, 2))
		models := []string{"llama3.2", "llama3.2", "llama3.2", "qwen2.5-coder:32b-instruct-q4_K_M", "gemma3:4b"}
		ends := []protocol.Verdict{
			protocol.VerdictTruncated, protocol.VerdictUpstreamError, protocol.VerdictCancelled, protocol.VerdictUnreachable,
			protocol.VerdictNoDone, protocol.VerdictLoading, protocol.VerdictStreamError,
		}
		for i := range 240 {
			ago := time.Duration(14*60-i*14*60/240) * time.Second
			call := protocol.Call{ID: fmt.Sprintf("call-%d", i+1), Timestamp: time.Now().Add(-ago).UTC(), Model: models[dice.IntN(len(models))],
				Verdict: protocol.VerdictComplete, Status: 200, UsageKnown: true, FinishReason: "stop", Streamed: true, OverheadUs: 180, Upstream: "Ollama"}
			call.PromptTokens, call.CompletionTokens = int64(20+dice.IntN(400)), int64(20+dice.IntN(300))
			call.TokensPerSecond = map[bool]float64{true: 38, false: 9}[call.Model != models[3]] * (0.8 + 0.4*dice.Float64())
			call.FirstTokenMs = new(int64(120 + dice.IntN(500)))
			call.LatencyMs = *call.FirstTokenMs + int64(1000*float64(call.CompletionTokens)/call.TokensPerSecond)
			if dice.IntN(9) == 0 {
				call.Verdict = ends[dice.IntN(len(ends))]
			}
			switch call.Verdict {
			case protocol.VerdictUnreachable:
				call.Status, call.LatencyMs, call.FirstTokenMs, call.UsageKnown, call.FinishReason, call.TokensPerSecond = 0, 3, nil, false, "", 0
				call.Error = "dial tcp 127.0.0.1:11434: connect: connection refused"
			case protocol.VerdictUpstreamError:
				call.Status, call.LatencyMs, call.FirstTokenMs, call.UsageKnown, call.FinishReason, call.TokensPerSecond = 400, 31, nil, false, "", 0
				call.Error = "json: cannot unmarshal string into Go struct field ChatRequest.messages of type []api.Message"
			}
			c.calls = append(c.calls, call)
		}
		c.rooms.offered = []protocol.Model{
			{ID: "llama3.2", State: protocol.ModelLoaded, SizeBytes: 3_400_000_000, GPUBytes: new(int64(3_400_000_000))},
			{ID: "qwen2.5-coder:32b-instruct-q4_K_M", State: protocol.ModelLoaded, SizeBytes: 22_100_000_000, GPUBytes: new(int64(13_700_000_000))},
			{ID: "gemma3:4b", State: protocol.ModelUnloaded, SizeBytes: 3_300_000_000},
			{ID: "nomic-embed-text:latest", State: protocol.ModelUnloaded, SizeBytes: 274_000_000},
		}
		c.rooms.found = []protocol.FoundServer{
			{Kind: "ollama", Name: "Ollama", BaseURL: "http://localhost:11434/v1", Version: "0.12.3", Reach: protocol.ReachOK},
			{Kind: "llama.cpp", Name: "llama.cpp", BaseURL: "http://localhost:8080/v1", Reach: protocol.ReachLoading},
		}
		c.rooms.named = []namedUpstream{{Name: "work", BaseURL: "https://models.example.com/v1", HasKey: true, Model: "gpt-4o-mini"}}
		c.rooms.why = "used last"
		c.rooms.checks = []protocol.Check{
			{ID: "port", Name: "The port", State: protocol.CheckOK, Detail: "127.0.0.1:4319 is ours."},
			{ID: "upstream", Name: "The upstream", State: protocol.CheckFailed, Detail: "Nothing listens on localhost:11434; Ollama usually does.", Fix: "ollama serve"},
			{ID: "studio", Name: "Studio, offline", State: protocol.CheckWarning, Detail: "The copy is three months old.", Fix: "chatwright-tray studio update"},
			{ID: "autostart", Name: "Start at login", State: protocol.CheckSkipped, Detail: "It is off."},
			{ID: "clock", Name: "The clock", State: protocol.CheckUnknown, Detail: "No way to tell."},
		}
		c.rooms.settings = []setting{
			{"addr", "addr", "CHATWRIGHT_SERVER_ADDR", "127.0.0.1:4319", "default", "Where the companion listens."},
			{"upstream", "upstream", "CHATWRIGHT_SERVER_UPSTREAM", "http://localhost:11434/v1", "tray.toml", "The model server that calls go to."},
			{"upstream-timeout", "upstream-timeout", "CHATWRIGHT_SERVER_UPSTREAM_TIMEOUT", "0s", "environment", "How long a call that does not stream may take; 0 is for ever."},
			{"capture", "capture", "CHATWRIGHT_SERVER_CAPTURE", "off", "default", "Whether requests and answers are kept: off, memory or disk."},
			{"ui-dir", "ui-dir", "CHATWRIGHT_SERVER_UI_DIR", "", "default", "A folder that is served at / instead of the offline copy of Studio."},
		}
	})
	c.change(func(s *protocol.Status) {
		s.StartedAt = time.Now().Add(-3 * time.Hour)
		s.History = &protocol.History{Today: protocol.Totals{Calls: 1_242, Errors: 17, PromptTokens: 118_402, CompletionTokens: 48_212}, Week: protocol.Totals{Calls: 8_000}}
		s.Metrics = protocol.Metrics{
			Calls: 480, Errors: 9, InFlight: 1, PromptTokens: 118_402, CompletionTokens: 48_212,
			LatencyP50Ms: new(int64(1_810)), LatencyP95Ms: new(int64(25_400)), FirstTokenP50Ms: new(int64(301)), TokensPerSecond: 38.4,
			Models: []protocol.ModelMetrics{
				{Model: "llama3.2", Calls: 301, LatencyP50Ms: new(int64(4_100)), TokensPerSecond: 38.1},
				{Model: "qwen2.5-coder:32b-instruct-q4_K_M", Calls: 99, LatencyP50Ms: new(int64(18_100)), TokensPerSecond: 9.2},
				{Model: "gemma3:4b", Calls: 80, LatencyP50Ms: new(int64(3_900)), TokensPerSecond: 38.9},
			},
		}
	})
}

func playKept(c *companion) {
	playBusy(c)
	c.locked(func() {
		c.rooms.capture = captureState{Mode: "memory", Kept: 12, Bytes: 182_400, LimitBytes: 64_000_000}
		c.rooms.contents = map[string]captured{"call-2": {
			Request: `{"model":"llama3.2","messages":[{"role":"system","content":"You book tables."},{"role":"user","content":"It's for two, at eight."}],"stream":true}`,
			Answer:  "A table for two at eight. Under which name?",
		}}
	})
}

func playUpdate(c *companion) {
	playBusy(c)
	c.locked(func() {
		c.rooms.studioV = protocol.StudioVersion{Version: "0.4.1", SHA256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", InstalledAt: time.Now().Add(-50 * time.Hour), Source: protocol.StudioRelease}
	})
	c.change(func(s *protocol.Status) {
		s.UI = protocol.UI{Source: protocol.UICopy, Version: "0.4.1"}
		s.Studio = &protocol.StudioStatus{Stage: protocol.StudioDownloading, Version: "0.4.1", Previous: "0.4.0", Available: "0.5.0", Bytes: 6_300_000, Total: 18_200_000, Rate: 2_400_000, CheckedAt: time.Now()}
	})
}
