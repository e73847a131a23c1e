package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/servertest"
)

// studioLike has what Studio's index.html has: an inline script, a handler that needs its entities read, a script of
// its own, inline styles, and a call to the companion under its other name. What it must not run stands below.
const studioLike = `<!doctype html><html><head><meta charset="utf-8"><style>body { color: #010203 }</style>
<script>
	window.inline = 1 < 2;
</script>
<link rel="stylesheet" href="/styles.css" media="print" onload="this.media=&#39;all&#39;; window.handler = true">
<script src="/main.js"></script></head>
<body style="margin: 7px"></body></html>`

const studioScript = `
const other = "http://127.0.0.1:" + location.port;
const loaded = new Promise((done) => addEventListener("load", done));
window.work = (async () => {
	await loaded;
	const injected = document.createElement("div");
	injected.innerHTML = "<img src=nowhere.png onerror='window.injected = true'>";
	document.body.append(injected);
	const inserted = document.createElement("script");
	inserted.textContent = "window.inserted = true";
	document.body.append(inserted);
	const third = document.createElement("script");
	third.src = window.thirdParty;
	const answered = new Promise((done) => { third.onload = done; third.onerror = () => { window.third = "refused"; done() } });
	document.body.append(third);
	await answered;
	try { new Function("return 1")(); window.evaluated = true } catch { window.evaluated = false }
	const asked = async (path, init) => { try { return (await fetch(other + path, init)).status } catch (e) { return String(e) } };
	const health = await asked("/health");
	const chat = await asked("/v1/chat/completions", {method: "POST", headers: {"Content-Type": "application/json"}, body: "{}"});
	while (!window.handler) await new Promise((done) => setTimeout(done, 10));
	const style = getComputedStyle(document.body);
	return {
		inline: window.inline, injected: !!window.injected, inserted: !!window.inserted, evaluated: window.evaluated, third: window.third,
		health, chat, colour: style.color, margin: style.marginTop, padding: style.paddingTop,
	};
})();`

// security.md 7: under the policy a page like Studio does its work, at both names, and nothing that is put into it
// runs. Chromium is the judge.
func TestStudioPolicyInChromium(t *testing.T) {
	program := servertest.Need(t, "chromium", "chromium")
	third := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write([]byte("window.third = 'ran'")) // the browser left
	}))
	defer third.Close()
	dir := uiFolder(t, map[string]string{
		"index.html": studioLike, "styles.css": "body { padding: 3px }",
		"main.js": "window.thirdParty = '" + third.URL + "/x.js';" + studioScript,
	})
	r, provider := withUpstream(t, "chat", server.Config{UIDir: dir})

	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir())}
	for _, flag := range []string{"headless", "no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync"} {
		options = append(options, chromedp.Flag(flag, true))
	}
	// The browser asks the user once before a page may call another name of this machine; nobody is here to answer.
	options = append(options, chromedp.Flag("disable-features", "LocalNetworkAccessChecks,LocalNetworkAccessChecksWarn"))
	allocator, endAllocator := chromedp.NewExecAllocator(t.Context(), options...)
	defer endAllocator()
	tab, endTab := chromedp.NewContext(allocator)
	defer endTab()
	defer func() { _ = chromedp.Cancel(tab) }() // waits for Chromium, so that its profile can be removed
	if err := chromedp.Do(tab); err != nil {
		t.Fatal(err)
	}
	limited, endWait := context.WithTimeout(tab, time.Minute)
	defer endWait()

	for i, host := range []string{"127.0.0.1", "chatwright.localhost"} {
		if err := chromedp.Do(limited, chromedp.Navigate(strings.Replace(r.URL, "127.0.0.1", host, 1)+"/playground?tab=ai-test")); err != nil {
			t.Fatalf("%s: %v", host, err)
		}
		got, err := chromedp.Run(limited, chromedp.Evaluate[map[string]any]("window.work", chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatalf("%s: %v", host, err)
		}
		for name, want := range map[string]any{
			"inline": true, "injected": false, "inserted": false, "third": "refused", "evaluated": false,
			"health": 200.0, "chat": 200.0, "colour": "rgb(1, 2, 3)", "margin": "7px", "padding": "3px",
		} {
			if got[name] != want {
				t.Errorf("%s, %s: got %v, want %v", host, name, got[name], want)
			}
		}
		if n := len(provider.Requests()); n != i+1 {
			t.Errorf("%s: the model got %d calls, want %d", host, n, i+1)
		}
	}
}
