package metrics

import (
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"chatwright.dev/tray/server/internal/genai"
	"chatwright.dev/tray/server/protocol"
)

// Prometheus answers with what was measured as text for Prometheus, or as OpenMetrics where the caller asks for it.
// Nothing is kept for it but the sums: the text is made when somebody reads it.
func (s *Store) Prometheus() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{s}) // it is the only one, so no name is taken
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// The names are those of the OpenTelemetry conventions for generative AI, as Prometheus writes them; what these do not
// know has our own name in front.
var (
	callLabels  = []string{"gen_ai_request_model", "server_address", "server_port", "error_type"}
	tokenLabels = append([]string{"gen_ai_token_type"}, callLabels...)

	durationDesc = prometheus.NewDesc("gen_ai_client_operation_duration_seconds",
		"How long calls took.", callLabels, nil)
	tokensDesc = prometheus.NewDesc("gen_ai_client_token_usage",
		"Tokens of calls whose usage is known.", tokenLabels, nil)
	firstChunkDesc = prometheus.NewDesc("gen_ai_client_operation_time_to_first_chunk_seconds",
		"How long streamed calls took to their first token.", callLabels, nil)
	callsDesc = prometheus.NewDesc("chatwright_calls_total",
		"Calls that ended, by how they did.", []string{"gen_ai_request_model", "verdict"}, nil)
	inFlightDesc = prometheus.NewDesc("chatwright_calls_in_flight",
		"Calls that go on now.", []string{"gen_ai_request_model"}, nil)
	speedDesc = prometheus.NewDesc("chatwright_tokens_per_second",
		"Median speed of the calls of the last hour in which there were any.", []string{"gen_ai_request_model"}, nil)
)

// collector shows a store to Prometheus.
type collector struct{ store *Store }

// Describe names the metrics.
func (collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{durationDesc, tokensDesc, firstChunkDesc, callsDesc, inFlightDesc, speedDesc} {
		out <- d
	}
}

// Collect sends what was measured until now.
func (c collector) Collect(out chan<- prometheus.Metric) {
	metrics, series := c.store.export()
	for _, m := range metrics.Models {
		for verdict, n := range m.Verdicts {
			out <- prometheus.MustNewConstMetric(callsDesc, prometheus.CounterValue, float64(n), m.Model, string(verdict))
		}
		out <- prometheus.MustNewConstMetric(inFlightDesc, prometheus.GaugeValue, float64(m.InFlight), m.Model)
		if m.TokensPerSecond > 0 {
			out <- prometheus.MustNewConstMetric(speedDesc, prometheus.GaugeValue, m.TokensPerSecond, m.Model)
		}
	}
	for _, s := range series {
		address, port := genai.ServerAddress(s.upstream)
		labels := []string{s.model, address, port, s.errorType}
		out <- s.duration.metric(durationDesc, genai.DurationBounds, labels...)
		if s.input != nil {
			out <- s.input.metric(tokensDesc, genai.TokenBounds, slices.Concat([]string{"input"}, labels)...)
		}
		if s.output != nil {
			out <- s.output.metric(tokensDesc, genai.TokenBounds, slices.Concat([]string{"output"}, labels)...)
		}
		if s.firstChunk != nil {
			out <- s.firstChunk.metric(firstChunkDesc, genai.FirstChunkBounds, labels...)
		}
	}
}

func (h *histogram) metric(desc *prometheus.Desc, bounds []float64, labels ...string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(bounds))
	var count uint64
	for i, bound := range bounds {
		count += h.counts[i]
		buckets[bound] = count
	}
	count += h.counts[len(bounds)]
	return prometheus.MustNewConstHistogram(desc, count, h.sum, buckets, labels...)
}

// namedSeries is a copy of the series of a model.
type namedSeries struct {
	model string
	series
}

// export copies the snapshot and the series of one moment.
func (s *Store) export() (protocol.Metrics, []namedSeries) {
	s.mu.Lock()
	shot := s.shot()
	all := make([]namedSeries, 0, s.models.series)
	for _, one := range s.models.all() {
		for _, of := range one.series {
			all = append(all, namedSeries{one.name, of.copy()})
		}
	}
	s.mu.Unlock()
	return shot.metrics(), all
}
