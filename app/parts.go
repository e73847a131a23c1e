package app

import (
	"slices"
	"time"

	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/watch"
)

// noticeLife is how long a notice stays that has no cause which could end.
const noticeLife = 30 * time.Second

// parts is what the app itself knows, besides the metrics. Every surface renders a protocol.Status composed from it.
type parts struct {
	phase    protocol.Phase
	detail   string
	addr     string
	upstream protocol.Upstream
	ui       protocol.UI
	studio   *protocol.StudioStatus // nil: no offline copy is kept
	// studioChanged is when this run went from one copy to another; zero: it has not.
	studioChanged time.Time
	capture       protocol.CaptureMode
	history       *protocol.History // nil: none is kept, or it is not read yet
	notices       []protocol.Notice
	// choosable are the upstreams that a menu offers.
	choosable []tray.Upstream
	found     []protocol.FoundServer // on this machine, when somebody last looked
	why       string                 // why the one in use is in use
	back      string                 // what was in use before the demo model; "" nothing
	// models are what the upstream in use offers, as far as it is known.
	models []protocol.Model
	// sessions are the live ones, newest first, as many as a menu lists; sessionCounts is nil where there are none ever.
	sessions      []tray.Session
	sessionCounts *protocol.SessionCounts
	// external holds the metrics of another companion that has the address; nil while the server is ours.
	external *protocol.Metrics
	// login is whether this starts at login; nil: it cannot be told.
	login *protocol.Autostart
	// release is a newer one of this program; releaseNews is that the user has not heard of it.
	release     *protocol.Release
	releaseNews bool
	// noPanel is what to do about the icon that no panel shows, for the one time that it is told.
	noPanel string
}

// board is where the parts of the app write what they know. Its methods may be called from any goroutine.
type board struct {
	*watch.Value[parts]
}

func newBoard(first parts) board { return board{watch.New(first)} }

// setPhase records the phase, with why it is so where that needs saying. Entering any phase but PhaseExternal forgets
// the other companion's metrics. Saying the same again wakes nobody: an address that stays held is tried every 2 s.
func (b board) setPhase(phase protocol.Phase, detail string) {
	if now := b.Get(); now.phase == phase && now.detail == detail {
		return
	}
	b.Update(func(p parts) parts {
		p.phase, p.detail = phase, detail
		if phase != protocol.PhaseExternal {
			p.external = nil
		}
		return p
	})
}

// notify shows n until clear is called with its cause. A notice of the same cause is replaced; one that says the same
// again keeps its time, and nobody is woken.
func (b board) notify(n protocol.Notice) {
	for _, old := range b.Get().notices {
		if old.Cause == n.Cause && old.Text == n.Text && old.Hint == n.Hint {
			return
		}
	}
	b.Update(func(p parts) parts {
		p.notices = append(without(p.notices, n.Cause), n)
		return p
	})
}

// clear ends the notice with that cause.
func (b board) clear(cause string) {
	if !b.Get().noticed(cause) {
		return
	}
	b.Update(func(p parts) parts {
		p.notices = without(p.notices, cause)
		return p
	})
}

// expire ends n itself: one of the same cause that came later stays.
func (b board) expire(n protocol.Notice) {
	b.Update(func(p parts) parts {
		p.notices = slices.DeleteFunc(slices.Clone(p.notices), func(shown protocol.Notice) bool { return shown == n })
		return p
	})
}

// noticed reports whether a notice with that cause is shown.
func (p parts) noticed(cause string) bool {
	return slices.ContainsFunc(p.notices, func(n protocol.Notice) bool { return n.Cause == cause })
}

// without returns a new slice, since readers share the old one.
func without(notices []protocol.Notice, cause string) []protocol.Notice {
	return slices.DeleteFunc(slices.Clone(notices), func(n protocol.Notice) bool { return n.Cause == cause })
}
