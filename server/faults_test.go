package server_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/servertest/timetest"
)

// Lines of "What the original gets wrong" in companion.md that only the whole surface shows; the others stand with
// what they are about.

func zipped(t *testing.T, text string) string {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestOriginalFault_GzipAnswersAndStreamsLoseTheirTokenCounts(t *testing.T) {
	usage := sse(`{"model":"m1","choices":[{"delta":{"content":"a"}}]}`) + sse(`{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":7}}`) + sse("[DONE]")
	for name, scenario := range map[string]servertest.Scenario{
		"a gzip answer": {Body: zipped(t, scenarios["chat"].Body), Header: http.Header{"Content-Encoding": {"gzip"}}},
		"a stream":      {Pieces: []string{usage}},
		"a gzip stream": {Body: zipped(t, usage), Header: http.Header{"Content-Encoding": {"gzip"}, "Content-Type": {"text/event-stream"}}},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := withUpstream(t, "counted", server.Config{}, map[string]servertest.Scenario{"counted": scenario})
			got := ask(t, r, "POST", chatPath, `{"model":"m1","stream":true}`, "Accept-Encoding", "gzip")
			if want := scenario.Body + strings.Join(scenario.Pieces, ""); got.Body != want {
				t.Errorf("got %d bytes, want the %d that the upstream sent", len(got.Body), len(want))
			}
			calls := metricsOf(t, r)
			if len(calls) != 1 || calls[0].PromptTokens != 12 || calls[0].CompletionTokens != 7 {
				t.Errorf("got %+v, want 12 and 7 tokens", calls)
			}
		})
	}
}

func TestOriginalFault_MegabyteModelNamesInMetricsAndLog(t *testing.T) {
	name := strings.Repeat("m", 1<<20)
	var lines bytes.Buffer // read once the server has ended
	r, _ := withUpstream(t, "echo", server.Config{Slog: slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))},
		map[string]servertest.Scenario{"echo": {Body: `{"model":"` + name + `","choices":[]}`}})
	ask(t, r, "POST", chatPath, `{"model":"`+name+`"}`)
	if got := ask(t, r, "GET", "/metrics", "").Body; len(got) > 2000 || !strings.Contains(got, `"model":"mmm`) {
		t.Errorf("got %d bytes of metrics for one call", len(got))
	}
	r.End()
	if err := r.Wait(); err != nil {
		t.Error(err)
	}
	if lines.Len() > 4000 {
		t.Errorf("got %d bytes of log for one call", lines.Len())
	}
}

func TestOriginalFault_DefaultPoolOfTwoIdleConnections(t *testing.T) {
	const parallel = 16
	gate := make(chan struct{})
	r, provider := withUpstream(t, "gated", server.Config{}, map[string]servertest.Scenario{"gated": {Body: "{}", Before: gate}})
	for round := range 2 {
		var group sync.WaitGroup
		for range parallel {
			group.Go(func() {
				resp, err := r.Client.Post(r.URL+chatPath, "application/json", strings.NewReader(chatBody))
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body) // the provider's body is two bytes
				resp.Body.Close()
			})
		}
		provider.Await((round + 1) * parallel) // all at once, so that each needs a connection
		for range parallel {
			gate <- struct{}{}
		}
		group.Wait()
	}
	from := map[string]bool{}
	for _, request := range provider.Requests() {
		from[request.From] = true
	}
	if len(from) != parallel {
		t.Errorf("%d calls took %d connections, want %d: they are kept", 2*parallel, len(from), parallel)
	}
}

// A stream that is cut by the upstream is recorded as that, and never looks whole to the page.
func TestOriginalFault_CutStreamsEndAsIfComplete(t *testing.T) {
	r, _ := withUpstream(t, "cut", server.Config{})
	if got := soon(t, call(r), "the headers"); got.err == nil {
		defer got.resp.Body.Close()
		if body, err := io.ReadAll(got.resp.Body); err == nil && got.resp.StatusCode == http.StatusOK {
			t.Errorf("got a clean end after %q", body)
		}
	}
	recorded := timetest.Until(t, "the record of the call", func() ([]protocol.Call, bool) { calls := metricsOf(t, r); return calls, len(calls) == 1 })
	if got := recorded[0].Verdict; got != protocol.VerdictTruncated {
		t.Errorf("got verdict %q, want truncated", got)
	}
}
