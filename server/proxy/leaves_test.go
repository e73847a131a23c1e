package proxy_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

// A caller who has all that was announced is done, whether or not the upstream has hung up: curl leaves at once. One who
// leaves earlier has cancelled the call.
func TestACallerWhoHasItAllHasNotCancelled(t *testing.T) {
	const answer = `{"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}]}`
	for name, c := range map[string]struct {
		sent    string
		verdict protocol.Verdict
		status  int
	}{
		"all of it":   {answer, protocol.VerdictComplete, http.StatusOK},
		"most of it":  {answer[:len(answer)-1], protocol.VerdictCancelled, protocol.StatusClientClosed},
		"half of it":  {answer[:len(answer)/2], protocol.VerdictCancelled, protocol.StatusClientClosed},
		"first of it": {answer[:1], protocol.VerdictCancelled, protocol.StatusClientClosed},
	} {
		f := startFront(t, upstream.NewHandler("slow to hang up", "slow", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
			_, _ = io.WriteString(w, c.sent)
			<-r.Context().Done()
		})))
		resp, err := f.client.Post(f.url+"/chat/completions", "application/json", strings.NewReader(`{"model":"m"}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(resp.Body, make([]byte, len(c.sent))); err != nil {
			t.Fatal(err)
		}
		f.client.CloseIdleConnections()
		_ = resp.Body.Close()
		f.client.CloseIdleConnections()
		if got := <-f.ended; got.Verdict != c.verdict || got.Status != c.status {
			t.Errorf("%s: got %d %s, want %d %s", name, got.Status, got.Verdict, c.status, c.verdict)
		}
	}
}
