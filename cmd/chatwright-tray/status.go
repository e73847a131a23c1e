package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server/protocol"
)

func (c *cli) statusCommand() *cobra.Command {
	var asJSON, watch bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what the companion does: phase, address, upstream, calls",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			daemon, err := c.daemon(ctx)
			if err != nil {
				return err
			}
			show := c.statusPrinter(asJSON, watch)
			if !watch {
				status, err := daemon.Status(ctx)
				if err != nil {
					return err
				}
				return show(status)
			}
			return untilInterrupted(ctx, daemon.StatusEvents(ctx, show, c.sayLost))
		},
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "go on showing it as it changes")
	return cmd
}

// statusPrinter returns what shows one status after another: as JSON, one line each; as a table, in place on a
// terminal.
func (c *cli) statusPrinter(asJSON, watch bool) func(protocol.Status) error {
	if asJSON {
		return func(s protocol.Status) error { return c.printJSON(s) }
	}
	lines := 0
	return func(s protocol.Status) error {
		erase, table := "", statusTable(s)
		if watch && isTerminal(c.stdout) {
			if c.broken.Swap(false) {
				lines = 0 // something else was said below the table
			}
			if lines > 0 {
				erase = fmt.Sprintf("\x1b[%dA\x1b[J", lines) // up to the first line, and away with what follows
			}
			table = cut(table, terminalWidth(c.stdout))
		}
		lines = strings.Count(table, "\n")
		_, err := io.WriteString(c.stdout, erase+table)
		return err
	}
}

// lostText is what somebody who watches is told when the daemon goes away.
const lostText = "Chatwright has ended; waiting for it to come back (start it: chatwright-tray start)"

// sayLost says so: what stands above is old from then on.
func (c *cli) sayLost(error) {
	c.broken.Store(true)
	c.warn(lostText)
}

// cut shortens each line to the width of the terminal, so that none wraps and the table can be drawn over in place.
func cut(table string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(table) {
		text := []rune(strings.TrimSuffix(line, "\n"))
		if len(text) >= width && width > 1 {
			text = append(text[:width-2], '…')
		}
		b.WriteString(string(text) + "\n")
	}
	return b.String()
}

// statusTable lays a status out as names and values.
func statusTable(s protocol.Status) string {
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-10s%s\n", name, printable(value))
		}
	}
	phase := string(s.Phase)
	if s.Detail != "" {
		phase += " (" + s.Detail + ")"
	}
	row("Phase", phase)
	row("Address", "http://"+s.Addr)
	row("Upstream", upstreamText(s.Upstream))
	if s.Recording != "" {
		row("Recording", "calls, with what they say, in "+s.Recording)
	}
	row("Messages", messagesText(s))
	row("Studio", studioText(s.UI))
	m := s.Metrics
	row("Calls", fmt.Sprintf("%d · %d in flight · %s", m.Calls, m.InFlight, tray.Plural(m.Errors, "error")))
	row("Latency", latencyText(m))
	row("Tokens", tokensText(m))
	modelRows(row, m.Models)
	if h := s.History; h != nil {
		row("Today", totalsText(h.Today))
		row("7 days", totalsText(h.Week))
		if h.Dropped > 0 {
			row("Lost", tray.Plural(h.Dropped, "call")+" could not be recorded")
		}
	}
	row("At login", loginText(s.Autostart))
	if s.Release != nil {
		row("Newer", s.Release.Version+" is available: "+s.Release.URL)
	}
	for _, n := range s.Notices {
		row("Notice", n.Text)
		row("", n.Hint)
	}
	row("Process", fmt.Sprintf("pid %d · version %s · since %s", s.PID, s.Version, s.StartedAt.Local().Format("2 Jan 15:04")))
	return b.String()
}

// statusModels is how many models the table shows; --json has them all.
const statusModels = 8

// modelFormat has the model last, since its name is as long as its server likes.
const modelFormat = "%6s %5s %9s %9s %9s %9s %6s  %s"

// modelRows gives each model a line, those with most calls first.
func modelRows(row func(name, value string), models []protocol.ModelMetrics) {
	if len(models) == 0 {
		return
	}
	row("Models", fmt.Sprintf(modelFormat, "CALLS", "ERR", "P50", "P95", "P99", "FIRST", "TOK/S", "MODEL"))
	for _, m := range models[:min(len(models), statusModels)] {
		name, rate := m.Model, "–"
		if name == "" {
			name = "unknown model"
		}
		if m.TokensPerSecond > 0 {
			rate = strings.TrimSuffix(tray.Rate(m.TokensPerSecond), " tok/s")
		}
		row(" ", fmt.Sprintf(modelFormat, tray.Number(m.Calls), tray.Number(m.Errors), durationOrNone(m.LatencyP50Ms),
			durationOrNone(m.LatencyP95Ms), durationOrNone(m.LatencyP99Ms), durationOrNone(m.FirstTokenP50Ms), rate, printable(name)))
	}
	if more := len(models) - statusModels; more > 0 {
		row(" ", fmt.Sprintf("and %d more: see --json", more))
	}
}

func durationOrNone(ms *int64) string {
	if ms == nil {
		return "–"
	}
	return tray.Duration(*ms)
}

func upstreamText(u protocol.Upstream) string {
	if u.Name == "" {
		return ""
	}
	switch u.Reach {
	case protocol.ReachOK:
		return u.Name + " · reachable"
	case protocol.ReachLoading:
		return u.Name + " · loading"
	case protocol.ReachDown:
		return u.Name + " · not reachable"
	}
	return u.Name + " · not asked yet"
}

func studioText(ui protocol.UI) string {
	switch ui.Source {
	case protocol.UICopy:
		return ui.Version + " (offline copy)"
	case protocol.UIFolder:
		return "from a folder"
	}
	return "no copy here; the console is at / (--ui keeps a copy)"
}

// messagesText is there while what is said in calls is kept, as in the menu.
func messagesText(s protocol.Status) string {
	switch {
	case s.Phase == protocol.PhaseExternal:
		return "" // no call passes here
	case s.Capture == protocol.CaptureMemory:
		return "kept in memory, for the console to show"
	case s.Capture == protocol.CaptureDisk:
		return "kept on disk, for the console to show"
	}
	return ""
}

func latencyText(m protocol.Metrics) string {
	var known []string
	for _, q := range []struct {
		name string
		ms   *int64
	}{{"p50", m.LatencyP50Ms}, {"p95", m.LatencyP95Ms}, {"p99", m.LatencyP99Ms}, {"first token", m.FirstTokenP50Ms}} {
		if q.ms != nil {
			known = append(known, q.name+" "+tray.Duration(*q.ms))
		}
	}
	return strings.Join(known, " · ")
}

func tokensText(m protocol.Metrics) string {
	if m.PromptTokens == 0 && m.CompletionTokens == 0 {
		return ""
	}
	text := tray.Number(m.PromptTokens) + " in · " + tray.Number(m.CompletionTokens) + " out"
	if m.TokensPerSecond > 0 {
		text += " · " + tray.Rate(m.TokensPerSecond)
	}
	return text
}

// totalsText says of a day or a week what the rows above say of this run.
func totalsText(t protocol.Totals) string {
	if t.Calls == 0 {
		return "no calls"
	}
	text := tray.Plural(t.Calls, "call") + " · " + tray.Plural(t.Errors, "error")
	if t.PromptTokens > 0 || t.CompletionTokens > 0 {
		text += " · " + tray.Number(t.PromptTokens) + " in · " + tray.Number(t.CompletionTokens) + " out"
	}
	return text
}

func jsonFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print JSON")
}

// printJSON prints v on one line.
func (c *cli) printJSON(v any) error {
	line, err := jsonLine(v)
	if err != nil {
		return err
	}
	_, err = c.stdout.Write(line)
	return err
}

// jsonLine is v as JSON, with a newline at its end and nothing in it that a terminal would obey.
func jsonLine(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return escaped(buf.Bytes()), err
}

// terminalWidth is the number of columns, or a usual one where the terminal does not tell.
func terminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// untilInterrupted is the outcome of what ran until the person pressed Ctrl-C, which is how one ends it.
func untilInterrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
