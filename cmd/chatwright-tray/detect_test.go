package main

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"chatwright.dev/tray/server/protocol"
)

// The program as it is shipped looks on the real ports, so the test has a model server on one, where it is free.
func TestTheProgramFindsAnOllama(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:11434")
	if err != nil {
		t.Skipf("the port of Ollama is taken on this machine, so nothing can stand for it: %v", err)
	}
	answers := map[string]string{
		"/api/version": `{"version":"0.12.3"}`, "/api/tags": `{"models":[{"name":"m","size":1}]}`, "/v1/models": `{"data":[{"id":"m"}]}`,
		"/v1/chat/completions": `{"choices":[{"message":{"content":"by the fake"}}]}`,
	}
	model := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, ok := answers[r.URL.Path]; ok {
			_, _ = w.Write([]byte(text))
			return
		}
		http.NotFound(w, r)
	})}
	served := make(chan error, 1)
	go func() { served <- model.Serve(ln) }()
	t.Cleanup(func() { _ = model.Close(); <-served })

	c := newUser(t, "CHATWRIGHT_SERVER_UPSTREAM=").launch("--headless")
	c.awaitStatus("Ollama", func(s protocol.Status) bool {
		return s.Upstream.Name == "Ollama" && s.Upstream.Reach == protocol.ReachOK
	})
	if status, body := c.chat(`{"model":"m"}`); status != http.StatusOK || !strings.Contains(body, "by the fake") {
		t.Errorf("got %d %s", status, body)
	}
	got := c.run("upstream", "use", "http://localhost:11434/v1")
	if got.code != 0 || !strings.Contains(got.stderr, "Studio's calls go to configured now") {
		t.Errorf("got %+v", got)
	}
}
