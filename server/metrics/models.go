package metrics

import (
	"cmp"
	"maps"
	"slices"

	"chatwright.dev/tray/server/internal/genai"
	"chatwright.dev/tray/server/protocol"
)

// models are the sums of each model that was asked for. Names come from callers, so they are bounded: once there are
// 64 models, the rest is counted as protocol.OtherModels. A name that never got an answer gives way to a new one, or
// 64 slips of the pen would hide all that comes after.
type models struct {
	named  map[string]*model
	other  *model // nil: it was not needed yet
	series int    // of all models
	uses   uint64
}

type model struct {
	name string
	sums
	series   []*series
	answered bool   // by a call that did not fail
	used     uint64 // the value of models.uses then
}

func newModels() models { return models{named: map[string]*model{}} }

// of returns the model of that name, or the one that stands for it.
func (m *models) of(name string) *model {
	if one := m.named[name]; one != nil {
		return one
	}
	if name == protocol.OtherModels || len(m.named) >= genai.MaxModels && !m.makeRoom() {
		if m.other == nil {
			m.other = newModel(protocol.OtherModels)
		}
		return m.other
	}
	one := newModel(name)
	m.named[name] = one
	return one
}

func newModel(name string) *model {
	return &model{name: name, sums: newSums(modelSamples)}
}

// makeRoom gives up the name that was not used for the longest time among those that never got an answer.
func (m *models) makeRoom() bool {
	var oldest *model
	for _, one := range m.named {
		if !one.answered && one.inFlight == 0 && (oldest == nil || one.used < oldest.used) {
			oldest = one
		}
	}
	if oldest == nil {
		return false
	}
	delete(m.named, oldest.name)
	m.series -= len(oldest.series)
	other := m.of(protocol.OtherModels)
	other.fold(&oldest.sums)
	for _, s := range oldest.series {
		m.seriesOf(other, s.upstream, s.errorType).fold(s)
	}
	return true
}

// end adds a call that asked for that name.
func (m *models) end(name, errorType string, c *protocol.Call, sample *sample) {
	one := m.of(name)
	m.land(one)
	m.uses++
	one.used = m.uses
	one.add(c, sample)
	one.answered = one.answered || sample.told
	m.seriesOf(one, c.Upstream, errorType).add(c)
}

// land counts a call as no longer in flight. It may have begun under another name than it ends: the proxy reads the
// model's name off a large body only as it passes.
func (m *models) land(one *model) {
	if one.inFlight == 0 {
		one = m.named[""]
	}
	if one == nil || one.inFlight == 0 {
		one = m.other
	}
	if one != nil && one.inFlight > 0 {
		one.inFlight--
	}
}

// all returns the models, those with most calls first and the rest of them, which is no model, last.
func (m *models) all() []*model {
	all := slices.SortedFunc(maps.Values(m.named), func(a, b *model) int {
		return cmp.Or(cmp.Compare(b.calls, a.calls), cmp.Compare(a.name, b.name))
	})
	if m.other != nil {
		all = append(all, m.other)
	}
	return all
}

// copy returns models that do not change.
func (m *models) copy() []namedSums {
	copies := make([]namedSums, 0, len(m.named)+1)
	for _, one := range m.all() {
		copies = append(copies, namedSums{one.name, one.copy()})
	}
	return copies
}

type namedSums struct {
	name string
	sums
}

// shot is a copy of all that a snapshot is made of.
type shot struct {
	total  sums
	models []namedSums
	recent []protocol.Call // oldest first
}

// metrics computes what is shown.
func (s shot) metrics() protocol.Metrics {
	t := s.total.times()
	verdicts, errors := s.total.ends()
	m := protocol.Metrics{
		Calls: s.total.calls, Errors: errors, InFlight: s.total.inFlight,
		PromptTokens: s.total.prompt, CompletionTokens: s.total.answer,
		LatencyP50Ms: t.p50, LatencyP95Ms: t.p95, LatencyP99Ms: t.p99,
		FirstTokenP50Ms: t.firstToken, TokensPerSecond: t.tokensPerSecond,
		Verdicts: verdicts, Window: t.window,
	}
	for i := range s.models {
		m.Models = append(m.Models, s.models[i].metrics())
	}
	for _, c := range slices.Backward(s.recent) {
		m.Recent = append(m.Recent, c)
	}
	return m
}

func (s *namedSums) metrics() protocol.ModelMetrics {
	t := s.times()
	verdicts, errors := s.ends()
	return protocol.ModelMetrics{
		Model: s.name,
		Calls: s.calls, Errors: errors, InFlight: s.inFlight,
		PromptTokens: s.prompt, CompletionTokens: s.answer,
		LatencyP50Ms: t.p50, LatencyP95Ms: t.p95, LatencyP99Ms: t.p99,
		FirstTokenP50Ms: t.firstToken, TokensPerSecond: t.tokensPerSecond,
		Verdicts: verdicts, Window: t.window,
	}
}
