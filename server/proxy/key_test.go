package proxy_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/proxy"
)

// security.md 8: a profile's key is used only where the caller has none, and comes back nowhere.
func TestTheKeyOfTheTarget(t *testing.T) {
	const key = "sk-profile-0123456789"
	keys := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("Authorization")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"key %s is wrong, %s%s"}}`, key, strings.Repeat("x", 130), r.Header.Get("Authorization"))
	}))
	t.Cleanup(server.Close)
	target := parse(t, server.URL)
	target.APIKey = key
	var log bytes.Buffer
	f := startFront(t, target, func(c *proxy.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})

	_, body := f.chat(`{"model":"m"}`)
	if got := <-keys; got != "Bearer "+key {
		t.Errorf("without Authorization: got %q, want the key of the target", got)
	}
	if strings.Contains(body, key[:10]) || !strings.Contains(body, "key ********************* is wrong") {
		t.Errorf("answer: got %s, want the key blanked out", body)
	}
	c := f.wantVerdict(401, protocol.VerdictUpstreamError)
	if strings.Contains(fmt.Sprintf("%+v", c), key[:10]) || !strings.Contains(c.Error, "key ********************* is wrong") {
		t.Errorf("record: got %q, want the key taken out, the part at the end too", c.Error)
	}
	f.chat(`{"model":"m"}`, "Authorization", "Bearer sk-callers-own")
	if got := <-keys; got != "Bearer sk-callers-own" {
		t.Errorf("with Authorization: got %q, want the caller's", got)
	}
	if c := f.record(); strings.Contains(c.Error, "callers-own") {
		t.Errorf("record: the caller's key is in it: %q", c.Error)
	}
	if strings.Contains(log.String(), key[:10]) || strings.Contains(log.String(), "callers") {
		t.Errorf("log: a key is in it: %s", log.String())
	}
}
