package tray

import (
	"fmt"
	"slices"
)

// upstreams is the choice of an upstream, once there is more to choose from than the configured one and the demo model,
// for which demoSwitch is enough.
func upstreams(s State) []Row {
	ours := s.Phase == Running || s.Phase == Degraded || s.Phase == Stopped
	offered := ours && slices.ContainsFunc(s.Upstreams, func(u Upstream) bool { return u.Named })
	rows := []Row{item("upstream", "Upstream", "").visible(offered)}
	for i := range upstreamRows {
		row := item(ID(fmt.Sprintf("upstream.%d", i+1)), "", UseUpstream)
		if i < len(s.Upstreams) {
			u := s.Upstreams[i]
			row = item(row.ID, or(clean(u.Label, maxName), "unnamed"), UseUpstream.With(u.Key))
			row.Checked = u.Chosen
		}
		row.Checkable = true
		rows = append(rows, row.in("upstream"))
	}
	return append(rows, more("upstream.more", len(s.Upstreams)-upstreamRows, "chatwright-tray upstream list").in("upstream"))
}

// sessions are the live conversations; a click opens one in a terminal.
func sessions(s State) []Row {
	rows := []Row{
		item("sessions", "Sessions", "").visible(len(s.Sessions) > 0).paced(AfterCalls),
		text("sessions.how", "Open in terminal:").in("sessions"),
	}
	for i := range SessionRows {
		row := item(ID(fmt.Sprintf("session.%d", i+1)), "", OpenSession)
		if i < len(s.Sessions) {
			one := s.Sessions[i]
			row = item(row.ID, sessionLabel(one), OpenSession.With(one.ID))
		}
		rows = append(rows, row.in("sessions").paced(AfterCalls))
	}
	left := s.LiveSessions - min(len(s.Sessions), SessionRows)
	return append(rows, more("session.more", left, "chatwright-tray session list").in("sessions").paced(AfterCalls))
}

func sessionLabel(s Session) string {
	label := clean(s.Title, maxName)
	if label == "" {
		label = "New session in " + or(clean(s.Folder, maxName), "a folder")
	}
	if s.Running {
		label += " · answering"
	}
	return label
}

// more says how many there was no room for, and where they are.
func more(id ID, n int, where string) Row {
	if n <= 0 {
		return text(id, "")
	}
	return text(id, fmt.Sprintf("%d more: %s", n, where))
}
