package app

import (
	"log/slog"
	"maps"
	"sync"
	"time"

	"chatwright.dev/tray/app/settings"
)

// memoryGrain is how old what is remembered of an upstream may be before it is written again: one write an hour, not
// one a call.
const memoryGrain = time.Hour

// A memory is the state file while the app runs. Losing it loses no work, so a disk that cannot be written costs one
// line in the log.
type memory struct {
	path string
	log  *slog.Logger

	mu    sync.Mutex
	state settings.State
}

func newMemory(path string, log *slog.Logger) *memory {
	state, setAside, err := settings.ReadState(path)
	if err != nil {
		log.Warn("reading what the app remembers", "err", err)
	}
	if setAside != "" {
		log.Warn("the state file was broken and is set aside", "file", setAside)
	}
	return &memory{path: path, log: log, state: state}
}

// LastAnswered says when the upstream with that base URL was last seen to answer.
func (m *memory) LastAnswered(base string) (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u, ok := m.state.Upstreams[base]
	return u.LastAnswered, ok
}

// Answered remembers that the upstream answered at that time.
func (m *memory) Answered(base string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at.Sub(m.state.Upstreams[base].LastAnswered) < memoryGrain {
		return
	}
	upstreams := maps.Clone(m.state.Upstreams)
	if upstreams == nil {
		upstreams = map[string]settings.UpstreamMemory{}
	}
	upstreams[base] = settings.UpstreamMemory{LastAnswered: at.UTC()}
	m.state.Upstreams = upstreams
	if err := settings.WriteState(m.path, m.state); err != nil {
		m.log.Warn("writing what the app remembers", "err", err)
	}
}
