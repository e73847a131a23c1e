package telemetry_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/timetest"
	"chatwright.dev/tray/server/telemetry"
)

func TestMain(m *testing.M) {
	for _, entry := range os.Environ() { // what the machine exports to is not for tests
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "OTEL_") {
			os.Unsetenv(name)
		}
	}
	goleak.VerifyTestMain(m)
}

func TestACallIsASpanOfTheConventions(t *testing.T) {
	c := newCollector(t)
	cfg, _ := config(c.URL)
	bad := protocol.Call{Timestamp: at, ID: "c2", Model: "m", LatencyMs: 5, Status: 404, Verdict: protocol.VerdictUpstreamError,
		Error: "the upstream repeats what the caller sent", Upstream: "Demo model"}
	export(t, cfg, good(), bad)
	if len(c.spans) != 1 {
		t.Fatalf("got %d batches, want one", len(c.spans))
	}
	resource := attributes(c.spans[0].Resource.Attributes)
	for name, want := range map[string]any{"service.name": "chatwright-tray", "service.version": "0.1.0", "service.instance.id": "abc"} {
		if resource[name] != want {
			t.Errorf("%s: got %v, want %v", name, resource[name], want)
		}
	}
	if resource["host.name"] == nil {
		t.Error("the resource does not say on which machine: got no host.name")
	}
	spans := c.spans[0].ScopeSpans[0].Spans
	one := spans[0]
	if one.Name != "chat gpt-5" || one.Kind != tracespb.Span_SPAN_KIND_CLIENT || len(one.ParentSpanId) != 0 {
		t.Errorf("got %q of kind %s", one.Name, one.Kind)
	}
	start, end := time.Unix(0, int64(one.StartTimeUnixNano)).UTC(), time.Unix(0, int64(one.EndTimeUnixNano)).UTC()
	if !start.Equal(at) || end.Sub(start) != 1800*time.Millisecond {
		t.Errorf("got %s to %s, want the call's own times", start, end)
	}
	wants(t, "a whole answer", attributes(one.Attributes), map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-5", "gen_ai.response.model": "gpt-5-2026-08-06",
		"gen_ai.usage.input_tokens": int64(12), "gen_ai.usage.output_tokens": int64(412), "gen_ai.response.finish_reasons": "stop",
		"gen_ai.request.stream": true, "gen_ai.response.time_to_first_chunk": 0.3, "http.response.status_code": int64(200),
		"server.address": "localhost", "server.port": int64(11434), "chatwright.call.id": "c1", "chatwright.verdict": "complete",
	})
	if one.Status.Code != tracespb.Status_STATUS_CODE_UNSET {
		t.Errorf("status: got %s", one.Status)
	}
	wants(t, "an error", attributes(spans[1].Attributes), map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m", "gen_ai.response.model": "m",
		"error.type": "404", "gen_ai.request.stream": false, "http.response.status_code": int64(404),
		"server.address": "Demo model", "chatwright.call.id": "c2", "chatwright.verdict": "upstream-error",
	})
	if s := spans[1].Status; s.Code != tracespb.Status_STATUS_CODE_ERROR || s.Message != "" {
		t.Errorf("status: got %s, want an error without words", s)
	}
	if strings.Contains(c.raw.String(), bad.Error) {
		t.Error("the upstream's words were exported")
	}
}

func TestMetricsAreThoseOfTheConventions(t *testing.T) {
	c := newCollector(t)
	cfg, _ := config(c.URL)
	calls := []protocol.Call{good(), good()}
	for i := range 100 {
		calls = append(calls, protocol.Call{Timestamp: at, Model: string(rune('A' + i)), LatencyMs: 20, Verdict: protocol.VerdictTruncated, Status: 200})
	}
	export(t, cfg, calls...)
	got := map[string]*metricspb.Metric{}
	for _, m := range c.metrics[len(c.metrics)-1].ScopeMetrics[0].Metrics {
		got[m.Name] = m
	}
	base := map[string]any{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-5",
		"server.address": "localhost", "server.port": int64(11434)}
	for _, want := range []struct {
		name, unit, token string
		sum               float64
		bounds            int
	}{
		{"gen_ai.client.operation.duration", "s", "", 3.6, 14},
		{"gen_ai.client.operation.time_to_first_chunk", "s", "", 0.6, 16},
		{"gen_ai.client.token.usage", "{token}", "input", 24, 14},
		{"gen_ai.client.token.usage", "{token}", "output", 824, 14},
	} {
		m := got[want.name]
		if m == nil || m.Unit != want.unit {
			t.Errorf("%s: got %v, want unit %s", want.name, m, want.unit)
			continue
		}
		found := false
		for _, p := range m.GetHistogram().DataPoints {
			a := attributes(p.Attributes)
			if a["gen_ai.request.model"] != "gpt-5" || want.token != "" && a["gen_ai.token.type"] != want.token {
				continue
			}
			found = true
			if p.Count != 2 || *p.Sum < want.sum-1e-9 || *p.Sum > want.sum+1e-9 || len(p.ExplicitBounds) != want.bounds {
				t.Errorf("%s: got %d with the sum %v and %d bounds; want 2, %v, %d", want.name, p.Count, *p.Sum, len(p.ExplicitBounds), want.sum, want.bounds)
			}
			delete(a, "gen_ai.token.type")
			wants(t, want.name, a, base)
		}
		if !found {
			t.Errorf("%s %s: no point of gpt-5", want.name, want.token)
		}
	}
	models, other := map[any]bool{}, uint64(0)
	for _, p := range got["gen_ai.client.operation.duration"].GetHistogram().DataPoints {
		a := attributes(p.Attributes)
		models[a["gen_ai.request.model"]] = true
		if a["gen_ai.request.model"] == protocol.OtherModels {
			other = p.Count
		}
	}
	if len(models) != 65 || other != 37 {
		t.Errorf("got %d models, %d calls of others; want 64 and the 37 that are too many", len(models), other)
	}
}

// Nothing of it is made unless somebody asks for it.
func TestOffUnlessAnEndpointIsSet(t *testing.T) {
	const url = "http://127.0.0.1:1"
	for _, c := range []struct {
		name     string
		endpoint string
		env      map[string]string
		on       bool
	}{
		{"nothing", "", nil, false},
		{"an endpoint", url, nil, true},
		{"one for traces", "", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": url}, true},
		{"one for metrics", "", map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": url}, true},
		{"the SDK is disabled", url, map[string]string{"OTEL_SDK_DISABLED": "TRUE"}, false},
		{"no exporters", url, map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}, false},
		{"only metrics", url, map[string]string{"OTEL_TRACES_EXPORTER": "none"}, true},
		{"gRPC, which is not spoken", url, map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false},
		{"gRPC for traces alone", url, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			cfg, log := config(c.endpoint)
			if got := telemetry.New(cfg) != nil; got != c.on {
				t.Errorf("got on %v, want %v", got, c.on)
			}
			if said := strings.Contains(log.String(), "asks for grpc"); said != strings.Contains(c.name, "gRPC") {
				t.Errorf("log: %s", log)
			}
		})
	}
}

func TestTheEnvironmentIsHonoured(t *testing.T) {
	c := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1") // the configured one wins
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", c.URL+"/own/metrics")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=testers")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	t.Setenv("OTEL_SERVICE_NAME", "mine")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=lab")
	cfg, _ := config(c.URL + "/base")
	export(t, cfg, good())
	slices.Sort(c.paths)
	if want := []string{"/base/v1/traces", "/own/metrics"}; !slices.Equal(c.paths, want) {
		t.Errorf("paths: got %v, want %v", c.paths, want)
	}
	for _, h := range c.headers {
		if h.Get("X-Team") != "testers" || h.Get("Content-Type") != "application/x-protobuf" || h.Get("Content-Encoding") != "gzip" {
			t.Errorf("headers: got %v", h)
		}
	}
	got := attributes(c.spans[0].Resource.Attributes)
	if got["service.name"] != "mine" || got["deployment.environment.name"] != "lab" {
		t.Errorf("resource: got %v", got)
	}
}

func TestTroubleIsSaidOnceForEachCause(t *testing.T) {
	c := newCollector(t)
	c.status = http.StatusUnauthorized
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "5") // milliseconds
	t.Setenv("OTEL_METRICS_EXPORTER", "none")
	cfg, log := config(c.URL)
	e := telemetry.New(cfg)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	timetest.Until(t, "five batches", func() (int, bool) {
		e.Observe(good())
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.paths), len(c.paths) >= 5
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := strings.Count(log.String(), "telemetry is not delivered"); got != 1 || !strings.Contains(log.String(), "401") {
		t.Errorf("said %d times, want once:\n%s", got, log)
	}
	if strings.Contains(log.String(), "none of our log's business") {
		t.Errorf("the collector's words are in the log:\n%s", log)
	}
}

func TestACollectorThatIsNotThereCostsNothing(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	cfg, log := config("http://" + addr)
	export(t, cfg, good())
	for _, signal := range []string{"signal=traces", "signal=metrics"} {
		if !strings.Contains(log.String(), `msg="telemetry is not delivered" `+signal+` err="dial `+addr) {
			t.Errorf("want a line for %s in\n%s", signal, log)
		}
	}
}

// A collector that never answers holds the end up for a bounded time only; who is in a hurry does not wait at all.
func TestTheEndIsBounded(t *testing.T) {
	release := make(chan struct{})
	hung := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer hung.Close()
	defer close(release)
	for _, c := range []struct {
		name  string
		abort bool
		most  time.Duration
	}{{"within the flush time", false, 4 * time.Second}, {"aborted", true, time.Second}} {
		cfg, _ := config(hung.URL)
		if c.abort {
			abort := make(chan struct{})
			close(abort)
			cfg.Abort = abort
		}
		begun := time.Now()
		export(t, cfg, good())
		if took := time.Since(begun); took > c.most {
			t.Errorf("%s: took %s, want at most %s", c.name, took, c.most)
		}
	}
}

func TestObserveNeverWaits(t *testing.T) {
	cfg, log := config(newCollector(t).URL)
	e := telemetry.New(cfg)
	for range 5000 { // nobody takes them yet
		e.Observe(good())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Run(ctx); err != nil {
		t.Error(err)
	}
	if want := "dropped=3976"; !strings.Contains(log.String(), want) {
		t.Errorf("want %s in\n%s", want, log)
	}
}

// BenchmarkObserve is what export costs the call.
func BenchmarkObserve(b *testing.B) {
	log := slog.New(slog.DiscardHandler)
	e := telemetry.New(telemetry.Config{Endpoint: "http://127.0.0.1:1", Log: log})
	c := good()
	b.ReportAllocs()
	for b.Loop() {
		e.Observe(c)
	}
}
