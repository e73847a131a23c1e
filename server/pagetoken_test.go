package server_test

import (
	"strings"
	"testing"

	"chatwright.dev/tray/server"
)

func TestTokenIsInThePageOfATabAlone(t *testing.T) {
	r, _ := withConsole(t)
	token := pageToken(t, r, "/console/", openedInATab...)
	if len(token) < 20 {
		t.Fatalf("got token %q", token)
	}
	tab := func(site string, more ...string) []string {
		return append([]string{"Sec-Fetch-Site", site, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, more...)
	}
	for _, path := range []string{"/", "/console/", "/console/index.html"} {
		for _, headers := range [][]string{tab("none"), tab("same-origin"), tab("cross-site")} { // a link to us, or Studio elsewhere
			if got := pageToken(t, r, path, headers...); got != token {
				t.Errorf("%s %q: got token %q, want %q", path, headers, got, token)
			}
		}
		for _, headers := range [][]string{
			nil, {"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"},
			{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"},
			{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "same-origin", "Sec-Fetch-Dest", "document"},
			{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "empty"}, // relayed by a service worker
			{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"},
			{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "object"},
			tab("same-origin", "Sec-Fetch-Dest", "iframe"), tab("same-origin", "Sec-Fetch-Mode", "cors"),
			{"Origin", "https://chatwright.dev", "Sec-Fetch-Site", "cross-site"}, {"Origin", "http://chatwright.localhost"},
			{"Origin", "http://localhost:3000", "Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"}, {"Origin", "http://" + r.Addr},
			{"Origin", "http://evil.test"}, {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"},
			{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, tab("same-origin", "Host", "rebind.test"),
		} {
			if got := pageToken(t, r, path, headers...); got != "" {
				t.Errorf("%s %q: the token was given away", path, headers)
			}
		}
	}
	// A tag that another page has cannot make a cache hand out the page that holds the token, or the other way round.
	page := ask(t, r, "GET", "/console/", "", openedInATab...)
	page.wantsHeader(t, "Cache-Control", "no-store")
	other := ask(t, r, "GET", "/console/", "", "Sec-Fetch-Site", "same-origin", "If-None-Match", page.Header.Get("Etag"))
	if other.Status != 200 || strings.Contains(other.Body, token) || other.Header.Get("Etag") == page.Header.Get("Etag") {
		t.Errorf("got %d with ETag %s", other.Status, other.Header.Get("Etag"))
	}
	other.wantsHeader(t, "Cache-Control", "no-store")
}

func TestTokenIsOfOneStart(t *testing.T) {
	r, _ := withConsole(t)
	again, _ := withConsole(t)
	if pageToken(t, r, "/console/", openedInATab...) == pageToken(t, again, "/console/", openedInATab...) {
		t.Error("two starts have the same token")
	}
	kept, _ := withConsole(t, func(c *server.Config) { c.Console.Token = "that-of-the-process" })
	if got := pageToken(t, kept, "/console/", openedInATab...); got != "that-of-the-process" {
		t.Errorf("got %q: a restart of the server would part pages from it", got)
	}
}
