package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/servertest/browsertest"
)

// watchedTab is one page under watch: what it asked of whom, and everything that went wrong in it.
type watchedTab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	requests []string
	names    map[network.RequestID]string // URL of each request
	statuses map[string][]int64           // by URL, as they came over the wire
	faults   []string
}

// openTab opens a tab of its own that shows nothing yet.
func openTab(browser context.Context, t *testing.T) *watchedTab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	p := &watchedTab{t: t, ctx: ctx, names: map[network.RequestID]string{}, statuses: map[string][]int64{}}
	if err := chromedp.Listen(ctx, p.watch); err != nil {
		t.Fatal(err)
	}
	p.run(
		browsertest.Command(network.Enable, network.EnableParams{}),
		browsertest.Command(log.Enable, cdp.Empty{}),
		browsertest.Command(cdpage.AddScriptToEvaluateOnNewDocument, cdpage.AddScriptToEvaluateOnNewDocumentParams{Source: browsertest.WatchViolations}),
		chromedp.EmulateViewport(900, 500),
	)
	return p
}

func (p *watchedTab) watch(ev any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, ev.Request.URL)
		p.names[ev.RequestID] = ev.Request.URL
	case *network.EventResponseReceivedExtraInfo:
		url := p.names[ev.RequestID]
		p.statuses[url] = append(p.statuses[url], ev.StatusCode)
	case *runtime.EventExceptionThrown:
		p.faults = append(p.faults, fmt.Sprintf("exception: %s (%s:%d)", ev.ExceptionDetails.Text, ev.ExceptionDetails.URL, ev.ExceptionDetails.LineNumber))
	case *runtime.EventConsoleAPICalled:
		p.faults = append(p.faults, fmt.Sprintf("console.%s", ev.Type))
	case *log.EventEntryAdded:
		p.faults = append(p.faults, fmt.Sprintf("%s %s: %s", ev.Entry.Source, ev.Entry.Level, ev.Entry.Text))
	}
}

// forget begins the record anew.
func (p *watchedTab) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests, p.statuses = nil, map[string][]int64{}
}

// status is the last status that came over the wire for a URL; 0: nothing was asked.
func (p *watchedTab) status(url string) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.statuses[url]
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1]
}

// statusesOf are the statuses that came for URLs that end so.
func (p *watchedTab) statusesOf(suffix string) map[string][]int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := map[string][]int64{}
	for url, statuses := range p.statuses {
		if strings.HasSuffix(url, suffix) {
			found[url] = statuses
		}
	}
	return found
}

// wantClean fails the test on anything that the page complained of, was refused, or asked of anybody but the origins.
func (p *watchedTab) wantClean(origins ...string) {
	p.t.Helper()
	for _, violation := range inTab[[]string](p, `violations`) {
		p.t.Errorf("refused by the policy: %s", violation)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, fault := range p.faults {
		p.t.Errorf("the page complained: %s", fault)
	}
asked:
	for _, url := range p.requests {
		for _, origin := range origins {
			if strings.HasPrefix(url, origin+"/") {
				continue asked
			}
		}
		p.t.Errorf("the page asked another host: %s", url)
	}
}

func (p *watchedTab) run(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// inTab waits for the promise where the script makes one.
func inTab[T any](p *watchedTab, script string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	got, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", script, err)
	}
	return got
}

// waitFor returns when condition, an expression, is true in the page.
func (p *watchedTab) waitFor(condition string) {
	p.t.Helper()
	script := `new Promise((done) => { const look = () => (` + condition + `) ? done(true) : setTimeout(look, 5); look() })`
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](script, chromedp.EvalAwaitPromise)); err != nil {
		p.t.Fatalf("waiting for %s: %v; the page says:\n%s\n%q", condition, err, p.text("body"), p.faults)
	}
}

// text is what the element that selector finds shows.
func (p *watchedTab) text(selector string) string {
	p.t.Helper()
	return inTab[string](p, fmt.Sprintf(`document.querySelector(%s)?.innerText ?? 'nothing there'`, strconv.Quote(selector)))
}

// photograph writes a picture of the page, for a person to look at.
func (p *watchedTab) photograph(name string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(servertest.Pictures(p.t), name+".png"), picture, 0o600)
	}
	if err != nil {
		p.t.Error(err)
	}
}
