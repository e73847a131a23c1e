package telemetry

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"chatwright.dev/tray/server/internal/genai"
	"chatwright.dev/tray/server/protocol"
)

// instruments are what a call is measured with. They belong to one goroutine.
type instruments struct {
	tracer     trace.Tracer
	duration   metric.Float64Histogram
	tokens     metric.Int64Histogram
	firstChunk metric.Float64Histogram
	models     map[string]bool // that have a name of their own in metrics
}

// newInstruments makes them; a provider that is nil exports nothing.
func newInstruments(traces *sdktrace.TracerProvider, metrics *sdkmetric.MeterProvider) (*instruments, error) {
	i := &instruments{models: map[string]bool{}}
	i.tracer = tracenoop.NewTracerProvider().Tracer(scope)
	if traces != nil {
		i.tracer = traces.Tracer(scope, trace.WithSchemaURL(schemaURL))
	}
	meter := metricnoop.NewMeterProvider().Meter(scope)
	if metrics != nil {
		meter = metrics.Meter(scope, metric.WithSchemaURL(schemaURL))
	}
	var err error
	if i.duration, err = meter.Float64Histogram("gen_ai.client.operation.duration", metric.WithUnit("s"),
		metric.WithDescription("GenAI operation duration."), metric.WithExplicitBucketBoundaries(genai.DurationBounds...)); err != nil {
		return nil, err
	}
	if i.tokens, err = meter.Int64Histogram("gen_ai.client.token.usage", metric.WithUnit("{token}"),
		metric.WithDescription("Number of input and output tokens used."), metric.WithExplicitBucketBoundaries(genai.TokenBounds...)); err != nil {
		return nil, err
	}
	i.firstChunk, err = meter.Float64Histogram("gen_ai.client.operation.time_to_first_chunk", metric.WithUnit("s"),
		metric.WithDescription("Time to receive the first chunk of a streamed answer."), metric.WithExplicitBucketBoundaries(genai.FirstChunkBounds...))
	return i, err
}

// record measures one call.
func (i *instruments) record(c *protocol.Call) {
	i.span(c)
	model := genai.RequestModel(c)
	if !i.models[model] {
		if len(i.models) >= genai.MaxModels {
			model = protocol.OtherModels
		} else {
			i.models[model] = true
		}
	}
	ctx := context.Background()
	set := attribute.NewSet(append(common(c, model), failure(c)...)...)
	with := metric.WithAttributeSet(set)
	i.duration.Record(ctx, seconds(c.LatencyMs), with)
	if c.FirstTokenMs != nil {
		i.firstChunk.Record(ctx, seconds(*c.FirstTokenMs), with)
	}
	if c.UsageKnown {
		i.tokens.Record(ctx, c.PromptTokens, with, metric.WithAttributes(attribute.String("gen_ai.token.type", "input")))
		i.tokens.Record(ctx, c.CompletionTokens, with, metric.WithAttributes(attribute.String("gen_ai.token.type", "output")))
	}
}

// span makes the span of a call that is over already. The upstream's words about an error stay out of it: they may
// repeat what the caller sent.
func (i *instruments) span(c *protocol.Call) {
	model := genai.RequestModel(c)
	name := "chat"
	if model != "" {
		name += " " + model
	}
	attributes := append(common(c, model), failure(c)...)
	attributes = append(attributes,
		attribute.Bool("gen_ai.request.stream", c.Streamed),
		attribute.String("chatwright.call.id", c.ID),
		attribute.String("chatwright.verdict", string(c.Verdict)),
	)
	if c.Model != "" {
		attributes = append(attributes, attribute.String("gen_ai.response.model", genai.Name(c.Model)))
	}
	if c.FinishReason != "" {
		attributes = append(attributes, attribute.StringSlice("gen_ai.response.finish_reasons", []string{genai.Name(c.FinishReason)}))
	}
	if c.FirstTokenMs != nil {
		attributes = append(attributes, attribute.Float64("gen_ai.response.time_to_first_chunk", seconds(*c.FirstTokenMs)))
	}
	if c.UsageKnown {
		attributes = append(attributes,
			attribute.Int64("gen_ai.usage.input_tokens", c.PromptTokens),
			attribute.Int64("gen_ai.usage.output_tokens", c.CompletionTokens))
	}
	if c.Status != 0 {
		attributes = append(attributes, attribute.Int("http.response.status_code", c.Status))
	}
	_, span := i.tracer.Start(context.Background(), name, trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithTimestamp(c.Timestamp), trace.WithAttributes(attributes...))
	if genai.ErrorType(c) != "" {
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(c.Timestamp.Add(time.Duration(c.LatencyMs) * time.Millisecond)))
}

// common are the attributes that spans and metrics share. The provider is what the conventions call the dialect that
// is spoken; who really answers, the address says.
func common(c *protocol.Call, model string) []attribute.KeyValue {
	attributes := []attribute.KeyValue{
		attribute.String("gen_ai.operation.name", "chat"),
		attribute.String("gen_ai.provider.name", "openai"),
	}
	if model != "" {
		attributes = append(attributes, attribute.String("gen_ai.request.model", model))
	}
	address, port := genai.ServerAddress(genai.Name(c.Upstream))
	if address != "" {
		attributes = append(attributes, attribute.String("server.address", address))
	}
	if n, err := strconv.Atoi(port); err == nil {
		attributes = append(attributes, attribute.Int("server.port", n))
	}
	return attributes
}

func failure(c *protocol.Call) []attribute.KeyValue {
	if t := genai.ErrorType(c); t != "" {
		return []attribute.KeyValue{attribute.String("error.type", t)}
	}
	return nil
}

func seconds(ms int64) float64 { return float64(max(ms, 0)) / 1000 }
