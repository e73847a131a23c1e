// Package telemetry tells an OpenTelemetry collector of each call: a span, and the client metrics of the conventions
// for generative AI, over OTLP. It says how calls went and never what was in them. Calls do not wait for it: what a
// collector is too slow for is dropped and counted.
//
// Without a collector nothing of it is made.
package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/sync/errgroup"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

const (
	// queue is how many calls wait at most until they are turned into a span and metrics, which takes microseconds;
	// behind it the SDK has a queue of spans, and sums of metrics.
	queue = 1024
	// flushTime bounds how long the last calls may take to reach the collector when Run ends.
	flushTime = 3 * time.Second
	// scope names who measured.
	scope     = "chatwright.dev/tray/server/telemetry"
	schemaURL = "https://opentelemetry.io/schemas/1.41.0"
	// serviceName is what the service is called unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES do.
	serviceName = "chatwright-tray"
)

// Config says where to export to, and who exports. The SDK reads the other OTEL_* variables itself.
type Config struct {
	// Endpoint is the base URL of the collector: "http://localhost:4318". Empty: none but those that
	// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT and OTEL_EXPORTER_OTLP_METRICS_ENDPOINT name, which win for their signal.
	Endpoint   string
	Version    string          // of the service
	InstanceID string          // of the service
	Log        *slog.Logger    // required
	Abort      <-chan struct{} // closed: what has not reached the collector is given up; nil: never
}

// ParseEndpoint reads a Config.Endpoint as a person writes it, and refuses one that nothing can be appended to. It also
// takes host:port alone: OTEL_EXPORTER_OTLP_ENDPOINT is set for many programs, and some understand that. What is refused
// is not repeated: there may be a password in it.
func ParseEndpoint(text string) (string, error) {
	const way = "write it like http://localhost:4318"
	if text = strings.TrimSpace(text); !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", hint.With(errors.New("it is not a URL"), way)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", hint.With(errors.New("it is not an http or https URL"), way)
	case u.User != nil:
		return "", hint.With(errors.New("it holds a user name or password"), "name them in OTEL_EXPORTER_OTLP_HEADERS")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", hint.With(errors.New("it holds a query or a fragment, to which nothing can be appended"), way)
	}
	return text, nil
}

// Exporter exports calls. Make one with New, and run it.
type Exporter struct {
	cfg             Config
	traces, metrics signal
	calls           chan protocol.Call
	dropped         atomic.Int64
}

// New returns an Exporter, or nil when there is nothing to export to or the environment switches export off.
func New(cfg Config) *Exporter {
	e := &Exporter{
		cfg:     cfg,
		traces:  signalOf("TRACES", "v1/traces", cfg.Endpoint),
		metrics: signalOf("METRICS", "v1/metrics", cfg.Endpoint),
	}
	for _, s := range []signal{e.traces, e.metrics} {
		if s.grpc {
			cfg.Log.Warn("telemetry is not exported: only http/protobuf is spoken, and the environment asks for grpc", "signal", s.name)
		}
	}
	if !e.traces.on && !e.metrics.on {
		return nil
	}
	e.calls = make(chan protocol.Call, queue)
	return e
}

// signal is what the environment and the configuration say of spans, or of metrics.
type signal struct {
	name string
	on   bool
	url  string // "": the SDK reads it from the signal's own variable
	grpc bool   // it would be on, but for a protocol that is not spoken here
}

func signalOf(name, path, endpoint string) signal {
	s := signal{name: strings.ToLower(name)}
	own := os.Getenv("OTEL_EXPORTER_OTLP_" + name + "_ENDPOINT")
	switch {
	case strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true"), os.Getenv("OTEL_"+name+"_EXPORTER") == "none":
		return s
	case own != "":
		s.on = true
	case endpoint != "":
		base, err := url.Parse(endpoint)
		if err != nil {
			return s
		}
		s.on, s.url = true, base.JoinPath(path).String()
	}
	protocol := os.Getenv("OTEL_EXPORTER_OTLP_" + name + "_PROTOCOL")
	if protocol == "" {
		protocol = os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	if s.on && protocol == "grpc" {
		s.on, s.grpc = false, true
	}
	return s
}

// Observe takes note of a call that ended. It never waits.
func (e *Exporter) Observe(c protocol.Call) {
	select {
	case e.calls <- c:
	default:
		e.dropped.Add(1)
	}
}

// Run exports until ctx ends, and then what is left, within flushTime. Trouble with the collector is said to the log,
// once for each cause, and is no error of Run's: the companion does its work without one.
func (e *Exporter) Run(ctx context.Context) error {
	over := make(chan struct{})
	flush, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(flush, func() { close(over) })
	defer cancel()
	sdk, err := e.start(flush, over)
	if err != nil {
		e.cfg.Log.Warn("telemetry is not exported", "err", err)
		<-ctx.Done() // Observe goes on, and drops
		return nil
	}
	e.cfg.Log.Info("exporting telemetry", "traces", e.traces.on, "metrics", e.metrics.on)
	e.record(ctx, sdk.instruments)

	timer := time.AfterFunc(flushTime, cancel)
	defer timer.Stop()
	ended := make(chan error, 1)
	// Not with flush: the SDK would leave its goroutines running when it ends. They end with over.
	go func() { ended <- sdk.shutdown(context.WithoutCancel(ctx)) }()
	select {
	case <-e.cfg.Abort:
		cancel()
		err = <-ended
	case err = <-ended:
	}
	if err != nil {
		e.cfg.Log.Warn("the last telemetry was not delivered", "err", cause(err))
	}
	if n := e.dropped.Load(); n > 0 {
		e.cfg.Log.Warn("telemetry fell behind", "dropped", n)
	}
	return nil
}

// record turns calls into spans and metrics until ctx ends and none is left.
func (e *Exporter) record(ctx context.Context, to *instruments) {
	for {
		select {
		case c := <-e.calls:
			to.record(&c)
		case <-ctx.Done():
			for {
				select {
				case c := <-e.calls:
					to.record(&c)
				default:
					return
				}
			}
		}
	}
}

// sdk are the SDK's parts. They are ours alone: nothing is set for the whole process. A signal that is off has none.
type sdk struct {
	traces      *sdktrace.TracerProvider
	metrics     *sdkmetric.MeterProvider
	instruments *instruments
}

// start makes them. Exports that go on when over is closed are given up.
func (e *Exporter) start(ctx context.Context, over <-chan struct{}) (*sdk, error) {
	service, err := e.resource(ctx)
	if err != nil {
		return nil, err
	}
	s := &sdk{}
	if e.traces.on {
		var options []otlptracehttp.Option
		if e.traces.url != "" {
			options = append(options, otlptracehttp.WithEndpointURL(e.traces.url))
		}
		exporter, err := otlptracehttp.New(ctx, options...)
		if err != nil {
			return nil, err
		}
		s.traces = sdktrace.NewTracerProvider(sdktrace.WithResource(service),
			sdktrace.WithBatcher(spans{exporter, &complaint{log: e.cfg.Log, signal: e.traces.name}, over}))
	}
	if e.metrics.on {
		var options []otlpmetrichttp.Option
		if e.metrics.url != "" {
			options = append(options, otlpmetrichttp.WithEndpointURL(e.metrics.url))
		}
		exporter, err := otlpmetrichttp.New(ctx, options...)
		if err != nil {
			return nil, errors.Join(err, s.shutdown(ctx))
		}
		reader := sdkmetric.NewPeriodicReader(points{exporter, &complaint{log: e.cfg.Log, signal: e.metrics.name}, over})
		s.metrics = sdkmetric.NewMeterProvider(sdkmetric.WithResource(service), sdkmetric.WithReader(reader))
	}
	if s.instruments, err = newInstruments(s.traces, s.metrics); err != nil {
		return nil, errors.Join(err, s.shutdown(ctx))
	}
	return s, nil
}

// shutdown sends what is left, both signals at once, since they share the time.
func (s *sdk) shutdown(ctx context.Context) error {
	var both errgroup.Group
	if s.traces != nil {
		both.Go(func() error { return s.traces.Shutdown(ctx) })
	}
	if s.metrics != nil {
		both.Go(func() error { return s.metrics.Shutdown(ctx) })
	}
	return both.Wait()
}

// resource says who exports. What the environment says wins.
func (e *Exporter) resource(ctx context.Context) (*resource.Resource, error) {
	r, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithHost(),
		resource.WithAttributes(
			attribute.String("service.name", serviceName),
			attribute.String("service.version", e.cfg.Version),
			attribute.String("service.instance.id", e.cfg.InstanceID),
		),
		resource.WithFromEnv(),
	)
	if errors.Is(err, resource.ErrPartialResource) || errors.Is(err, resource.ErrSchemaURLConflict) {
		err = nil // what there is will do
	}
	return r, err
}
