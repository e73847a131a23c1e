package metrics

import (
	"slices"

	"chatwright.dev/tray/server/internal/genai"
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
	counts [genai.MaxBounds + 1]uint64 // the one after the bounds is what is above them all
	sum    float64
}

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
	s.duration.observe(float64(max(c.LatencyMs, 0))/1000, genai.DurationBounds)
	if c.UsageKnown {
		made(&s.input).observe(float64(max(c.PromptTokens, 0)), genai.TokenBounds)
		made(&s.output).observe(float64(max(c.CompletionTokens, 0)), genai.TokenBounds)
	}
	if c.FirstTokenMs != nil {
		made(&s.firstChunk).observe(float64(max(*c.FirstTokenMs, 0))/1000, genai.FirstChunkBounds)
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
	if upstream = genai.Name(upstream); one.upstreams(upstream) >= maxUpstreams {
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
