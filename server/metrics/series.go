package metrics

import (
	"net/http"
	"slices"
	"strconv"

	"chatwright.dev/tray/server/protocol"
)

// Bounds of the series, besides that of the models: users switch between a few upstreams, and an upstream answers with
// a few statuses. Those that are one too many are counted under otherUpstream, and in the end as other models.
const (
	maxSeries     = 1024
	maxUpstreams  = 16 // of one model
	otherUpstream = "other"
)

// series are the calls of one model to one upstream that ended in one way, as the histograms of the Prometheus text.
// They are kept for good, so that counters do not go back when calls leave the ring.
type series struct {
	upstream   string
	errorType  string // "" for none
	duration   histogram
	input      *histogram // nil: no call told, like the next two
	output     *histogram
	firstChunk *histogram
}

// histogram counts values by bucket. The bounds are not in it: all of a kind have the same.
type histogram struct {
	counts [17]uint64 // one more than the most bounds that there are: the last is what is above all of them
	sum    float64
}

// The bounds that the OpenTelemetry conventions advise for each histogram, in seconds and tokens.
var (
	durationBounds   = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	tokenBounds      = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	firstChunkBounds = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
)

func (h *histogram) observe(value float64, bounds []float64) {
	i := 0
	for i < len(bounds) && value > bounds[i] {
		i++
	}
	h.counts[i]++
	h.sum += value
}

func (h *histogram) fold(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.sum += other.sum
}

func (s *series) add(c *protocol.Call) {
	s.duration.observe(float64(max(c.LatencyMs, 0))/1000, durationBounds)
	if c.UsageKnown {
		made(&s.input).observe(float64(max(c.PromptTokens, 0)), tokenBounds)
		made(&s.output).observe(float64(max(c.CompletionTokens, 0)), tokenBounds)
	}
	if c.FirstTokenMs != nil {
		made(&s.firstChunk).observe(float64(max(*c.FirstTokenMs, 0))/1000, firstChunkBounds)
	}
}

// made returns the histogram, which is made when it is first needed: most series of errors never do.
func made(h **histogram) *histogram {
	if *h == nil {
		*h = new(histogram)
	}
	return *h
}

func (s *series) fold(other *series) {
	s.duration.fold(&other.duration)
	for _, pair := range [...]struct{ into, from **histogram }{
		{&s.input, &other.input}, {&s.output, &other.output}, {&s.firstChunk, &other.firstChunk},
	} {
		if *pair.from != nil {
			made(pair.into).fold(*pair.from)
		}
	}
}

// copy returns a series that does not change.
func (s *series) copy() series {
	c := *s
	for _, h := range [...]**histogram{&c.input, &c.output, &c.firstChunk} {
		if *h != nil {
			same := **h
			*h = &same
		}
	}
	return c
}

// seriesOf returns the series of a model for calls to that upstream that ended so.
func (m *models) seriesOf(one *model, upstream, errorType string) *series {
	if s := one.find(upstream, errorType); s != nil {
		return s
	}
	if upstream = clean(upstream); one.upstreams(upstream) >= maxUpstreams {
		upstream = otherUpstream
	}
	if m.series >= maxSeries {
		one, upstream = m.of(protocol.OtherModels), otherUpstream
	}
	if s := one.find(upstream, errorType); s != nil {
		return s
	}
	s := &series{upstream: upstream, errorType: errorType}
	one.series = append(one.series, s)
	m.series++
	return s
}

func (m *model) find(upstream, errorType string) *series {
	for _, s := range m.series {
		if s.upstream == upstream && s.errorType == errorType {
			return s
		}
	}
	return nil
}

// upstreams is how many upstreams the model has series of, without the given one.
func (m *model) upstreams(but string) int {
	var seen []string
	for _, s := range m.series {
		if s.upstream == but {
			return 0 // it is one of them: no more are needed
		}
		if !slices.Contains(seen, s.upstream) {
			seen = append(seen, s.upstream)
		}
	}
	return len(seen)
}

// errorType says in a word of few how a call went wrong; "" if it did not. An error that somebody answered with has
// its status for a word. A caller who left and a model that still loads have one too, for their times are not the
// model's.
func errorType(c *protocol.Call) string {
	switch c.Verdict {
	case protocol.VerdictTruncated, protocol.VerdictCancelled, protocol.VerdictStreamError, protocol.VerdictLoading, protocol.VerdictUnreachable:
		return string(c.Verdict)
	case protocol.VerdictComplete, protocol.VerdictNoDone:
		return ""
	}
	switch known := http.StatusText(c.Status) != ""; {
	case known && c.Status >= http.StatusBadRequest:
		return strconv.Itoa(c.Status)
	case c.Verdict == protocol.VerdictUpstreamError:
		return otherError
	}
	return "" // a refusal of ours has a status and no verdict; so has a call that another companion measured
}

// otherError is the conventions' own word for what has no other.
const otherError = "_OTHER"
