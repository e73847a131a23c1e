package tray

import (
	"fmt"
	"time"
)

// Studio is the offline copy of Studio and what is being done to it.
type Studio struct {
	Version  string // that is served; empty: there is no copy
	Previous string // that a rollback would serve; empty: none
	// Available is the release's version where it is not the one served. Held says that a rollback keeps it away.
	Available string
	Held      bool

	Stage        StudioStage // empty: StudioIdle
	Coming       string      // the version that the stage is about; empty: not known yet
	Bytes, Total int64       // of its archive, while downloading; Total 0: not known

	CheckedAt time.Time // when the release was last heard of; zero: not yet
	UpdatedAt time.Time // when this run of the program changed the copy; zero: it has not
	Failed    bool      // the last check or update failed; a notice says why
}

// StudioStage is what is being done to the copy. The words are those of protocol.StudioStage.
type StudioStage string

// The stages.
const (
	StudioIdle        StudioStage = "idle"
	StudioChecking    StudioStage = "checking"
	StudioWaiting     StudioStage = "waiting"
	StudioDownloading StudioStage = "downloading"
	StudioUnpacking   StudioStage = "unpacking"
)

func (c *Studio) idle() bool { return c.Stage == "" || c.Stage == StudioIdle }

// studioCopy is the row of the offline copy with its submenu. The row itself shows the progress, so that it can be read
// without opening anything. Its place in the menu lets it be hidden: no line stands above it.
func studioCopy(s State) []Row {
	c := s.Studio
	if c == nil || s.Phase == External { // the page at that address is the other companion's
		c = &Studio{}
		return []Row{
			item("copy", "", "").paced(EachSecond),
			text("copy.state", "").in("copy").paced(Soon),
			item("copy.check", "", StudioUpdate).in("copy"),
			item("copy.cancel", "", StudioCancel).in("copy"),
			item("copy.rollback", "", StudioRollback).in("copy"),
			item("copy.folder", "", StudioFolder).in("copy"),
		}
	}
	return []Row{
		item("copy", c.title(), "").paced(EachSecond),
		text("copy.state", c.state(s)).in("copy").paced(Soon),
		c.check().in("copy"),
		item("copy.cancel", c.cancel(), StudioCancel).in("copy"),
		item("copy.rollback", c.rollback(), StudioRollback).in("copy"),
		item("copy.folder", "Open cache folder", StudioFolder).in("copy"),
	}
}

// title says what is served, or how far what comes is.
func (c *Studio) title() string {
	coming := "Studio"
	if c.Coming != "" {
		coming += " " + clean(c.Coming, maxName)
	}
	switch c.Stage {
	case StudioDownloading:
		return "Downloading " + coming + c.progress()
	case StudioUnpacking:
		return "Installing " + coming
	}
	if c.Version == "" {
		return "Studio: no offline copy yet"
	}
	return "Studio " + clean(c.Version, maxName) + " (offline copy)"
}

// progress counts in per cent, or in bytes where the whole is not known.
func (c *Studio) progress() string {
	switch {
	case c.Total > 0:
		return fmt.Sprintf(" · %d %%", 100*min(max(c.Bytes, 0), c.Total)/c.Total)
	case c.Bytes > 0:
		return " · " + short(float64(c.Bytes)/(1<<20)) + " MiB"
	}
	return ""
}

// state is what is known of newer versions.
func (c *Studio) state(s State) string {
	switch {
	case c.Stage == StudioWaiting:
		return "Waiting for another program that updates Studio"
	case !c.idle():
		return ""
	case c.Available != "" && c.Held:
		return clean(c.Available, maxName) + " is available; you went back from it"
	case c.Available != "":
		return clean(c.Available, maxName) + " is available"
	case c.Failed:
		return "The last check failed"
	case !c.UpdatedAt.IsZero():
		return "Changed " + moment(c.UpdatedAt, s) + ": reload pages that are open"
	case !c.CheckedAt.IsZero():
		return "Checked " + moment(c.CheckedAt, s) + ": up to date"
	}
	return ""
}

func moment(at time.Time, s State) string {
	if s.Zone != nil {
		return at.In(s.Zone).Format("2 Jan 15:04")
	}
	return at.Local().Format("2 Jan 15:04")
}

// check is one row for every way to a newer version, so that a click changes it in one step.
func (c *Studio) check() Row {
	row := item("copy.check", "Check for updates", StudioUpdate)
	switch {
	case c.Stage == StudioChecking:
		return row.labelled("Checking for updates").enabled(false)
	case !c.idle():
		return row.visible(false)
	case c.Available != "":
		return row.labelled("Update to " + clean(c.Available, maxName))
	case c.Version == "":
		return row.labelled("Get the offline copy")
	}
	return row
}

func (c *Studio) cancel() string {
	switch c.Stage {
	case StudioDownloading:
		return "Cancel the download"
	case StudioWaiting, StudioUnpacking:
		return "Cancel the update"
	case StudioChecking:
		return "Cancel"
	}
	return ""
}

func (c *Studio) rollback() string {
	if c.Previous == "" || !c.idle() {
		return ""
	}
	return "Roll back to " + clean(c.Previous, maxName)
}
