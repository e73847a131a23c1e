package app

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

// security.md 8: a profile's key never comes back through any route, log, error, metric, record or menu.
func TestKeyOfAProfileComesBackNowhere(t *testing.T) {
	const key = "sk-planted-0123456789-secret"
	got := make(chan string, 64)
	// This server repeats all that it is sent, in an error, in answers and in headers.
	parrot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		auth := r.Header.Get("Authorization")
		select {
		case got <- auth:
		default:
		}
		w.Header().Set("X-Auth", auth)
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(string(body), `"stream":true`):
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, sse(`{"model":"`+auth+`","choices":[{"delta":{"content":"you sent `+auth+`","reasoning":"`+auth+`"}}]}`))
			_, _ = io.WriteString(w, sse(`{"error":{"message":"refused: `+auth+`"}}`))
		case strings.HasSuffix(r.URL.Path, "/models"):
			_, _ = io.WriteString(w, `{"data":[{"id":"`+auth+`"}]}`)
		default:
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":{"message":"Incorrect API key provided: `+auth+`"}}`)
		}
	}))
	t.Cleanup(parrot.Close)
	l := live(t, func(c *Config) { c.Settings = settingsWith(t, "log-level=debug") })
	c := l.client()
	put := key
	putUpstream(t, c, "parrot", parrot.URL+"/v1", &put)
	if err := c.UseUpstream(t.Context(), "parrot"); err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	keep := func(what string, v any, err error) {
		t.Helper()
		text, jsonErr := json.Marshal(v)
		if jsonErr != nil {
			t.Fatal(jsonErr)
		}
		seen.WriteString(what + ": " + string(text) + "\n")
		if err != nil {
			seen.WriteString(err.Error() + hint.Of(err) + "\n")
		}
	}
	_, body := l.ask(`{"model":"m"}`)
	keep("an error", body, nil)
	_, body = l.ask(`{"model":"m","stream":true}`)
	keep("a stream", body, nil)
	for _, auth := range []string{<-got, <-got} {
		if auth != "Bearer "+key {
			t.Errorf("the server got %q, want the key", auth)
		}
	}
	s, err := c.CreateSession(t.Context(), protocol.CreateSessionRequest{Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if reason := turnReason(t, c, s.ID); reason != protocol.TurnError {
		t.Errorf("the turn ended with %s", reason)
	}
	page, err := c.Events(t.Context(), s.ID, 0)
	keep("events", page, err)

	entry, err := c.PutUpstream(t.Context(), "parrot", protocol.PutUpstreamRequest{BaseURL: parrot.URL + "/v1", Model: "other"})
	keep("put", entry, err)
	if !entry.HasKey {
		t.Error("a change without a key lost it")
	}
	_, err = c.PutUpstream(t.Context(), "parrot", protocol.PutUpstreamRequest{BaseURL: "http://elsewhere.test/v1"})
	keep("a refusal", nil, err)
	bad := key + "\n" + key
	_, err = c.PutUpstream(t.Context(), "other", protocol.PutUpstreamRequest{BaseURL: "http://h/v1", APIKey: &bad})
	keep("a bad key", nil, err)
	_, err = c.PutUpstream(t.Context(), "other", protocol.PutUpstreamRequest{BaseURL: "http://u:" + key + "@h/v1"})
	keep("a bad URL", nil, err)
	list, err := c.Upstreams(t.Context(), true)
	keep("list", list, err)
	one, err := c.Upstream(t.Context(), "parrot")
	keep("get", one, err)
	status, err := c.Status(t.Context())
	keep("status", status, err)
	calls, err := c.Calls(t.Context(), 0, 0)
	keep("calls", calls, err)
	sessions, err := c.Sessions(t.Context(), true, "")
	keep("sessions", sessions, err)
	for _, path := range []string{"/metrics", "/v1/models", "/health", "/console/events"} {
		keep(path, l.read(path, ""), nil)
	}
	keep("prometheus", l.read("/metrics", "text/plain"), nil)
	keep("menu", l.views.Get().String(), nil)
	l.end()
	if err := <-l.ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	l.ended <- nil
	err = filepath.WalkDir(l.cfg.Paths.State, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || path == l.cfg.Paths.Upstreams {
			return err
		}
		data, err := os.ReadFile(path)
		seen.WriteString(path + ": " + string(data) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(seen.String()) {
		if strings.Contains(line, key) || strings.Contains(line, key[:12]) {
			t.Errorf("the key is in %.300s", line)
		}
	}
	if n := strings.Count(seen.String(), strings.Repeat("*", len(key))); n < 5 {
		t.Errorf("it was blanked out %d times: did the server repeat it?", n)
	}
	if data, err := os.ReadFile(l.cfg.Paths.Upstreams); err != nil || !strings.Contains(string(data), key) {
		t.Errorf("the one place where it stands: %v", err)
	}
}
