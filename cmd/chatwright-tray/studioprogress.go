package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"chatwright.dev/tray/server/protocol"
)

const (
	barWidth = 24
	leastBar = 8 // a narrower one says less than the number beside it
	// plainStep is how many per cent lie between two lines where they cannot be drawn over.
	plainStep = 25
)

// A progressPrinter shows how far an update is: in one line that is drawn over on a terminal, as a line now and then
// elsewhere. It writes to standard error, since none of it is data.
type progressPrinter struct {
	out   io.Writer
	width int // of the terminal; 0: there is none

	line string // the last one
	next int64  // per cent at which the next plain line is due
}

func (c *cli) progressPrinter() *progressPrinter {
	p := &progressPrinter{out: c.stderr}
	if isTerminal(c.stderr) {
		p.width = terminalWidth(c.stderr)
	}
	return p
}

func (p *progressPrinter) print(s protocol.StudioStatus) {
	if s.Stage == "" || s.Stage == protocol.StudioIdle {
		return
	}
	if p.width > 0 {
		if line := drawnLine(s, p.width); line != p.line {
			p.line = line
			_, _ = io.WriteString(p.out, "\r"+line+"\x1b[K")
		}
		return
	}
	if line := p.plainLine(s); line != "" && line != p.line {
		p.line = line
		_, _ = fmt.Fprintln(p.out, line)
	}
}

// end leaves the cursor where the next line begins, with nothing of the progress left.
func (p *progressPrinter) end() {
	if p.width > 0 && p.line != "" {
		_, _ = io.WriteString(p.out, "\r\x1b[K")
	}
}

// plainLine is the line to write now; "" none.
func (p *progressPrinter) plainLine(s protocol.StudioStatus) string {
	if s.Stage != protocol.StudioDownloading {
		return stageText(s)
	}
	if s.Total <= 0 {
		return stageText(s)
	}
	done := percent(s)
	if done < p.next {
		return ""
	}
	p.next = done - done%plainStep + plainStep
	return progressLine(s)
}

// progressLine says in a phrase what is being done and how far that is.
func progressLine(s protocol.StudioStatus) string {
	if s.Stage != protocol.StudioDownloading || s.Total <= 0 {
		return stageText(s)
	}
	return fmt.Sprintf("%s: %d %% of %s", stageText(s), percent(s), byteSize(s.Total))
}

func stageText(s protocol.StudioStatus) string {
	coming := "Studio"
	switch {
	case s.Available != "":
		coming += " " + printable(s.Available)
	case s.Stage == protocol.StudioUnpacking: // it is served by then
		coming += " " + printable(s.Version)
	}
	switch s.Stage {
	case protocol.StudioChecking:
		return "Looking for a newer Studio"
	case protocol.StudioWaiting:
		return "Waiting for another program that updates Studio"
	case protocol.StudioDownloading:
		return "Downloading " + coming
	case protocol.StudioUnpacking:
		return "Installing " + coming
	}
	return printable(string(s.Stage))
}

// drawnLine is one line of a terminal that is so many columns wide; the last column stays free, since some terminals
// wrap there.
func drawnLine(s protocol.StudioStatus, width int) string {
	text := stageText(s)
	if s.Stage != protocol.StudioDownloading {
		return shortened(text, width-1)
	}
	figures := byteSize(s.Bytes)
	if s.Total > 0 {
		figures = fmt.Sprintf("%3d %%  %s of %s", percent(s), byteSize(s.Bytes), byteSize(s.Total))
	}
	if s.Rate > 0 {
		figures += " · " + byteSize(s.Rate) + "/s"
	}
	room := width - 1 - utf8.RuneCountInString(text) - utf8.RuneCountInString(figures) - 4
	if s.Total > 0 && room >= leastBar {
		text += "  " + bar(percent(s), min(room, barWidth))
	}
	return shortened(text+"  "+figures, width-1)
}

func bar(percent int64, width int) string {
	full := int(percent) * width / 100
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}

func percent(s protocol.StudioStatus) int64 {
	return 100 * min(max(s.Bytes, 0), s.Total) / s.Total
}

func shortened(text string, width int) string {
	runes := []rune(text)
	switch {
	case len(runes) <= width:
		return text
	case width < 1:
		return ""
	}
	return string(runes[:width-1]) + "…"
}

// byteSize writes a size the way a person does.
func byteSize(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", max(n, 0))
	case n < 1000<<10:
		return fmt.Sprintf("%.0f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
