package tray

import (
	"fmt"
	"math"
	"strings"
)

// upstreams is the choice of an upstream: those that are always there, named and found ones.
func upstreams(s State) []Row {
	ours := s.Phase == Running || s.Phase == Degraded || s.Phase == Stopped
	why := clean(s.Why, maxDetail)
	if why != "" {
		why = "In use: " + why
	}
	rows := []Row{item("upstream", "Upstream", "").visible(ours), text("upstream.why", why).in("upstream")}
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
	return append(rows,
		more("upstream.more", len(s.Upstreams)-upstreamRows, "chatwright-tray upstream list").in("upstream"),
		item("upstream.look", "Look again", LookAgain).in("upstream"))
}

// models are what the upstream offers. They are brought up to date at leisure, with the calls.
func models(s State) []Row {
	rows := []Row{item("models", "Models", "").visible(len(s.Models) > 0).paced(AfterCalls)}
	for i := range modelRows {
		label := ""
		if i < len(s.Models) {
			label = modelLabel(s.Models[i])
		}
		rows = append(rows, text(ID(fmt.Sprintf("model.%d", i+1)), label).in("models").paced(AfterCalls))
	}
	return append(rows, more("model.more", len(s.Models)-modelRows, "/v1/models").in("models").paced(AfterCalls))
}

// modelLabel marks what can answer at once, and says where it runs: why is it slow is what people look here for.
func modelLabel(m Model) string {
	parts := []string{or(clean(m.ID, maxName), "unnamed")}
	if m.SizeBytes > 0 {
		parts = append(parts, Size(m.SizeBytes))
	}
	if m.GPUShare != nil {
		switch share := math.Round(*m.GPUShare); {
		case *m.GPUShare >= 100:
			parts = append(parts, "GPU")
		case *m.GPUShare <= 0:
			parts = append(parts, "CPU")
		default: // never all or nothing, which it is not
			parts = append(parts, fmt.Sprintf("%.0f %% on the GPU", min(max(share, 1), 99)))
		}
	}
	switch m.State {
	case ModelLoaded:
		parts[0] = "● " + parts[0]
	case ModelLoading:
		parts = append(parts, "loading")
	}
	return strings.Join(parts, " · ")
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

// startAtLogin asks for the opposite of what it shows.
func startAtLogin(s State) Row {
	const label = "Start at login"
	switch {
	case s.Login == nil:
		return checkbox(item("login", "", StartAtLogin.With("on")), false)
	case s.Login.Trouble != "":
		return checkbox(item("login", label+" · "+clean(s.Login.Trouble, maxDetail), StartAtLogin.With("on")), s.Login.On)
	case s.Login.On:
		return checkbox(item("login", label, StartAtLogin.With("off")), true)
	}
	return checkbox(item("login", label, StartAtLogin.With("on")), false)
}

func checkbox(r Row, checked bool) Row {
	r.Checkable, r.Checked = true, checked
	return r
}

func newRelease(s State) string {
	if s.NewRelease == "" {
		return ""
	}
	return "Version " + clean(s.NewRelease, maxName) + " is available"
}
