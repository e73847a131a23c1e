package main

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
)

// fakeOllama is a model server on the real port of Ollama, where the program as it is shipped looks; the test is skipped
// where that is taken. It ends with the test.
func fakeOllama(t *testing.T, answer string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:11434")
	if err != nil {
		servertest.Missing(t, "the port of Ollama is taken on this machine, so nothing can stand for it: "+err.Error())
	}
	answers := map[string]string{
		"/api/version": `{"version":"0.12.3"}`, "/api/tags": `{"models":[{"name":"m","size":1}]}`, "/v1/models": `{"data":[{"id":"m"}]}`,
		"/v1/chat/completions": answer,
	}
	model := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if strings.HasPrefix(text, "data: ") {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		_, _ = io.WriteString(w, text)
	})}
	served := make(chan error, 1)
	go func() { served <- model.Serve(ln) }()
	t.Cleanup(func() { _ = model.Close(); <-served })
}

func TestTheProgramFindsAnOllama(t *testing.T) {
	fakeOllama(t, `{"choices":[{"message":{"content":"by the fake"}}]}`)
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
