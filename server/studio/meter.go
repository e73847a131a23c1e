package studio

import (
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/watch"
)

const (
	// showEvery is how often progress is shown: every part of a download would wake all readers a thousand times.
	showEvery = 100 * time.Millisecond
	// rateOver is the time that a rate looks back on.
	rateOver = 3 * time.Second
)

// A meter turns the progress of one update into states.
type meter struct {
	state *watch.Value[protocol.StudioStatus]
	now   func() time.Time

	stage   Stage
	shown   time.Time
	samples []sample // of the last rateOver, oldest first
}

type sample struct {
	at    time.Time
	bytes int64
}

func (m *meter) report(p Progress) {
	now := m.now()
	changed, full := p.Stage != m.stage, p.Received == p.Total && p.Total > 0
	if !changed && !full && now.Sub(m.shown) < showEvery && p.Stage == Downloading {
		return
	}
	if changed {
		m.samples = nil
	}
	m.stage, m.shown = p.Stage, now
	rate := m.rate(now, p.Received)
	m.state.Update(func(s protocol.StudioStatus) protocol.StudioStatus {
		s.Stage = protocol.StudioStage(p.Stage)
		s.Bytes, s.Total, s.Rate = p.Received, p.Total, rate
		if p.Stage == Checking && p.Version != "" { // the manifest is there
			s.CheckedAt, s.Available = now.UTC(), p.Version
			if s.Available == s.Version {
				s.Available = ""
			}
		}
		return s
	})
}

// rate is the speed of late, in bytes a second. What was resumed was not received now, so the first sample counts for
// nothing but its time; after a restart from zero the count begins anew.
func (m *meter) rate(now time.Time, bytes int64) int64 {
	if n := len(m.samples); n > 0 && bytes < m.samples[n-1].bytes {
		m.samples = nil
	}
	m.samples = append(m.samples, sample{now, bytes})
	for len(m.samples) > 2 && now.Sub(m.samples[0].at) > rateOver {
		m.samples = m.samples[1:]
	}
	first := m.samples[0]
	if over := now.Sub(first.at); over > 0 {
		return int64(float64(bytes-first.bytes) / over.Seconds())
	}
	return 0
}
