package server_test

import (
	"strings"
	"testing"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/servertest"
)

// The exported constants are the contract of companion.md.
func TestConstants(t *testing.T) {
	for _, c := range []struct{ name, got, want string }{
		{"DefaultAddr", server.DefaultAddr, "127.0.0.1:4319"},
		{"DefaultUIBaseURL", server.DefaultUIBaseURL, "https://github.com/chatwright/studio/releases/latest/download/"},
		{"DefaultUpstreamBaseURL", server.DefaultUpstreamBaseURL, "http://localhost:11434/v1"},
		{"Capabilities", strings.Join(server.Capabilities, " "), "ai-proxy datastate"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, c.got, c.want)
		}
	}
	if server.SupportedUIContract != 1 {
		t.Errorf("SupportedUIContract: got %d, want 1", server.SupportedUIContract)
	}
	if err := server.CheckAddr(server.DefaultAddr, false); err != nil {
		t.Error(err)
	}
}

func TestHealth(t *testing.T) {
	r := servertest.Start(t, server.Config{Version: "1.2.3<"})
	got := ask(t, r, "GET", "/health", "")
	got.wants(t, 200, `{"name":"chatwright-server","version":"1.2.3<","capabilities":["ai-proxy","datastate"]}`+"\n")
	got.wantsHeader(t, "Content-Type", jsonType)
}

// companion.md, HTTP: JSON answers, wrong methods, unknown paths, HEAD, OPTIONS; gateway.md 16.
func TestRoutes(t *testing.T) {
	const (
		ownNotFound = `{"error":"not found"}` + "\n"
		ownMethod   = `{"error":"method not allowed"}` + "\n"
		aiNotFound  = `{"error":{"message":"not found: only /v1/models and /v1/chat/completions are passed on","type":"invalid_request_error","param":null,"code":"not_found"}}` + "\n"
		aiMethod    = `{"error":{"message":"method not allowed","type":"invalid_request_error","param":null,"code":"method_not_allowed"}}` + "\n"
	)
	dir := uiFolder(t, map[string]string{"index.html": "<title>studio</title>"})
	for name, cfg := range map[string]server.Config{"with the console": {}, "with a UI": {UIDir: dir}} {
		r, _ := withUpstream(t, "chat", cfg)
		for _, c := range []struct {
			method, path string
			status       int
			body, allow  string
		}{
			{"POST", "/health", 405, ownMethod, "GET"},
			{"DELETE", "/metrics", 405, ownMethod, "GET"},
			{"PUT", "/console/events", 405, ownMethod, "GET"},
			{"GET", "/datastate/query", 405, ownMethod, "POST"},
			{"HEAD", "/datastate/query", 405, "", "POST"},
			{"GET", chatPath, 405, aiMethod, "POST"},
			{"HEAD", chatPath, 405, "", "POST"},
			{"POST", "/v1/models", 405, aiMethod, "GET"},
			{"BREW", "/health", 405, ownMethod, "GET"},
			{"POST", "/", 405, ownMethod, "GET, HEAD"},
			{"POST", "/console/", 405, ownMethod, "GET, HEAD"},
			{"POST", "/console", 405, ownMethod, "GET, HEAD"},
			{"GET", "/v1/nowhere", 404, aiNotFound, ""},
			{"POST", "/v1/embeddings", 404, aiNotFound, ""},
			{"GET", "/v1/models/", 404, aiNotFound, ""},
			{"POST", chatPath + "/", 404, aiNotFound, ""},
			{"GET", "/datastate/nowhere", 404, ownNotFound, ""},
			{"POST", "/datastate/query/", 404, ownNotFound, ""},
			{"GET", "/console/nowhere", 404, ownNotFound, ""},
			{"GET", "/missing.js", 404, ownNotFound, ""},
			{"OPTIONS", "/health", 204, "", ""},
			{"OPTIONS", "/nowhere", 204, "", ""},
			{"OPTIONS", "/v1/nowhere", 204, "", ""},
		} {
			got := ask(t, r, c.method, c.path, "", "Origin", "http://localhost:3000")
			if got.Status != c.status || got.Body != c.body || got.Header.Get("Allow") != c.allow {
				t.Errorf("%s, %s %s: got %d %q, Allow %q, want %d %q, Allow %q", name, c.method, c.path,
					got.Status, got.Body, got.Header.Get("Allow"), c.status, c.body, c.allow)
			}
			if c.body != "" && got.Header.Get("Content-Type") != jsonType {
				t.Errorf("%s %s: got Content-Type %q", c.method, c.path, got.Header.Get("Content-Type"))
			}
			// On every answer, 404 and 405 too.
			got.wantsHeader(t, "Access-Control-Allow-Origin", "http://localhost:3000")
			got.wantsHeader(t, "Vary", "Origin")
		}
	}
}

// companion.md: HEAD on a GET route answers like GET without a body.
func TestHead(t *testing.T) {
	r, provider := withUpstream(t, "chat", server.Config{})
	for _, path := range []string{"/health", "/metrics", "/v1/models", "/", "/console/", "/console/console.js", "/console"} {
		get, head := ask(t, r, "GET", path, ""), ask(t, r, "HEAD", path, "")
		if head.Status != get.Status || head.Body != "" {
			t.Errorf("%s: got %d %q, want %d and no body", path, head.Status, head.Body, get.Status)
		}
		for _, name := range []string{"Content-Type", "Content-Length", "Etag", "Location"} {
			if path == "/v1/models" && name == "Content-Length" {
				continue // the upstream's to say
			}
			head.wantsHeader(t, name, get.Header.Values(name)...)
		}
	}
	for _, request := range provider.Requests() {
		if request.Method != "GET" {
			t.Errorf("the upstream got %s, want GET: not every model server knows HEAD", request.Method)
		}
	}
	if got := ask(t, r, "HEAD", "/console/events", ""); got.Status != 200 || got.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("/console/events: got %d %q", got.Status, got.Header.Get("Content-Type"))
	}
}

// companion.md: without a Studio copy the console is at "/" too, and other paths are 404.
func TestConsole(t *testing.T) {
	r := servertest.Start(t, server.Config{})
	page, home := ask(t, r, "GET", "/console/", ""), ask(t, r, "GET", "/", "")
	if page.Status != 200 || page.Body != home.Body || !strings.Contains(page.Body, "/console/console.js") {
		t.Errorf("got %d and %d bytes at /console/, %d bytes at /, want the same page", page.Status, len(page.Body), len(home.Body))
	}
	for cache, got := range map[string]answer{"no-store": page, "no-store ": home, "no-cache": ask(t, r, "GET", "/console/console.js", "")} {
		// security.md 7.
		policy := got.Header.Get("Content-Security-Policy")
		if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") || !strings.Contains(policy, "script-src 'self'") {
			t.Errorf("got policy %q, want 'self' only and no framing", policy)
		}
		got.wantsHeader(t, "X-Content-Type-Options", "nosniff")
		got.wantsHeader(t, "Referrer-Policy", "no-referrer")
		got.wantsHeader(t, "Cache-Control", strings.TrimSpace(cache)) // the page holds a token
		again := ask(t, r, "GET", "/console/", "", "If-None-Match", page.Header.Get("Etag"))
		again.wants(t, 304, "")
	}
	ask(t, r, "GET", "/console/console.js", "").wantsHeader(t, "Content-Type", "text/javascript; charset=utf-8")
	ask(t, r, "GET", "/elsewhere", "").wants(t, 404, `{"error":"not found"}`+"\n")
	ask(t, r, "POST", "/elsewhere", "").wants(t, 404, `{"error":"not found"}`+"\n")
}

// The redirect is a constant: nothing of the request can lead elsewhere.
func TestConsoleRedirect(t *testing.T) {
	r := servertest.Start(t, server.Config{})
	got := ask(t, r, "GET", "/console?next=//evil.test", "")
	if got.Status != 302 {
		t.Errorf("got %d, want 302", got.Status)
	}
	got.wantsHeader(t, "Location", "/console/")
	ask(t, r, "GET", "//evil.test/console", "").wantsHeader(t, "Location")
}

// security.md 6: with a token every route but /health wants it, and the name that the listener is bound to is served.
func TestRemoteToken(t *testing.T) {
	const token = "0123456789abcdef0123456789abcdef"
	r, provider := withUpstream(t, "chat", server.Config{RemoteToken: []byte(token)})
	for _, c := range []struct {
		method, path string
		headers      []string
		want         int
	}{
		{"GET", "/health", nil, 200},
		{"OPTIONS", "/metrics", nil, 204},
		{"GET", "/metrics", nil, 401},
		{"GET", "/", nil, 401},
		{"GET", "/console/events", nil, 401},
		{"GET", "/nowhere", nil, 401},
		{"POST", chatPath, nil, 401},
		{"GET", "/metrics", []string{"Authorization", "Bearer wrong"}, 401},
		{"GET", "/metrics", []string{"Authorization", "Bearer "}, 401},
		{"GET", "/metrics", []string{"Authorization", token}, 401},
		{"GET", "/metrics", []string{"X-Chatwright-Token", token + "x", "Authorization", "Bearer " + token}, 401},
		{"GET", "/metrics", []string{"Authorization", "Bearer " + token}, 200},
		{"GET", "/metrics", []string{"Authorization", "bearer " + token}, 200}, // RFC 9110: the scheme in any case
		{"GET", "/metrics", []string{"X-Chatwright-Token", token}, 200},
		{"GET", "/metrics", []string{"Authorization", "Basic dXNlcjowMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZg=="}, 200},
		{"GET", "/metrics", []string{"Authorization", "Bearer " + token, "Origin", "http://evil.test"}, 403},
		{"GET", "/metrics", []string{"Authorization", "Bearer " + token, "Host", "evil.test"}, 403},
		{"GET", "/health", []string{"Host", "0.0.0.0:1"}, 403},
	} {
		if got := ask(t, r, c.method, c.path, chatBody, c.headers...); got.Status != c.want {
			t.Errorf("%s %s %q: got %d, want %d", c.method, c.path, c.headers, got.Status, c.want)
		}
	}
	// security.md 8: our own token does not go upstream, the caller's key for the model does.
	for _, headers := range [][]string{
		{"Authorization", "Bearer " + token}, {"X-Chatwright-Token", token, "Authorization", "Bearer sk-mine"},
		{"X-Chatwright-Token", token, "Authorization", "Bearer " + token},
		{"X-Chatwright-Token", token, "Authorization", "Basic dXNlcjowMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZg=="},
	} {
		ask(t, r, "POST", chatPath, chatBody, headers...)
		requests := provider.Requests()
		up := requests[len(requests)-1]
		if up.Header.Get("X-Chatwright-Token") != "" || up.Authorization() != "" && up.Authorization() != "Bearer sk-mine" {
			t.Errorf("%q: the token went upstream", headers)
		}
	}
	if got := provider.Requests()[1].Authorization(); got != "Bearer sk-mine" {
		t.Errorf("the caller's key: got %q upstream", got)
	}
}
