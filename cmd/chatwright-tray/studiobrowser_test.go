//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/browsertest"
	"chatwright.dev/tray/server/studio/studiotest"
)

// A stand-in for Studio is released, installed by the real program and used in Chromium: at both names of this machine,
// while it is updated and rolled back, and with no release to be had any more. No page ever complains, is refused
// anything by its policy, or asks anybody but us.
func TestStudioInABrowser(t *testing.T) {
	t.Parallel()
	browser := browsertest.Start(t)
	release := studiotest.NewRelease(t)
	release.Publish("0.4.1", studiotest.Studio("0.4.1"))
	u := newUser(t, "CHATWRIGHT_SERVER_ADDR="+freeAddr(t), "CHATWRIGHT_SERVER_UI=true", "CHATWRIGHT_SERVER_UI_URL="+release.URL)
	c := u.launch("--headless")
	c.awaitStatus("the first copy", servesStudio("0.4.1"))
	_, port, err := net.SplitHostPort(c.status.Addr)
	if err != nil {
		t.Fatal(err)
	}
	hosts := []string{"127.0.0.1", "chatwright.localhost"}
	var pages []*studioPage
	for _, host := range hosts {
		pages = append(pages, &studioPage{openTab(browser, t), "http://" + host + ":" + port})
	}
	each := func(name string, f func(t *testing.T, p *studioPage)) {
		for i, p := range pages {
			t.Run(name+", "+hosts[i], func(t *testing.T) { p.t = t; f(t, p) })
		}
	}

	each("a deep link and the AI test", func(t *testing.T, p *studioPage) {
		p.open("/playground?tab=ai-test", "/playground")
		p.wantEdition("0.4.1")
		p.wantAITest(t)
		p.photograph("studio " + p.origin[len("http://"):])
	})
	each("a reload asks for what may have changed, and gets a 304", func(t *testing.T, p *studioPage) {
		p.forget()
		p.run(chromedp.Reload())
		p.ready("/playground")
		for _, path := range []string{"/playground?tab=ai-test", "/samples/greeting.json"} {
			if got := p.status(p.origin + path); got != 304 {
				t.Errorf("%s: got status %d, want 304", path, got)
			}
		}
		if got := p.statusesOf(".js"); len(got) != 0 {
			t.Errorf("hashed files were asked for again: %v", got)
		}
	})

	each("the page that stays open has its other chunk nowhere", func(_ *testing.T, p *studioPage) {
		p.run(browsertest.Command(network.ClearBrowserCache, cdp.Empty{}))
		p.open("/", "/")
	})
	release.Publish("0.5.0", studiotest.Studio("0.5.0"))
	wantSaid(t, u.run("studio", "update"), exitOK, "Studio 0.5.0 is installed")
	each("an open page learns of the update, goes on whole, and is new after a reload", func(t *testing.T, p *studioPage) {
		inTab[any](p.watchedTab, `window.dispatchEvent(new Event('focus'))`)
		p.waitFor(`document.getElementById('news').textContent === 'Studio 0.5.0 is here: reload this page'`)
		inTab[any](p.watchedTab, `document.querySelector('nav a[href*=playground]').click()`)
		p.ready("/playground")
		if got, want := p.text("h1"), "Playground of 0.4.1"; got != want {
			t.Errorf("the open page loads its chunk: got %q, want %q", got, want)
		}
		p.wantAITest(t)
		p.run(chromedp.Reload())
		p.ready("/playground")
		p.wantEdition("0.5.0")
		p.wantAITest(t)
	})

	wantSaid(t, u.run("studio", "rollback"), exitOK, "Studio 0.4.1 is back")
	each("after a rollback", func(t *testing.T, p *studioPage) {
		p.run(chromedp.Reload())
		p.ready("/playground")
		p.wantEdition("0.4.1")
		p.wantAITest(t)
	})

	release.Close()
	wantSaid(t, u.run("stop"), exitOK)
	c = u.launch("--headless", "--addr", c.status.Addr)
	if got := c.status.UI.Version; got != "0.4.1" {
		t.Errorf("served when the start is over, with no release to be had: got %q, want 0.4.1", got)
	}
	each("offline, after a restart", func(t *testing.T, p *studioPage) {
		p.open("/models/llama3.2", "/models/llama3.2")
		p.open("/playground?tab=ai-test", "/playground")
		p.wantEdition("0.4.1")
		p.wantAITest(t)
	})
	each("no page complained", func(_ *testing.T, p *studioPage) { p.wantClean(p.origin, "http://"+c.status.Addr) })
}

func servesStudio(version string) func(protocol.Status) bool {
	return func(s protocol.Status) bool { return s.UI.Version == version }
}

// studioPage is a tab with the stand-in in it.
type studioPage struct {
	*watchedTab
	origin string
}

func (p *studioPage) open(path, route string) {
	p.t.Helper()
	p.run(chromedp.Navigate(p.origin + path))
	p.ready(route)
}

// ready waits until a route is shown, with the font and the stylesheet that an onload handler brings in.
func (p *studioPage) ready(route string) {
	p.t.Helper()
	p.waitFor(fmt.Sprintf(`document.body?.dataset.ready === %q`, route))
	p.waitFor(`document.querySelector('link[rel=stylesheet]').media === 'all' && getComputedStyle(document.body).paddingTop === '3px'`)
	p.waitFor(`document.fonts.check('12px Stand-in')`)
	if got := inTab[string](p.watchedTab, `getComputedStyle(document.body).marginTop`); got != "7px" {
		p.t.Errorf("the inline style: got a margin of %s", got)
	}
}

// wantEdition wants every part of the page to be of one version: the document, the script in it, and the bundle.
func (p *studioPage) wantEdition(want string) {
	p.t.Helper()
	got := inTab[[]string](p.watchedTab, `[document.title, document.documentElement.dataset.edition, document.querySelector('h1').textContent]`)
	for i, text := range []string{"Stand-in Studio " + want, want, "Playground of " + want} {
		if got[i] != text {
			p.t.Errorf("part %d of the page: got %q, want %q", i, got[i], text)
		}
	}
}

// wantAITest has the page do what Studio does: probe the companion, list its models and complete a chat, at 127.0.0.1
// wherever the page came from.
func (p *studioPage) wantAITest(t *testing.T) {
	t.Helper()
	inTab[any](p.watchedTab, `document.getElementById('outcome').textContent = ''; document.getElementById('run').click()`)
	p.waitFor(`document.getElementById('outcome').textContent !== ''`)
	var outcome struct {
		Failed, Name, Say string
		Models            []string
		Usage             bool
	}
	if err := json.Unmarshal([]byte(p.text("#outcome")), &outcome); err != nil {
		t.Fatal(err)
	}
	if outcome.Name != "chatwright-server" || outcome.Say == "" || !outcome.Usage || len(outcome.Models) == 0 {
		t.Errorf("the AI test: got %+v", outcome)
	}
}
