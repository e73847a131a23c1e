package assets_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"go.uber.org/goleak"

	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/servertest/browsertest"
)

// patience bounds each wait for the page; only a failing test ever waits that long.
const patience = 20 * time.Second

// One Chromium serves all tests of the page; each has a tab and a companion of its own.
func TestConsoleInABrowser(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	browser := chromium{browsertest.Start(t)}
	t.Run("keyboard", func(t *testing.T) { browser.testKeyboard(t) }) // alone: it needs the focus
	t.Run("figures", func(t *testing.T) { browser.testFigures(t) })   // alone: they are measured
	t.Run("page", func(t *testing.T) { browser.testPage(t) })
	t.Run("without calls", func(t *testing.T) { browser.testWithoutCalls(t) })
	t.Run("data state", func(t *testing.T) { browser.testData(t) })
	t.Run("lost", func(t *testing.T) { browser.testLosingTheCompanion(t) })
	t.Run("sessions", func(t *testing.T) { browser.testSessions(t) })
	t.Run("session looks", func(t *testing.T) { browser.testSessionLooks(t) })
	t.Run("rooms", func(t *testing.T) { browser.testRooms(t) })
	t.Run("access", func(t *testing.T) { browser.testAccess(t) })
	t.Run("looks", func(t *testing.T) { browser.testLooks(t) })
	t.Run("room looks", func(t *testing.T) { browser.testRoomLooks(t) })
}

// chromium is a running browser.
type chromium struct{ ctx context.Context }

// step is something done in a tab.
type step = chromedp.Action[chromedp.Void]

// tab is one page under watch: what it requested, and everything that went wrong in it.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	requests []string
	faults   []string
}

// open loads url in a tab of its own, after the given steps.
func (b chromium) open(t *testing.T, url string, before ...step) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	t.Cleanup(cancel)
	p := &tab{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, p.watch); err != nil {
		t.Fatal(err)
	}
	before = append([]step{
		browsertest.Command(network.Enable, network.EnableParams{}),
		browsertest.Command(log.Enable, cdp.Empty{}),
		browsertest.Command(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: browsertest.WatchViolations}),
		chromedp.EmulateViewport(1280, 800),
	}, before...)
	p.run(append(before, chromedp.Navigate(url))...)
	return p
}

func (p *tab) watch(ev any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, ev.Request.URL)
	case *runtime.EventExceptionThrown:
		p.faults = append(p.faults, fmt.Sprintf("exception: %s (%s:%d)", ev.ExceptionDetails.Text, ev.ExceptionDetails.URL, ev.ExceptionDetails.LineNumber))
	case *runtime.EventConsoleAPICalled:
		p.faults = append(p.faults, fmt.Sprintf("console.%s", ev.Type))
	case *log.EventEntryAdded:
		p.faults = append(p.faults, fmt.Sprintf("%s %s: %s", ev.Entry.Source, ev.Entry.Level, ev.Entry.Text))
	}
}

// clean fails the test on anything that the page complained of, refused or asked of another host. Lines that hold one
// of the excused texts are let through.
func (p *tab) clean(c *companion, excused ...string) {
	p.t.Helper()
	for _, violation := range evaluate[[]string](p, `violations`) {
		p.t.Errorf("refused by the policy: %s", violation)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
faults:
	for _, fault := range p.faults {
		for _, text := range excused {
			if strings.Contains(fault, text) {
				continue faults
			}
		}
		p.t.Errorf("the page complained: %s", fault)
	}
	for _, url := range p.requests {
		if !strings.HasPrefix(url, c.url("/")) {
			p.t.Errorf("the page asked another host: %s", url)
		}
	}
}

func (p *tab) run(steps ...step) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

func evaluate[T any](p *tab, script string) T {
	p.t.Helper()
	got, err := tryEvaluate[T](p, script)
	if err != nil {
		p.t.Fatalf("%s: %v", script, err)
	}
	return got
}

// tryEvaluate waits for the promise where the script makes one.
func tryEvaluate[T any](p *tab, script string) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
}

// waitFor returns when condition, an expression, is true in the page. A room that is still loading has no elements: to
// look at one that is not there is as good as false.
func (p *tab) waitFor(condition string) {
	p.t.Helper()
	script := `new Promise((done) => {
		const met = () => { try { return ` + condition + ` } catch (error) { if (error instanceof TypeError) return false; throw error } }
		const look = () => met() ? done(true) : setTimeout(look, 5)
		look()
	})`
	if _, err := tryEvaluate[bool](p, script); err != nil {
		p.t.Fatalf("waiting for %s: %v; the page says:\n%s", condition, err, p.text("body"))
	}
}

// goTo enters another room by its address, as a link does.
func (p *tab) goTo(room string) {
	p.t.Helper()
	evaluate[bool](p, fmt.Sprintf(`Boolean(location.hash = '#/%s')`, room))
	name, _, _ := strings.Cut(room, "/")
	p.waitFor(fmt.Sprintf(`document.querySelector('#page-%s').hidden === false`, name))
}

// waitForText returns when the element that selector finds shows want.
func (p *tab) waitForText(selector, want string) {
	p.t.Helper()
	p.waitFor(fmt.Sprintf(`document.querySelector(%s)?.innerText === %s`, strconv.Quote(selector), strconv.Quote(want)))
}

// text is what the element that selector finds shows.
func (p *tab) text(selector string) string {
	p.t.Helper()
	return evaluate[string](p, fmt.Sprintf(`document.querySelector(%s)?.innerText ?? 'nothing there'`, strconv.Quote(selector)))
}

func (p *tab) wantText(selector, want string) {
	p.t.Helper()
	if got := p.text(selector); got != want {
		p.t.Errorf("%s: got %q, want %q", selector, got, want)
	}
}

// photograph writes a picture of the whole page, for a person to look at.
func (p *tab) photograph(name string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(servertest.Pictures(p.t), name+".png"), picture, 0o600); err != nil {
		p.t.Error(err)
	}
}

func media(name, value string) step {
	return browsertest.Command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: name, Value: value}},
	})
}
