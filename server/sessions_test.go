package server_test

import (
	"strings"
	"testing"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/watch"
)

func withSessions(t *testing.T, shown bool) *servertest.Running {
	t.Helper()
	cfg := server.Config{Status: watch.New(protocol.Status{Sessions: &protocol.SessionCounts{Live: 7}})}
	if shown {
		cfg.Sessions = &server.Sessions{
			List: func() []protocol.Session { return []protocol.Session{{ID: "01-secret", Title: "a secret"}} },
			Events: func(id string, from uint64) (protocol.EventsPage, bool) {
				return protocol.EventsPage{Events: []protocol.Event{}, Next: from}, id == "01-secret"
			},
		}
	}
	return servertest.Start(t, cfg)
}

// firstEvents is the status that a page begins with.
func firstEvents(t *testing.T, r *servertest.Running) string {
	t.Helper()
	stream, leave := events(t, r)
	defer leave()
	for e := range stream {
		if e.Name == "status" {
			return e.Data
		}
	}
	t.Fatal("no status came")
	return ""
}

// The socket is the trust boundary: on the listener there are no sessions, unless the user wants them there.
func TestSessionsAreShownOnlyWhereTheUserWantsThem(t *testing.T) {
	r := withSessions(t, false)
	for _, path := range []string{"/console/api/sessions", "/console/api/sessions/events?id=01-secret"} {
		if got := ask(t, r, "GET", path, ""); got.Status != 404 {
			t.Errorf("GET %s: got %d, want 404", path, got.Status)
		}
	}
	if got := firstEvents(t, r); strings.Contains(got, "sessions") {
		t.Errorf("the events tell of sessions: %s", got)
	}
	if got := firstEvents(t, withSessions(t, true)); !strings.Contains(got, `"sessions":{"live":7,"running":0}`) {
		t.Errorf("where they are shown, the events do not tell how many: %s", got)
	}
}

func TestSessionsAreReadByTheConsoleAlone(t *testing.T) {
	r := withSessions(t, true)
	token := pageToken(t, r, "/console/", openedInATab...)
	own := []string{"X-Chatwright-Token", token}
	for _, c := range []struct {
		method, path string
		header       []string
		status       int
		want         string
	}{
		{"GET", "/console/api/sessions", append(own, "Sec-Fetch-Site", "same-origin"), 200, `"title":"a secret"`},
		{"HEAD", "/console/api/sessions", own, 200, ""},
		{"GET", "/console/api/sessions", nil, 403, "came without its token"},                                       // curl
		{"GET", "/console/api/sessions", []string{"Sec-Fetch-Site", "same-origin"}, 403, "came without its token"}, // Studio
		{"GET", "/console/api/sessions/events?id=01-secret", []string{"Sec-Fetch-Site", "same-origin"}, 403, "came without its token"},
		{"GET", "/console/api/sessions", []string{"X-Chatwright-Token", token + "x"}, 403, "load the page again"},
		{"GET", "/console/api/sessions", append(own, "Origin", "https://chatwright.dev"), 403, "only the console"},
		{"GET", "/console/api/sessions/events?id=01-secret", own, 200, `{"events":[],"next":1}`},
		{"GET", "/console/api/sessions/events?id=01-secret&from=42", own, 200, `"next":42`},
		{"GET", "/console/api/sessions/events?id=01-secret&from=x", own, 400, "from"},
		{"GET", "/console/api/sessions/events?id=..%2F..%2Fetc", own, 404, "no such session"},
		{"GET", "/console/api/sessions/events", own, 404, "no such session"},
		{"POST", "/console/api/sessions", nil, 405, ""},
		{"DELETE", "/console/api/sessions", nil, 405, ""},
		// Origins that may call models may not read what was said to them.
		{"GET", "/console/api/sessions", []string{"Origin", "https://chatwright.dev"}, 403, "only the console"},
		{"GET", "/console/api/sessions", []string{"Origin", "http://localhost:3000", "Sec-Fetch-Site", "same-site"}, 403, "only the console"},
		{"GET", "/console/api/sessions", []string{"Origin", "http://chatwright.localhost", "Sec-Fetch-Site", "cross-site"}, 403, "only the console"},
		{"GET", "/console/api/sessions", []string{"Origin", "http://evil.test"}, 403, ""},
		{"GET", "/console/api/sessions", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 403, ""},
		{"GET", "/console/api/sessions/events?id=01-secret", []string{"Origin", "https://chatwright.dev"}, 403, "only the console"},
	} {
		got := ask(t, r, c.method, c.path, "", c.header...)
		if got.Status != c.status || !strings.Contains(got.Body, c.want) {
			t.Errorf("%s %s %q: got %d %s, want %d and %q", c.method, c.path, c.header, got.Status, got.Body, c.status, c.want)
		}
		if c.status == 403 && strings.Contains(got.Body, "secret") {
			t.Errorf("%s %q: the refusal tells: %s", c.path, c.header, got.Body)
		}
		if c.status == 200 && strings.Contains(c.path, "/api/") && got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: Cache-Control: got %q", c.path, got.Header.Get("Cache-Control"))
		}
	}
}

func TestSessionsAreNotShownOutsideLoopback(t *testing.T) {
	token := strings.Repeat("t", 32)
	cfg := server.Config{RemoteToken: []byte(token), Sessions: &server.Sessions{
		List: func() []protocol.Session { return []protocol.Session{{Title: "a secret"}} },
	}}
	r := servertest.Start(t, cfg)
	if got := ask(t, r, "GET", "/console/api/sessions", "", "Authorization", "Bearer "+token); got.Status != 404 {
		t.Errorf("got %d %s, want 404", got.Status, got.Body)
	}
}
