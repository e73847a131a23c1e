package app

import (
	"log/slog"
	"maps"
	"sync"
	"time"

	"chatwright.dev/tray/app/settings"
)

// memoryGrain is how long what is remembered of an upstream may stay unwritten: one write in that time, not one a call.
const memoryGrain = 10 * time.Minute

// A memory is the state file while the app runs. Losing it loses no work, so a disk that cannot be written costs one
// line in the log.
type memory struct {
	path string
	log  *slog.Logger

	mu        sync.Mutex
	state     settings.State
	written   time.Time
	unwritten bool
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

// Answered remembers that the upstream answered at that time. It is written down at once the first time, and then every
// memoryGrain at most.
func (m *memory) Answered(base string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, known := m.state.Upstreams[base]
	upstreams := maps.Clone(m.state.Upstreams)
	if upstreams == nil {
		upstreams = map[string]settings.UpstreamMemory{}
	}
	upstreams[base] = settings.UpstreamMemory{LastAnswered: at.UTC()}
	m.state.Upstreams = upstreams
	m.unwritten = true
	if !known || at.Sub(m.written) >= memoryGrain {
		m.write(at)
	}
}

// Chosen is the name of the upstream that was chosen last; "" when none was.
func (m *memory) Chosen() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.Upstream
}

// LastToAnswer is the base URL of the upstream that answered last; "" when none ever did.
func (m *memory) LastToAnswer() (base string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var last time.Time
	for one, remembered := range m.state.Upstreams {
		if remembered.LastAnswered.After(last) {
			base, last = one, remembered.LastAnswered
		}
	}
	return base
}

// Choose remembers which upstream was chosen, and writes it down at once: it is a decision.
func (m *memory) Choose(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state.Upstream != name {
		m.state.Upstream = name
		m.write(time.Now())
	}
}

// Flush writes down what is not yet.
func (m *memory) Flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unwritten {
		m.write(time.Now())
	}
}

// write is called with the lock held.
func (m *memory) write(now time.Time) {
	if err := settings.WriteState(m.path, m.state); err != nil {
		m.log.Warn("writing what the app remembers", "err", err)
	}
	m.written, m.unwritten = now, false // a disk that cannot be written is tried again later, not at each call
}

// Release is what is known of newer releases.
func (m *memory) Release() settings.ReleaseMemory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state.Release == nil {
		return settings.ReleaseMemory{}
	}
	return *m.state.Release
}

// ChangeRelease changes that and writes it down: it is a few times a day at most.
func (m *memory) ChangeRelease(change func(*settings.ReleaseMemory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var next settings.ReleaseMemory
	if m.state.Release != nil {
		next = *m.state.Release
	}
	change(&next)
	m.state.Release = &next
	m.write(time.Now())
}

// FirstWithoutPanel reports whether the user has not been told yet why there is no icon, and remembers that now they
// are.
func (m *memory) FirstWithoutPanel() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state.ToldNoPanel {
		return false
	}
	m.state.ToldNoPanel = true
	m.write(time.Now())
	return true
}
