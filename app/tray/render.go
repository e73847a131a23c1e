package tray

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Sizes of the pool of rows whose number varies. A toolkit can only show and hide rows, never add one.
const (
	recentRows = 8
	noticeRows = 3
	// SessionRows is how many live sessions there is room for.
	SessionRows = 8
	// upstreamRows is how many upstreams there is room for.
	upstreamRows = 14
	// modelRows is how many models there is room for.
	modelRows = 12
)

// How many characters of foreign text a row shows; a menu grows as wide as its widest row.
const (
	maxName    = 40
	maxDetail  = 80
	maxNotice  = 80  // wider, and the menu fills a small screen
	maxTooltip = 100 // Windows keeps 127 UTF-16 units
)

// Render makes the view of s. It is a pure function.
func Render(s State) View {
	if s.Phase == "" {
		s.Phase = Starting
	}
	return View{Icon: icon(s), Tooltip: tooltip(s), Rows: slices.Concat(
		group(
			text("status", status(s)).paced(Soon),
			item("capture", capturing(s), OpenConsole).paced(Soon),
			notice("notice.1", s, 0),
			notice("notice.2", s, 1),
			notice("notice.3", s, 2),
			demoSwitch(s),
			text("recording", recording(s)).paced(Soon),
		),
		group(
			item("studio", "Open Studio", OpenStudio),
			item("console", "Open Console", OpenConsole).enabled(serving(s)),
		),
		group(
			text("count", count(s.Metrics)).paced(EachSecond),
			text("last", last(s)).paced(EachSecond),
			text("percentiles", percentiles(s.Metrics)).paced(EachSecond),
			item("recent", "Recent calls", "").visible(len(s.Recent) > 0).paced(AfterCalls),
		), recent(s), models(s), upstreams(s), studioCopy(s), sessions(s),
		group(
			item("server", "Server", ""),
			startStop(s).in("server"),
			restart(s).in("server"),
			item("address", "Copy address", CopyAddress).in("server"),
			item("log", "Open log", OpenLog).in("server"),
			startAtLogin(s),
			item("release", newRelease(s), OpenRelease).paced(Soon),
			text("about", strings.TrimSpace("About Chatwright Tray "+clean(s.Version, maxName))),
			item("quit", "Quit", Quit),
		),
	)}
}

// text is a row that only says something. Without a label it is hidden.
func text(id ID, label string) Row {
	return Row{ID: id, Label: label, Visible: label != ""}
}

// item is a row to click, or one that opens a submenu. Without a label it is hidden.
func item(id ID, label string, action Action) Row {
	return Row{ID: id, Label: label, Visible: label != "", Enabled: true, Action: action}
}

func (r Row) in(parent ID) Row    { r.Parent = parent; return r }
func (r Row) enabled(on bool) Row { r.Enabled = on; return r }
func (r Row) visible(on bool) Row { r.Visible = on; return r }
func (r Row) paced(p Pace) Row    { r.Pace = p; return r }

// group puts a line above its first row, which is never hidden.
func group(rows ...Row) []Row {
	rows[0].Separated = rows[0].ID != "status" // the menu does not begin with a line
	return rows
}

func serving(s State) bool {
	return s.Phase == Running || s.Phase == Degraded || s.Phase == External
}

func icon(s State) Icon {
	switch s.Phase {
	case Stopped:
		return IconStopped
	case Degraded, Blocked, Failed:
		return IconWarning
	case Running:
		if s.Metrics.InFlight > 0 {
			return IconBusy
		}
	}
	return IconIdle
}

func tooltip(s State) string {
	parts := []string{"Chatwright Tray"}
	if mark := capturing(s); mark != "" {
		parts = append(parts, mark) // before what may be cut off
	}
	parts = append(parts, status(s))
	switch {
	case serving(s) && s.Today != nil:
		parts = append(parts, today(s)...)
	case serving(s):
		parts = append(parts, count(s.Metrics))
	}
	return clean(strings.Join(parts, " · "), maxTooltip)
}

// today says of the day what the menu says of this run. What comes last may be cut off.
func today(s State) []string {
	if s.Today.Calls == 0 && s.Metrics.InFlight == 0 {
		return []string{"No calls today"}
	}
	parts := []string{"Today " + Plural(s.Today.Calls, "call")}
	if s.Metrics.InFlight > 0 {
		return append(parts, Number(s.Metrics.InFlight)+" in flight")
	}
	if s.Today.Tokens > 0 {
		parts = append(parts, Plural(s.Today.Tokens, "token"))
	}
	return parts
}

func status(s State) string {
	addr := clean(s.Addr, maxName)
	switch s.Phase {
	case Running, Degraded:
		if s.Doing == ServerStop {
			return "Stopping on " + addr
		}
		return "Running on " + addr + " · " + upstream(s)
	case External:
		return "Another Chatwright server on " + addr
	case Blocked:
		return addr + " is held by " + or(clean(s.Detail, maxDetail), "another program")
	case Stopped:
		return "Stopped"
	case Failed:
		return "Failed: " + or(clean(s.Detail, maxDetail), "the server ended")
	}
	if addr == "" {
		return "Starting"
	}
	return "Starting on " + addr
}

func upstream(s State) string {
	name := clean(s.UpstreamName, maxName)
	switch {
	case name == "":
		return "no upstream"
	case s.UpstreamReach == ReachDown:
		return name + " is down"
	case s.UpstreamReach == ReachLoading:
		return name + " is loading"
	}
	return name
}

// notice is the nth notice. When there are more than rows, the last row says how many it stands for. A click leads to
// where more can be read, which is also why the row is not grey.
func notice(id ID, s State, n int) Row {
	where := OpenLog
	if serving(s) {
		where = OpenConsole
	}
	label := ""
	switch {
	case n == noticeRows-1 && len(s.Notices) > noticeRows:
		label = fmt.Sprintf("⚠ %d more notices", len(s.Notices)-n)
	case n < len(s.Notices):
		label = clean("⚠ "+strings.TrimRight(s.Notices[n].Text, "."), maxNotice)
		hint := clean(s.Notices[n].Hint, maxNotice)
		if with := label + " · " + hint; hint != "" && utf8.RuneCountInString(with) <= maxNotice {
			label = with // a hint that has no room stands in the console
		}
	}
	return item(id, label, where).paced(Soon)
}

// capturing is there for as long as what is said in calls is being kept, so that nobody forgets it.
func capturing(s State) string {
	switch {
	case s.Capture == "" || s.Phase == External:
		return ""
	case s.Capture == "disk":
		return "⚠ Recording what is said to disk"
	}
	return "⚠ Recording what is said"
}

// demoSwitch offers the demo model while there is no other to talk to, and the way back once a click chose it.
func demoSwitch(s State) Row {
	back := clean(s.ConfiguredUpstream, maxName)
	switch {
	case s.Phase != Running && s.Phase != Degraded:
		return item("demo", "", UseDemo)
	case s.Demo && back != "":
		return item("demo", "Back to "+back, UseConfigured)
	case !s.Demo && (s.UpstreamReach == ReachDown || s.UpstreamName == ""):
		return item("demo", "Use the demo model", UseDemo)
	}
	return item("demo", "", UseDemo)
}

// recording is there for as long as what is said in calls is kept, so that nobody forgets it.
func recording(s State) string {
	if s.Recording == "" || s.Phase == External {
		return ""
	}
	return "Recording calls in " + clean(s.Recording, maxName)
}

// startStop is one row for both, so that a click changes it in one step. Another companion is not ours to stop.
func startStop(s State) Row {
	switch {
	case s.Phase == External:
		return item("startstop", "", ServerStop)
	case s.Doing == ServerStop:
		return item("startstop", "Stopping", ServerStop).enabled(false)
	case s.Doing == ServerStart:
		return item("startstop", "Starting", ServerStart).enabled(false)
	case s.Phase == Stopped || s.Phase == Blocked || s.Phase == Failed:
		return item("startstop", "Start", ServerStart)
	}
	return item("startstop", "Stop", ServerStop)
}

func restart(s State) Row {
	switch {
	case s.Doing == ServerRestart:
		return item("restart", "Restarting", ServerRestart).enabled(false)
	case s.Phase == Running || s.Phase == Degraded:
		return item("restart", "Restart", ServerRestart)
	}
	return item("restart", "", ServerRestart)
}

func count(m Metrics) string {
	if m.Calls == 0 && m.InFlight == 0 {
		return "No calls yet"
	}
	parts := []string{Plural(m.Calls, "call")}
	if m.InFlight > 0 {
		parts = append(parts, Number(m.InFlight)+" in flight")
	}
	if m.Errors > 0 {
		parts = append(parts, Plural(m.Errors, "error"))
	}
	return strings.Join(parts, " · ")
}

func last(s State) string {
	if len(s.Recent) == 0 {
		return ""
	}
	c := s.Recent[0]
	parts := []string{modelName(c), Duration(c.LatencyMs)}
	outcome := outcome(c)
	if outcome != "" {
		parts = append(parts, outcome)
	}
	switch {
	case c.TokensKnown:
		parts = append(parts, Plural(c.Tokens, "token"))
	case outcome == "":
		parts = append(parts, "tokens unknown")
	}
	if c.TokensPerSecond > 0 {
		parts = append(parts, Rate(c.TokensPerSecond))
	}
	return "Last: " + strings.Join(parts, " · ")
}

func percentiles(m Metrics) string {
	var parts []string
	for _, p := range []struct {
		name string
		ms   *int64
	}{{"p50", m.P50Ms}, {"p95", m.P95Ms}, {"first token", m.FirstTokenMs}} {
		if p.ms != nil {
			parts = append(parts, p.name+" "+Duration(*p.ms))
		}
	}
	return strings.Join(parts, " · ")
}

func recent(s State) []Row {
	rows := make([]Row, recentRows)
	for i := range rows {
		label := ""
		if i < len(s.Recent) {
			label = recentLabel(s.Recent[i], s)
		}
		rows[i] = text(ID(fmt.Sprintf("recent.%d", i+1)), label).in("recent").paced(AfterCalls)
	}
	return rows
}

func recentLabel(c Call, s State) string {
	at := c.Time.Local()
	if s.Zone != nil {
		at = c.Time.In(s.Zone)
	}
	parts := []string{at.Format("15:04:05"), modelName(c)}
	if c.Status != 0 {
		parts = append(parts, fmt.Sprint(c.Status))
	}
	if c.Verdict != "upstream-error" { // its status has said it
		parts = append(parts, outcome(c))
	}
	parts = append(parts, Duration(c.LatencyMs))
	if c.TokensPerSecond > 0 {
		parts = append(parts, Rate(c.TokensPerSecond))
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
}
