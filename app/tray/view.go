package tray

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Icon names one of the drawings of the mark; the words are those of assets.IconName.
type Icon string

// The icons.
const (
	IconIdle    Icon = "idle"
	IconBusy    Icon = "busy"
	IconWarning Icon = "warning"
	IconStopped Icon = "stopped"
)

// ID names a row for good: a row keeps its ID and its place while its label and its action change.
type ID string

// Pace says how soon a row's changes go to the screen. Every change makes the panel read the menu again, and some
// panels close an open menu then, so what ticks must wait.
type Pace int

// The paces, the most urgent first.
const (
	AtOnce     Pace = iota // the answer to a click: nothing is sent before it
	Soon                   // what nobody clicked but matters now
	EachSecond             // numbers that tick
	AfterCalls             // what is read at leisure: once the calls pause
)

// Row is one row of the menu.
type Row struct {
	ID        ID
	Parent    ID // the row whose submenu this one is in; empty: top level
	Label     string
	Enabled   bool
	Visible   bool
	Checked   bool
	Checkable bool
	Separated bool   // a line stands above the row; only on rows that are always visible, so that no two lines meet
	Action    Action // what a click asks for; empty: nothing
	Pace      Pace
}

// View is the whole tray at one moment. The rows of every View that Render makes have the same IDs, parents, lines and
// paces in the same order: the toolkit builds them once and only relabels, shows and hides.
type View struct {
	Icon    Icon
	Tooltip string
	Rows    []Row
}

// Row returns the row with that ID, or the zero Row.
func (v View) Row(id ID) Row {
	for _, row := range v.Rows {
		if row.ID == id {
			return row
		}
	}
	return Row{}
}

// actionColumn is where String writes what a click does.
const actionColumn = 60

// String draws the menu as text, the way golden files hold it: rows that can be seen, with what a click on them asks
// for.
func (v View) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "icon: %s\ntooltip: %s\n\n", v.Icon, v.Tooltip)
	hidden := map[ID]bool{}
	for _, row := range v.Rows {
		if !row.Visible || hidden[row.Parent] {
			hidden[row.ID] = true
			continue
		}
		if row.Separated {
			b.WriteString("──\n")
		}
		b.WriteString(row.line(v.isSubmenu(row.ID)))
		b.WriteByte('\n')
	}
	return b.String()
}

func (v View) isSubmenu(id ID) bool {
	for _, row := range v.Rows {
		if row.Parent == id {
			return true
		}
	}
	return false
}

func (r Row) line(submenu bool) string {
	text := r.Label
	if r.Parent != "" {
		text = "    " + text
	}
	if submenu {
		text += " ▸"
	}
	if r.Checkable && r.Checked {
		text += " ✓"
	}
	note := ""
	switch {
	case !r.Enabled:
		note = "(disabled)"
	case r.Action != "":
		note = "→ " + string(r.Action)
	default:
		return text
	}
	gap := max(actionColumn-utf8.RuneCountInString(text), 2)
	return text + strings.Repeat(" ", gap) + note
}
