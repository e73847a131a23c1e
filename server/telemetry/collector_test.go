package telemetry_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/telemetry"
)

// collector is an OpenTelemetry collector that keeps what it gets.
type collector struct {
	*httptest.Server
	status int // that it answers with; 0: 200

	mu      sync.Mutex
	raw     bytes.Buffer
	headers []http.Header
	paths   []string
	spans   []*tracespb.ResourceSpans
	metrics []*metricspb.ResourceMetrics
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.take(t, r)
		if c.status != 0 {
			http.Error(w, "a body that is none of our log's business", c.status)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) take(t *testing.T, r *http.Request) {
	from := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		from = unzipped
	}
	body, err := io.ReadAll(from)
	if err != nil {
		t.Error(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(body)
	c.headers = append(c.headers, r.Header)
	c.paths = append(c.paths, r.URL.Path)
	if strings.HasSuffix(r.URL.Path, "traces") {
		var request collectortraces.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &request); err != nil {
			t.Error(err)
		}
		c.spans = append(c.spans, request.ResourceSpans...)
		return
	}
	var request collectormetrics.ExportMetricsServiceRequest
	if err := proto.Unmarshal(body, &request); err != nil {
		t.Error(err)
	}
	c.metrics = append(c.metrics, request.ResourceMetrics...)
}

// lines is a log that may be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func config(endpoint string) (telemetry.Config, *lines) {
	log := &lines{}
	return telemetry.Config{Endpoint: endpoint, Version: "0.1.0", InstanceID: "abc", Log: slog.New(slog.NewTextHandler(log, nil))}, log
}

// export exports calls and returns when Run has ended.
func export(t *testing.T, cfg telemetry.Config, calls ...protocol.Call) {
	t.Helper()
	e := telemetry.New(cfg)
	if e == nil {
		t.Fatal("nothing is exported")
	}
	ctx, cancel := context.WithCancel(t.Context())
	for _, c := range calls {
		e.Observe(c)
	}
	cancel() // what was observed until then is exported all the same
	if err := e.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

var at = time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)

func good() protocol.Call {
	first := int64(300)
	return protocol.Call{Timestamp: at, ID: "c1", Model: "gpt-5-2026-08-06", RequestModel: "gpt-5", LatencyMs: 1800, FirstTokenMs: &first,
		PromptTokens: 12, CompletionTokens: 412, UsageKnown: true, Streamed: true, Status: 200, Verdict: protocol.VerdictComplete,
		FinishReason: "stop", Upstream: "localhost:11434"}
}

func attributes(of []*common.KeyValue) map[string]any {
	all := map[string]any{}
	for _, a := range of {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			all[a.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			all[a.Key] = v.IntValue
		case *common.AnyValue_BoolValue:
			all[a.Key] = v.BoolValue
		case *common.AnyValue_DoubleValue:
			all[a.Key] = v.DoubleValue
		case *common.AnyValue_ArrayValue:
			all[a.Key] = v.ArrayValue.Values[0].GetStringValue()
		}
	}
	return all
}

func wants(t *testing.T, what string, got, want map[string]any) {
	t.Helper()
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s: %s: got %v, want %v", what, name, got[name], value)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s is there and should not be: %v", what, name, got[name])
		}
	}
}
