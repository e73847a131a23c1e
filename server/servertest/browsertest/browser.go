// Package browsertest starts a Chromium for tests of pages.
package browsertest

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"

	"chatwright.dev/tray/server/servertest"
)

// Start starts a Chromium of its own, with a new profile and nothing that calls home, and ends it with the test. The
// context is the browser's: chromedp.NewContext makes a tab of it.
func Start(t *testing.T) context.Context {
	t.Helper()
	program := servertest.Need(t, "chromium", "chromium")
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir())}
	for _, flag := range []string{
		"headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
		"disable-component-update", "disable-sync", "hide-scrollbars",
	} {
		options = append(options, chromedp.Flag(flag, true))
	}
	allocator, end := chromedp.NewExecAllocator(t.Context(), options...)
	browser, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		_ = chromedp.Cancel(browser) // waits until Chromium has ended, so that its profile can be removed
		cancel()
		end()
	})
	if err := chromedp.Do(browser); err != nil {
		t.Fatal(err)
	}
	return browser
}

// Command is a step of the protocol for which chromedp has no name of its own.
func Command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, c, params)
		return err
	})
}

// WatchViolations is a script for each page to run before its own code: window.violations is then what its policy
// refused.
const WatchViolations = `window.violations = [];
addEventListener('securitypolicyviolation', (e) => violations.push(e.violatedDirective + ' ' + e.blockedURI));`
