package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// spans and points are the SDK's exporters, but for two things. Their errors become complaints: the SDK would print
// each to the standard error of the process, batch after batch. And they give up once it is over: the SDK's own
// shutdown leaves a goroutine behind that waits for a collector which does not answer.
type (
	spans struct {
		sdktrace.SpanExporter
		*complaint
		over <-chan struct{}
	}
	points struct {
		sdkmetric.Exporter
		*complaint
		over <-chan struct{}
	}
)

// ExportSpans exports, and complains.
func (s spans) ExportSpans(ctx context.Context, batch []sdktrace.ReadOnlySpan) error {
	ctx, cancel := until(ctx, s.over)
	defer cancel()
	s.note(s.SpanExporter.ExportSpans(ctx, batch))
	return nil
}

// Export exports, and complains.
func (p points) Export(ctx context.Context, batch *metricdata.ResourceMetrics) error {
	ctx, cancel := until(ctx, p.over)
	defer cancel()
	p.note(p.Exporter.Export(ctx, batch))
	return nil
}

// until returns a context that also ends when over is closed.
func until(ctx context.Context, over <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-over:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// complaint says that one signal does not reach the collector, once for each cause, and that it does again.
type complaint struct {
	log    *slog.Logger
	signal string

	mu   sync.Mutex
	last string // what was said last; "": all is well
}

func (c *complaint) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := cause(err)
	if text == c.last {
		return
	}
	c.last = text
	if text == "" {
		c.log.Info("telemetry is delivered again", "signal", c.signal)
		return
	}
	c.log.Warn("telemetry is not delivered", "signal", c.signal, "err", text)
}

// cause is the part of an error that stays the same from one batch to the next, and that is ours to repeat: without
// the URL, the port that the connection came from, and the body of the collector's answer. "" for no error.
func cause(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		to := ""
		if failed.Addr != nil {
			to = " " + failed.Addr.String()
		}
		text = failed.Op + to + ": " + failed.Err.Error()
	} else if failed, ok := errors.AsType[*url.Error](err); ok {
		text = failed.Err.Error()
	}
	text, _, _ = strings.Cut(text, "body: ")
	if text = strings.TrimRight(text, " (:"); text == "" {
		return "the collector refused it"
	}
	const most = 200
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
