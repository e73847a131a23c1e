package proxy_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

// expectation is what must be read from a stream; what it leaves out is unknown.
type expectation struct {
	Verdict          protocol.Verdict `json:"verdict"`
	UsageKnown       bool             `json:"usageKnown"`
	PromptTokens     int64            `json:"promptTokens"`
	CompletionTokens int64            `json:"completionTokens"`
	FinishReason     string           `json:"finishReason"`
	TokensPerSecond  float64          `json:"tokensPerSecond"`
	Error            string           `json:"error"`
}

// TestStreamCases sends every recorded stream through the proxy, from a server that sends it whole, byte by byte, and
// from the demo model that plays it: the bytes are the same, and the record holds what the case says.
func TestStreamCases(t *testing.T) {
	cases, err := filepath.Glob("testdata/streams/*.sse")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range cases {
		name := strings.TrimSuffix(filepath.Base(path), ".sse")
		stream, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var want expectation
		text, err := os.ReadFile(strings.TrimSuffix(path, ".sse") + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{1, 7, len(stream) + 1} {
			t.Run(fmt.Sprintf("%s in pieces of %d", name, size), func(t *testing.T) {
				f := behind(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
					w.WriteHeader(http.StatusOK)
					for rest := stream; len(rest) > 0; {
						n := min(size, len(rest))
						_, _ = w.Write(rest[:n])
						w.(http.Flusher).Flush()
						rest = rest[n:]
					}
				})
				checkCase(t, f, string(stream), want)
			})
		}
		t.Run(name+" played by the demo model", func(t *testing.T) {
			target := upstream.NewDemo(upstream.DemoConfig{StreamFolder: "testdata/streams", Delay: -1})
			f := startFront(t, target)
			checkCase(t, f, string(stream), want, "chatwright-demo/file:"+name)
		})
	}
}

func checkCase(t *testing.T, f *front, stream string, want expectation, model ...string) {
	t.Helper()
	asked := append(model, "fixture-model")[0]
	_, body := f.chat(`{"model":"` + asked + `","stream":true,"messages":[]}`)
	if body != stream {
		t.Errorf("the bytes differ: got %q, want %q", body, stream)
	}
	c := f.record()
	got := expectation{
		c.Verdict, c.UsageKnown, c.PromptTokens, c.CompletionTokens, c.FinishReason, c.TokensPerSecond, c.Error,
	}
	if want.TokensPerSecond == 0 {
		got.TokensPerSecond = 0 // ours, from the clock
	}
	if want.Error == "" && want.Verdict == protocol.VerdictStreamError {
		if got.Error == "" {
			t.Error("an error without words")
		}
		got.Error = ""
	}
	if got != want {
		t.Errorf("record: got %+v, want %+v", got, want)
	}
	if !c.Streamed || c.Status != http.StatusOK {
		t.Errorf("record: got streamed %v, status %d; want true, 200", c.Streamed, c.Status)
	}
	if strings.Contains(stream, `"model":"fixture-model"`) && c.Model != "fixture-model" {
		t.Errorf("model: got %q, want that of the answer", c.Model)
	}
}
