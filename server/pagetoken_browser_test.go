package server_test

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/servertest/browsertest"
)

// A thief is what a Studio build could be: a page of our own origin that wants the token of the console. What it got is
// in window.got, by the way that it took.
const (
	thiefPage = `<!doctype html><title>thief</title><script src="/thief.js"></script>`
	thief     = `
window.got = {};
const attempt = async (way, f) => { try { got[way] = String(await f()) } catch (e) { got[way] = 'refused: ' + e } };
const text = async (init) => (await fetch('/console/', init)).text();
const framed = (tag, member) => new Promise((done) => {
	const frame = document.createElement(tag);
	const read = () => { try { done(frame.contentDocument?.documentElement.outerHTML ?? 'nothing to read') } catch (e) { done('refused: ' + e) } };
	frame.onload = read; frame.onerror = read;
	frame[member] = '/console/';
	document.body.append(frame);
});
// inWindow reads a window until it is out of reach, or has the place of the token in it.
const inWindow = (w) => new Promise((done) => {
	const look = () => {
		let html;
		try { html = !w || w.closed ? 'severed' : w.document.documentElement?.outerHTML ?? '' } catch (e) { html = 'refused: ' + e }
		if (html === 'severed' || html.startsWith('refused') || html.includes('chatwright-token')) done(html);
		else setTimeout(look, 5);
	};
	look();
});
window.fetches = async () => {
	await attempt('fetch', () => text());
	for (const mode of ['same-origin', 'cors', 'no-cors', 'navigate']) await attempt('fetch ' + mode, () => text({ mode }));
	for (const cache of ['force-cache', 'reload', 'no-store']) await attempt('fetch ' + cache, () => text({ cache }));
	await attempt('fetch with headers', () => text({ headers: { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' } }));
	await attempt('fetch as a frame does', () => fetch(new Request('/console/', { destination: 'document' })).then((a) => a.text()));
	await attempt('XMLHttpRequest', () => new Promise((done) => {
		const asked = new XMLHttpRequest();
		asked.responseType = 'document';
		asked.onloadend = () => done(asked.response?.documentElement.outerHTML);
		asked.open('GET', '/console/');
		asked.send();
	}));
	for (const as of ['document', 'fetch']) for (const rel of ['prefetch', 'preload']) {
		await attempt(rel + ' as ' + as, async () => {
			const link = Object.assign(document.createElement('link'), { rel, as, href: '/console/' });
			const over = new Promise((done) => { link.onload = done; link.onerror = done; setTimeout(done, 500) });
			document.head.append(link);
			await over;
			return text({ cache: 'force-cache' });
		});
	}
	await attempt('iframe', () => framed('iframe', 'src'));
	return got;
};
window.opens = async () => {
	await attempt('window', () => inWindow(open('/console/')));
	return got;
};
// The helper is a window that goes on looking at the one that opened it.
window.helps = () => Boolean(open('/helper.html'));
window.looks = async () => localStorage.setItem('stolen', await inWindow(opener));
window.works = async (scripts) => {
	for (const script of scripts) await attempt('service worker ' + script, async () => {
		const made = await navigator.serviceWorker.register(script);
		while (!made.active) await new Promise((done) => setTimeout(done, 5));
		return 'registered';
	});
	return got;
};
`
	thiefHelper = `<!doctype html><title>helper</title><script src="/thief.js"></script><script src="/helper.js"></script>`
	// The worker makes a page that is isolated as the console is: such pages of one origin share their windows.
	thiefWorker = `
self.addEventListener('fetch', (e) => {
	if (new URL(e.request.url).pathname === '/inner/isolated') e.respondWith(new Response('<script src="/thief.js"></script>',
		{ headers: { 'Content-Type': 'text/html', 'Cross-Origin-Opener-Policy': 'same-origin' } }));
});`
)

// thiefTab is a tab of a browser at a companion that serves the thief as Studio.
type thiefTab struct {
	t   *testing.T
	ctx context.Context
	url string
}

func (p thiefTab) visit(path string) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, chromedp.Navigate(p.url+path)); err != nil {
		p.t.Fatalf("%s: %v", path, err)
	}
}

// run runs a script as at a click, without which no window opens.
func run[T any](p thiefTab, script string) T {
	p.t.Helper()
	click := func(params *runtime.EvaluateParams) { params.UserGesture = new(true) }
	got, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise, click))
	if err != nil {
		p.t.Fatalf("%s: %v", script, err)
	}
	return got
}

// Studio's code comes from elsewhere, and is served from the origin of the console. Chromium is the judge of what it can
// read there.
func TestStudioCannotReadTheTokenOfTheConsole(t *testing.T) {
	browser := browsertest.Start(t)
	r, _ := withConsole(t, func(c *server.Config) {
		c.Console.Token = "the-token-of-the-console"
		c.UIDir = uiFolder(t, map[string]string{
			"index.html": thiefPage, "thief.js": thief, "helper.html": thiefHelper, "helper.js": "looks()",
			"worker.js": thiefWorker, "inner/worker.js": thiefWorker,
		})
		c.UpstreamBaseURL = servertest.NewProvider(t, map[string]servertest.Scenario{"page": {
			Body:   thiefPage,
			Header: http.Header{"Content-Type": {"text/html"}, "Cross-Origin-Opener-Policy": {"same-origin"}, "Service-Worker-Allowed": {"/"}},
		}}).BaseURL("page")
	})
	ctx, end := context.WithTimeout(browser, time.Minute)
	defer end()
	p := thiefTab{t, ctx, r.URL}
	const inPage = `document.querySelector('[name=chatwright-token]').content`

	p.visit("/console/")
	if got := run[string](p, inPage); got != "the-token-of-the-console" {
		t.Fatalf("the tab of the console itself: got %q", got)
	}
	p.visit("/")
	got := run[map[string]string](p, `fetches()`)
	if len(got) < 14 || !strings.Contains(got["fetch"], `name="chatwright-token" content="">`) {
		t.Errorf("want the page without its token by fetch, and an outcome of each way: got %q", got)
	}
	p.visit("/")
	maps.Copy(got, run[map[string]string](p, `opens()`))
	p.visit("/")
	if !run[bool](p, `helps()`) {
		t.Fatal("no second window opens")
	}
	p.visit("/console/")
	if got := run[string](p, inPage); got != "the-token-of-the-console" {
		t.Fatalf("the tab that leaves Studio for the console: got %q", got)
	}
	got["opener"] = run[string](p, `new Promise((done) => {
		const look = () => localStorage.getItem('stolen') === null ? setTimeout(look, 5) : done(localStorage.getItem('stolen'));
		look();
	})`)
	for _, way := range []string{"window", "opener"} {
		if got[way] != "severed" && !strings.HasPrefix(got[way], "refused: SecurityError") { // the second while it is being cut off
			t.Errorf("through a %s: got %q", way, got[way])
		}
	}
	p.visit("/")
	maps.Copy(got, run[map[string]string](p, `works(['/worker.js', '/inner/worker.js', '/v1/models'])`))
	if n := run[int](p, `navigator.serviceWorker.getRegistrations().then((all) => all.length)`); n != 0 {
		t.Errorf("%d service workers were registered: %q", n, got)
		p.visit("/inner/isolated") // what for, see thiefWorker
		maps.Copy(got, run[map[string]string](p, `opens()`))
	}
	for way, text := range got {
		if strings.Contains(text, "the-token-of-the-console") {
			t.Errorf("%s: Studio got the token", way)
		}
	}
	p.visit("/v1/models")
	if got := run[string](p, `self.origin + ' ' + (window.got ? 'ran' : 'did nothing')`); got != "null did nothing" {
		t.Errorf("a page that an upstream answers with: got %s", got)
	}
}

// For browsers that do not look at Sec-Fetch-Dest as Chromium does, each header by itself.
func TestHeadersThatKeepTheConsoleApart(t *testing.T) {
	r, _ := withUpstream(t, "page", server.Config{Console: &server.Console{}}, map[string]servertest.Scenario{"page": {
		Body: "<h1>models</h1>",
		Header: http.Header{
			"Content-Type": {"text/html"}, "Cross-Origin-Opener-Policy": {"same-origin"}, "Cross-Origin-Embedder-Policy": {"require-corp"},
			"Service-Worker-Allowed": {"/"}, "Clear-Site-Data": {`"*"`}, "Origin-Agent-Cluster": {"?1"}, "X-Kept": {"yes"},
		},
	}})
	for _, path := range []string{"/", "/console/", "/console/console.js"} {
		got := ask(t, r, "GET", path, "")
		got.wantsHeader(t, "X-Frame-Options", "DENY")
		got.wantsHeader(t, "Cross-Origin-Opener-Policy", "same-origin")
	}
	for _, header := range [][]string{{"Service-Worker", "script"}, {"Sec-Fetch-Dest", "serviceworker", "Sec-Fetch-Site", "same-origin"}} {
		for _, path := range []string{"/", "/worker.js", "/console/console.js", "/v1/models", "/metrics"} {
			if got := ask(t, r, "GET", path, "", header...); got.Status != 403 || !strings.Contains(got.Body, "no service worker") {
				t.Errorf("%s %q: got %d %s, want 403", path, header, got.Status, got.Body)
			}
		}
	}
	for dest, want := range map[string][]string{"document": {"sandbox"}, "iframe": {"sandbox"}, "object": {"sandbox"}, "empty": nil} {
		got := ask(t, r, "GET", "/v1/models", "", "Sec-Fetch-Dest", dest, "Sec-Fetch-Site", "same-origin")
		got.wantsHeader(t, "Content-Security-Policy", want...)
		for _, name := range []string{"Cross-Origin-Opener-Policy", "Cross-Origin-Embedder-Policy", "Service-Worker-Allowed", "Clear-Site-Data", "Origin-Agent-Cluster"} {
			got.wantsHeader(t, name)
		}
		got.wantsHeader(t, "X-Kept", "yes")
	}
}
