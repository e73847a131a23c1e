package app

import (
	"context"
	"time"

	"chatwright.dev/tray/server/metrics"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/watch"
)

// calmness is the least time between two statuses when only the metrics changed: calls can end by the thousand a
// second, people cannot read by the thousand.
const calmness = 250 * time.Millisecond

// A publisher composes the one status that every surface renders, whenever a part of it changes.
type publisher struct {
	identity protocol.Status // the fields that never change: instance, version, pid, start
	board    board
	metrics  *metrics.Store
	status   *watch.Value[protocol.Status]
	// observe is told of the calls that ended since the last status, before that status is composed; in a flood, of
	// those that the store still holds.
	observe func([]protocol.Call)
}

// Run publishes until ctx ends. While nothing changes it sleeps.
func (p *publisher) Run(ctx context.Context) error {
	var cursor uint64
	for {
		metricsChanged := p.metrics.Changed()
		page := p.metrics.After(cursor, 0)
		cursor = page.Next
		if len(page.Calls) > 0 {
			p.observe(page.Calls)
		}
		now, partsChanged := p.board.Watch()
		p.status.Set(p.compose(now))
		select {
		case <-ctx.Done():
			return nil
		case <-partsChanged:
		case <-metricsChanged:
			calm := time.NewTimer(calmness)
			select {
			case <-ctx.Done():
			case <-partsChanged: // a phase or a notice does not wait
			case <-calm.C:
			}
			calm.Stop()
		}
	}
}

func (p *publisher) compose(now parts) protocol.Status {
	s := p.identity
	s.Phase, s.Detail, s.Addr = now.phase, now.detail, now.addr
	s.Upstream, s.UI, s.Studio, s.Notices, s.Sessions = now.upstream, now.ui, now.studio, now.notices, now.sessionCounts
	if now.capture != protocol.CaptureOff {
		s.Capture = now.capture
	}
	s.Autostart, s.Release = now.login, now.release
	if now.external != nil {
		s.Metrics = *now.external                                    // and no history: ours is not that of the other's calls
		s.Upstream = protocol.Upstream{Reach: protocol.ReachUnknown} // the other one's, of which it does not tell
	} else {
		s.Metrics, s.History = p.metrics.Snapshot(), now.history
	}
	if s.Phase == protocol.PhaseRunning && (s.Upstream.Reach == protocol.ReachDown || now.noticed(causeStudio)) {
		s.Phase = protocol.PhaseDegraded
	}
	return s
}
