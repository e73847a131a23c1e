package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/protocol"
)

// Upstreams, and programs that hold our port, choose what their names are: none of it may steer a terminal.
func TestStatusObeysNoForeignText(t *testing.T) {
	const evil = "a\x1b[2Jb\nc\u202ed\u009be"
	got := statusTable(protocol.Status{
		Phase: protocol.PhaseBlocked, Detail: evil, Upstream: protocol.Upstream{Name: evil},
		Notices: []protocol.Notice{{Text: evil, Hint: evil}},
	})
	if n := strings.Count(got, "a·[2Jb·c·d·e"); n != 4 {
		t.Errorf("got %q, want each foreign text on its line and harmless", got)
	}
}

// A slow model is not one that writes nothing.
func TestStatusKeepsTheDecimalOfSlowModels(t *testing.T) {
	got := tokensText(protocol.Metrics{PromptTokens: 12, CompletionTokens: 7, TokensPerSecond: 0.4})
	if want := "12 in · 7 out · 0.4 tok/s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStatusShowsEachModel(t *testing.T) {
	ms := func(n int64) *int64 { return &n }
	s := protocol.Status{
		Phase: protocol.PhaseRunning, Addr: "127.0.0.1:4319", PID: 812, Version: "0.1.0", StartedAt: time.Date(2026, 11, 30, 14, 2, 0, 0, time.Local),
		Upstream: protocol.Upstream{Name: "localhost:11434", Reach: protocol.ReachOK},
		Metrics: protocol.Metrics{
			Calls: 42, Errors: 2, InFlight: 1, PromptTokens: 12_345, CompletionTokens: 412, TokensPerSecond: 38.25,
			LatencyP50Ms: ms(1234), LatencyP95Ms: ms(3400), LatencyP99Ms: ms(125_000), FirstTokenP50Ms: ms(300),
			Models: []protocol.ModelMetrics{
				{Model: "llama3.2", Calls: 1_234, Errors: 2, TokensPerSecond: 38.25,
					LatencyP50Ms: ms(1234), LatencyP95Ms: ms(3400), LatencyP99Ms: ms(125_000), FirstTokenP50Ms: ms(300)},
				{Model: "qwen\x1b[2J", Calls: 1},
				{Calls: 1, Errors: 1},
			},
		},
	}
	want := `Phase     running
Address   http://127.0.0.1:4319
Upstream  localhost:11434 · reachable
Studio    no copy here; the console is at / (--ui keeps a copy)
Calls     42 · 1 in flight · 2 errors
Latency   p50 1.2 s · p95 3.4 s · p99 2 min 5 s · first token 0.3 s
Tokens    12.3k in · 412 out · 38 tok/s
Models     CALLS   ERR       P50       P95       P99     FIRST  TOK/S  MODEL
            1.2k     2     1.2 s     3.4 s 2 min 5 s     0.3 s     38  llama3.2
               1     0         –         –         –         –      –  qwen·[2J
               1     1         –         –         –         –      –  unknown model
Process   pid 812 · version 0.1.0 · since 30 Nov 14:02
`
	if got := statusTable(s); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for i := range 10 {
		s.Metrics.Models = append(s.Metrics.Models, protocol.ModelMetrics{Model: fmt.Sprint("m", i)})
	}
	if got, want := statusTable(s), "          and 5 more: see --json\n"; !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant a line %q", got, want)
	}
}

// Nobody forgets that what is said in calls is kept.
func TestStatusSaysThatMessagesAreKept(t *testing.T) {
	for _, c := range []struct {
		phase protocol.Phase
		mode  protocol.CaptureMode
		want  string
	}{
		{protocol.PhaseRunning, protocol.CaptureMemory, "Messages  kept in memory, for the console to show\n"},
		{protocol.PhaseRunning, protocol.CaptureDisk, "Messages  kept on disk, for the console to show\n"},
		{protocol.PhaseRunning, protocol.CaptureOff, ""}, {protocol.PhaseRunning, "", ""}, {protocol.PhaseExternal, protocol.CaptureDisk, ""},
	} {
		got := statusTable(protocol.Status{Phase: c.phase, Capture: c.mode})
		if strings.Contains(got, "Messages") != (c.want != "") || !strings.Contains(got, c.want) {
			t.Errorf("%s, %q: got\n%s\nwant a line %q", c.phase, c.mode, got, c.want)
		}
	}
}
