package main

import (
	"encoding/json"
	"net"
	"testing"

	"github.com/chromedp/chromedp"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/studio/studiotest"
)

func TestStudioInABrowser(t *testing.T) {
	browser := newBrowser(t)
	release := studiotest.NewRelease(t)
	first := studiotest.Studio("0.4.1")
	release.Publish("0.4.1", first)
	u := newUser(t, "CHATWRIGHT_SERVER_ADDR="+freeAddr(t), "CHATWRIGHT_SERVER_UI=true", "CHATWRIGHT_SERVER_UI_URL="+release.URL)
	c := u.launch("--headless")
	c.awaitStatus("the first copy", func(s protocol.Status) bool { return s.UI.Version == "0.4.1" })

	for _, host := range []string{"127.0.0.1", "chatwright.localhost"} {
		t.Run(host, func(t *testing.T) {
			_, port, err := net.SplitHostPort(c.status.Addr)
			if err != nil {
				t.Fatal(err)
			}
			origin := "http://" + host + ":" + port
			p := openTab(t, browser)
			p.run(chromedp.Navigate(origin + "/playground?tab=ai-test"))
			p.waitFor(`document.body.dataset.ready === '/playground'`)
			p.waitFor(`document.querySelector('link[rel=stylesheet]').media === 'all' && document.fonts.check('12px Stand-in')`)
			inTab[any](p, `document.getElementById('run').click()`)
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
			p.photograph("studio " + host)
			p.forget()
			p.run(chromedp.Reload())
			p.waitFor(`document.body.dataset.ready === '/playground'`)
			t.Log(p.statuses)
			p.wantClean(origin, "http://"+c.status.Addr)
		})
	}
}
