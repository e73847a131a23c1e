package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"chatwright.dev/tray/server/servertest"
)

// foreignHost is a site that the tests' browser finds on this machine, and that no rule of ours allows.
const foreignHost = "evil.test"

// newTab starts a Chromium with a page of its own; it ends with the test.
func newTab(t *testing.T) context.Context {
	t.Helper()
	program := servertest.Need(t, "chromium", "chromium")
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("host-resolver-rules", "MAP "+foreignHost+" 127.0.0.1"),
		// The browser's own question to the user would keep a foreign page away; here our own guard must do it alone.
		chromedp.Flag("disable-features", "LocalNetworkAccessChecks,LocalNetworkAccessChecksWarn"),
	}
	for _, flag := range []string{
		"headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
		"disable-component-update", "disable-sync",
	} {
		options = append(options, chromedp.Flag(flag, true))
	}
	allocator, end := chromedp.NewExecAllocator(t.Context(), options...)
	tab, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		_ = chromedp.Cancel(tab) // waits for Chromium, so that its profile can be removed
		cancel()
		end()
	})
	if err := chromedp.Do(tab); err != nil {
		t.Fatal(err)
	}
	return tab
}

// inPage opens url and returns what a script, which may await, says there.
func inPage(tab context.Context, t *testing.T, url, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		t.Fatalf("opening %s: %v", url, err)
	}
	return evaluate(tab, t, script)
}

// evaluate returns what a script, which may await, says in the page that is open.
func evaluate(tab context.Context, t *testing.T, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab, patience)
	defer cancel()
	said, err := chromedp.Run(ctx, chromedp.Evaluate[string](script, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	return said
}

// A page of another site reaches nothing: no model, no metric, no byte of an answer, whatever kind of request it makes.
func TestForeignPageGetsNothing(t *testing.T) {
	t.Parallel()
	c := newUser(t).launch("--headless")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>foreign</title>"))
	}))
	t.Cleanup(site.Close)
	_, sitePort, err := net.SplitHostPort(strings.TrimPrefix(site.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	_, ourPort, err := net.SplitHostPort(c.status.Addr)
	if err != nil {
		t.Fatal(err)
	}
	tab := newTab(t)
	said := inPage(tab, t, "http://"+foreignHost+":"+sitePort+"/", strings.NewReplacer(
		"ADDR", c.status.Addr, "REBOUND", foreignHost+":"+ourPort, "BODY", aCall,
	).Replace(`(async () => {
		const got = [];
		const attempt = async (name, url, init) => {
			try {
				const answer = await fetch(url, init);
				if (answer.type !== 'opaque') got.push(name + ': ' + answer.status);
			} catch { /* refused: what should happen */ }
		};
		const body = 'BODY';
		const chat = 'http://ADDR/v1/chat/completions';
		await attempt('health', 'http://ADDR/health');
		await attempt('metrics', 'http://ADDR/metrics');
		await attempt('json', chat, {method: 'POST', body, headers: {'Content-Type': 'application/json'}});
		await attempt('simple', chat, {method: 'POST', body, headers: {'Content-Type': 'text/plain'}});
		await attempt('no-cors', chat, {method: 'POST', body, mode: 'no-cors'});
		await attempt('datastate', 'http://ADDR/datastate/query', {method: 'POST', body: '{"query":"x"}', mode: 'no-cors'});
		await attempt('rebound', 'http://REBOUND/metrics');
		await attempt('rebound post', 'http://REBOUND/v1/chat/completions', {method: 'POST', body, mode: 'no-cors'});
		const element = (tag, url) => new Promise((done) => {
			const e = document.createElement(tag);
			e.onload = () => { got.push(tag); done(); };
			e.onerror = () => done();
			e.src = url;
			document.body.append(e);
		});
		await element('img', 'http://ADDR/console/mark.svg');
		await element('script', 'http://ADDR/console/console.js');
		const frame = document.createElement('iframe');
		frame.name = 'target';
		const form = document.createElement('form');
		form.method = 'post'; form.action = chat; form.enctype = 'text/plain'; form.target = 'target';
		document.body.append(frame, form);
		const submitted = new Promise((done) => { frame.onload = done; });
		form.submit();
		await submitted;
		const events = new EventSource('http://ADDR/console/events');
		await new Promise((done) => { events.onerror = done; events.onmessage = () => { got.push('events'); done(); }; });
		events.close();
		return got.join(', ');
	})()`))
	if said != "" {
		t.Errorf("a foreign page got: %s", said)
	}
	status, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if m := status.Metrics; m.Calls != 0 || m.InFlight != 0 {
		t.Errorf("a foreign page made calls: %+v", m)
	}
}

// Studio at its own local name calls the companion by address, across origins, and must be let in.
func TestStudioAtItsLocalNameReachesTheModel(t *testing.T) {
	t.Parallel()
	studio := t.TempDir()
	if err := os.WriteFile(filepath.Join(studio, "index.html"), []byte("<!doctype html><title>Studio</title>"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newUser(t).launch("--headless", "--ui-dir", studio)
	_, port, err := net.SplitHostPort(c.status.Addr)
	if err != nil {
		t.Fatal(err)
	}
	said := inPage(newTab(t), t, "http://chatwright.localhost:"+port+"/", strings.NewReplacer("ADDR", c.status.Addr, "BODY", aCall).Replace(`(async () => {
		const health = await (await fetch('http://ADDR/health')).json();
		const models = await (await fetch('http://ADDR/v1/models')).json();
		const answer = await (await fetch('http://ADDR/v1/chat/completions',
			{method: 'POST', body: 'BODY', headers: {'Content-Type': 'application/json'}})).json();
		return [health.name, models.data[0].id, answer.choices[0].finish_reason].join(' ');
	})()`))
	if want := "chatwright-server chatwright-demo stop"; said != want {
		t.Errorf("got %q, want %q", said, want)
	}
}

// The console shows calls of the real program as they happen, at / and at /console/.
func TestConsoleShowsRealCalls(t *testing.T) {
	t.Parallel()
	c := newUser(t).launch("--headless")
	tab := newTab(t)
	for n, path := range []string{"/#/calls", "/console/#/calls"} {
		if said := inPage(tab, t, c.url(path), "document.title"); !strings.Contains(said, "Chatwright") {
			t.Errorf("the title at %s is %q", path, said)
		}
		c.chat(aCall)
		rows := evaluate(tab, t, strings.ReplaceAll(`(async () => {
			for (;;) {
				const rows = [...document.querySelectorAll('.window .call')].map((row) => row.innerText);
				if (rows.length === N) return rows.join('|');
				await new Promise((done) => setTimeout(done, 20));
			}
		})()`, "N", strconv.Itoa(n+1)))
		if strings.Count(rows, "chatwright-demo") != n+1 || strings.Count(rows, "complete") != n+1 {
			t.Errorf("the console at %s shows %q, want %d calls", path, rows, n+1)
		}
	}
}
