package assets_test

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/browsertest"
)

// The figures that the page promises: a first paint within 200 ms, at most 5 % of a core with 20 calls a second. The
// bounds here are ten times as wide, for a machine that does ten other things; what was measured is logged.
func (b chromium) testFigures(t *testing.T) {
	c := newCompanion(t)
	playBusy(c)
	p := b.open(t, c.url("/console/"), browsertest.Command(performance.Enable, performance.EnableParams{}))
	p.waitForText("#phase", "Running")
	p.waitFor(`document.querySelector('#models tbody tr') && performance.getEntriesByName('first-contentful-paint').length === 1`)
	paint := evaluate[float64](p, `performance.getEntriesByName('first-contentful-paint')[0].startTime`)
	t.Logf("first paint after %.0f ms", paint)
	if paint > 2000 {
		t.Errorf("first paint after %.0f ms, want 200", paint)
	}

	// Twenty calls a second come as the companion brings them: in ten events a second.
	const stretch = 5 * time.Second
	events := time.NewTicker(time.Second / 10)
	defer events.Stop()
	before, begun := p.busy(), time.Now()
	for time.Since(begun) < stretch {
		<-events.C
		call := protocol.Call{Model: "llama3.2", Verdict: protocol.VerdictComplete, Status: 200, LatencyMs: 900, FirstTokenMs: new(int64(200)), UsageKnown: true,
			CompletionTokens: 30, TokensPerSecond: 40, FinishReason: "stop", Timestamp: time.Now().Add(-900 * time.Millisecond)}
		c.end(call, call)
	}
	share := 100 * (p.busy() - before) / time.Since(begun).Seconds()
	t.Logf("20 calls a second keep the page busy for %.1f %% of the time", share)
	if share > 50 {
		t.Errorf("20 calls a second keep the page busy for %.1f %% of the time, want 5 %%", share)
	}
	p.clean(c)
}

// busy is how many seconds the page has worked so far: scripts, styles, layout and painting.
func (p *tab) busy() float64 {
	p.t.Helper()
	var seconds float64
	p.run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		got, err := cdp.Call(ctx, target, performance.GetMetrics, cdp.Empty{})
		if err != nil {
			return err
		}
		for _, metric := range got.Metrics {
			if metric.Name == "TaskDuration" {
				seconds = metric.Value
			}
		}
		return nil
	}))
	return seconds
}
