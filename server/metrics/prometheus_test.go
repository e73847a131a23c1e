package metrics_test

import (
	"bytes"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"chatwright.dev/tray/server/metrics"
	"chatwright.dev/tray/server/protocol"
)

var update = flag.Bool("update", false, "write the golden files anew")

// scrape reads the text as Prometheus does.
func scrape(t *testing.T, s *metrics.Store, accept string) string {
	t.Helper()
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	s.Prometheus().ServeHTTP(w, r)
	if w.Code != 200 {
		t.Fatalf("got status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// someCalls is a store with calls that ended in each way.
func someCalls() *metrics.Store {
	s := metrics.New(0)
	first := int64(300)
	for range 3 {
		call(s, protocol.Call{Model: "llama3.2", Timestamp: at, LatencyMs: 1800, FirstTokenMs: &first, TokensPerSecond: 38.5, Status: 200,
			PromptTokens: 12, CompletionTokens: 412, UsageKnown: true, Upstream: "localhost:11434"})
	}
	call(s, protocol.Call{Model: "llama3.2", Timestamp: at, LatencyMs: 1, Status: 200, Upstream: "[::1]:8080", Verdict: protocol.VerdictNoDone})
	call(s, protocol.Call{Model: "llama3.2", Timestamp: at, LatencyMs: 200_000, Status: 500, Upstream: "localhost:11434", Verdict: protocol.VerdictUpstreamError})
	call(s, protocol.Call{Timestamp: at, LatencyMs: 40, Status: 499, Upstream: "Demo model", Verdict: protocol.VerdictCancelled})
	s.Begin("llama3.2")
	return s
}

// gateway.md 19: the names and labels of the OpenTelemetry conventions. A change of the golden file breaks dashboards.
func TestPrometheusText(t *testing.T) {
	got := scrape(t, someCalls(), "text/plain")
	path := filepath.Join("testdata", "metrics.prom")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	problems, err := promlint.New(bytes.NewReader(want)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("the linter of Prometheus says: %v %v", problems, err)
	}
}

func TestOpenMetricsForThoseWhoAskForIt(t *testing.T) {
	got := scrape(t, someCalls(), "application/openmetrics-text;version=1.0.0")
	if !strings.HasSuffix(got, "# EOF\n") || !strings.Contains(got, "gen_ai_client_operation_duration_seconds_bucket{") {
		t.Errorf("got %s", got)
	}
}

func TestAStoreWithoutCallsHasNothingToTell(t *testing.T) {
	if got := scrape(t, metrics.New(0), "text/plain"); got != "" {
		t.Errorf("got %s", got)
	}
}

// The ring holds two calls; counters go on.
func TestCountersOutliveTheRing(t *testing.T) {
	s := metrics.New(2)
	for range 1000 {
		call(s, protocol.Call{Model: "m", LatencyMs: 10, UsageKnown: true, PromptTokens: 3, CompletionTokens: 5})
	}
	got := scrape(t, s, "text/plain")
	for _, want := range []string{
		`gen_ai_client_operation_duration_seconds_count{error_type="",gen_ai_request_model="m",server_address="",server_port=""} 1000`,
		`gen_ai_client_token_usage_sum{error_type="",gen_ai_request_model="m",gen_ai_token_type="output",server_address="",server_port=""} 5000`,
		`chatwright_calls_total{gen_ai_request_model="m",verdict="complete"} 1000`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("want %s in\n%s", want, got)
		}
	}
}

// Labels are bounded, valid and never twice, whatever callers and upstreams are called: one that is not fails the
// whole scrape.
func TestEveryNameCanBeScraped(t *testing.T) {
	s := metrics.New(0)
	for _, model := range []string{"", "other", "a\xff", "a\xfe", "a\uFFFD", "new\nline", `quo"te\`, "\x00", strings.Repeat("x", 300)} {
		for _, upstream := range []string{"", "x:80", "[x]:80", "[::1]:80", "::1:80", "::1", "localhost", "localhost:", ":80", "other", "a\xff:1", "a\xfe:1"} {
			call(s, protocol.Call{Model: model, Upstream: upstream})
			call(s, protocol.Call{Model: model, Upstream: upstream, Verdict: protocol.VerdictUpstreamError, Status: 999})
		}
	}
	for i := range 5000 {
		call(s, protocol.Call{Model: fmt.Sprint("m", i%100), Upstream: fmt.Sprint("u", i%37), Status: i % 600, Verdict: protocol.VerdictUpstreamError})
		call(s, protocol.Call{Model: fmt.Sprint("m", i%100), Upstream: fmt.Sprint("u", i%37)})
	}
	got := scrape(t, s, "text/plain")
	calls := int64(0)
	models := map[string]bool{}
	for line := range strings.Lines(got) {
		if rest, ok := strings.CutPrefix(line, "gen_ai_client_operation_duration_seconds_count{"); ok {
			var n int64
			if _, err := fmt.Sscan(rest[strings.LastIndexByte(rest, ' '):], &n); err != nil {
				t.Fatal(err)
			}
			calls += n
			_, model, _ := strings.Cut(rest, `gen_ai_request_model=`)
			models[model[:strings.Index(model, `",`)]] = true
		}
	}
	if total := s.Snapshot().Calls; calls != total {
		t.Errorf("got %d calls in all series, want all %d", calls, total)
	}
	if len(models) > 65 {
		t.Errorf("got %d models, want at most 65", len(models))
	}
}

// BenchmarkPrometheus is what one scrape costs with a few models.
func BenchmarkPrometheus(b *testing.B) {
	s := someCalls()
	h := s.Prometheus()
	r := httptest.NewRequest("GET", "/metrics", nil)
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
}
