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

// busy reports whether something is being installed, which a look for something newer is not.
func (c *Studio) busy() bool {
	return c.Stage == StudioWaiting || c.Stage == StudioDownloading || c.Stage == StudioUnpacking
}

// studioCopy is the row of the offline copy with its submenu. The row itself shows the progress, so that it can be read
// without opening anything. Its place in the menu lets it be hidden: no line stands above it.
func studioCopy(s State) []Row {
	c := s.Studio
	if c == nil || s.Phase == External { // the page at that address is the other companion's
		c = &Studio{}
		return []Row{
			item("copy", "", "").paced(EachSecond),
			text("copy.state", "").in("copy").paced(Soon),
			item("copy.update", "", StudioUpdate).in("copy"),
			item("copy.rollback", "", StudioRollback).in("copy").paced(Soon),
			item("copy.folder", "", StudioFolder).in("copy").paced(Soon),
		}
	}
	return []Row{
		item("copy", c.title(), "").paced(EachSecond),
		text("copy.state", c.state(s)).in("copy").paced(Soon),
		c.update().in("copy"),
		item("copy.rollback", c.rollback(), StudioRollback).in("copy").paced(Soon),
		item("copy.folder", "Open cache folder", StudioFolder).in("copy").paced(Soon),
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

// state is what is known of newer versions. A look that takes a moment leaves it as it is: most find nothing, and each
// change of a row is a new layout.
func (c *Studio) state(s State) string {
	switch {
	case c.Stage == StudioWaiting:
		return "Waiting for another program that updates Studio"
	case c.busy() && c.Version != "":
		return clean(c.Version, maxName) + " is served meanwhile"
	case c.busy():
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

// update is one row for every way to a newer version and for giving it up, so that each step costs one change.
func (c *Studio) update() Row {
	row := item("copy.update", "Check for updates", StudioUpdate)
	switch {
	case c.Stage == StudioChecking:
		return item("copy.update", "Checking for updates", "") // it is being done, and soon over
	case c.busy():
		return item("copy.update", "Cancel the update", StudioCancel)
	case c.Available != "":
		row.Label = "Update to " + clean(c.Available, maxName)
	case c.Version == "":
		row.Label = "Get the offline copy"
	}
	return row
}

func (c *Studio) rollback() string {
	if c.Previous == "" { // while an update goes on too: going back ends it
		return ""
	}
	return "Roll back to " + clean(c.Previous, maxName)
}
