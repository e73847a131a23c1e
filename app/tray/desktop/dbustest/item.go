package dbustest

import (
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"chatwright.dev/tray/server/servertest/timetest"
)

const (
	itemInterface = "org.kde.StatusNotifierItem"
	menuInterface = "com.canonical.dbusmenu"
)

// Item is an icon that registered with the watcher.
type Item struct {
	conn *dbus.Conn
	registration
}

// Pixmap is the picture of an icon: ARGB32, big-endian.
type Pixmap struct {
	Width, Height int32
	Pixels        []byte
}

func (i *Item) object() dbus.BusObject { return i.conn.Object(i.owner, i.path) }
func (i *Item) menu() dbus.BusObject   { return i.conn.Object(i.owner, i.path+"/menu") }

// Owner is the name under which the icon's program is connected.
func (i *Item) Owner() string { return i.owner }

// property reads a property of the item into out.
func (i *Item) property(t testing.TB, name string, out any) {
	t.Helper()
	if err := i.object().StoreProperty(itemInterface+"."+name, out); err != nil {
		t.Fatalf("reading the icon's %s: %v", name, err)
	}
}

// Text reads one of the icon's strings: Title, Id, Status, Category.
func (i *Item) Text(t testing.TB, name string) (text string) {
	t.Helper()
	i.property(t, name, &text)
	return text
}

// OnlyMenu reports whether a left click is for the menu too.
func (i *Item) OnlyMenu(t testing.TB) (only bool) {
	t.Helper()
	i.property(t, "ItemIsMenu", &only)
	return only
}

// Tooltip is the text shown beside the mouse.
func (i *Item) Tooltip(t testing.TB) string {
	t.Helper()
	var tip struct {
		Icon    string
		Pixmaps []Pixmap
		Title   string
		Text    string
	}
	i.property(t, "ToolTip", &tip)
	return tip.Title
}

// Icon is the picture in the panel.
func (i *Item) Icon(t testing.TB) Pixmap {
	t.Helper()
	var sizes []Pixmap
	i.property(t, "IconPixmap", &sizes)
	if len(sizes) == 0 {
		return Pixmap{}
	}
	return sizes[0]
}

// Bright says whether the picture is light, as one for a dark panel is: by the mean of the pixels that can be seen.
func (p Pixmap) Bright() bool {
	var sum, weight int
	for i := 0; i+3 < len(p.Pixels); i += 4 { // ARGB
		alpha := int(p.Pixels[i])
		sum += alpha * (int(p.Pixels[i+1]) + int(p.Pixels[i+2]) + int(p.Pixels[i+3]))
		weight += 3 * alpha
	}
	return weight > 0 && sum/weight > 127
}

// AwaitIcon waits for a picture of which ok is true.
func (i *Item) AwaitIcon(t testing.TB, timeout time.Duration, what string, ok func(Pixmap) bool) {
	t.Helper()
	if _, found := timetest.Within(timeout, func() (Pixmap, bool) { icon := i.Icon(t); return icon, ok(icon) }); !found {
		t.Fatalf("no icon within %v that is %s", timeout, what)
	}
}

// Activate is a left click on the icon itself.
func (i *Item) Activate(t testing.TB) {
	t.Helper()
	if err := i.object().Call(itemInterface+".Activate", 0, int32(0), int32(0)).Err; err != nil {
		t.Fatalf("clicking the icon: %v", err)
	}
}

// Row is one row of the menu, as the program describes it.
type Row struct {
	ID        int32
	Label     string // as a person reads it, without the marks of mnemonics
	Raw       string // as it was sent
	Enabled   bool
	Visible   bool
	Checked   bool
	Separator bool
	Submenu   bool
	Rows      []Row // of the submenu
}

// Menu is the whole menu.
type Menu []Row

// Menu reads the menu.
func (i *Item) Menu(t testing.TB) Menu {
	t.Helper()
	var revision uint32
	var root layout
	err := i.menu().Call(menuInterface+".GetLayout", 0, int32(0), int32(-1), []string{}).Store(&revision, &root)
	if err != nil {
		t.Fatalf("reading the menu: %v", err)
	}
	return root.rows(t)
}

// layout is a row on the wire.
type layout struct {
	ID         int32
	Properties map[string]dbus.Variant
	Children   []dbus.Variant
}

func (l layout) rows(t testing.TB) (rows []Row) {
	t.Helper()
	for _, child := range l.Children {
		var c layout
		if err := dbus.Store([]any{child.Value()}, &c); err != nil {
			t.Fatalf("reading a row of the menu: %v", err)
		}
		row := Row{ID: c.ID, Enabled: true, Visible: true, Rows: c.rows(t)}
		for name, value := range c.Properties {
			switch name {
			case "label":
				row.Raw, _ = value.Value().(string)
				row.Label = readable(row.Raw)
			case "enabled":
				row.Enabled, _ = value.Value().(bool)
			case "visible":
				row.Visible, _ = value.Value().(bool)
			case "toggle-state":
				row.Checked = value.Value() == int32(1)
			case "type":
				row.Separator = value.Value() == "separator"
			case "children-display":
				row.Submenu = value.Value() == "submenu"
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// readable undoes what a panel undoes: a doubled underscore is one, a single one only marks the next letter.
func readable(label string) string {
	const kept = "\x00"
	label = strings.ReplaceAll(label, "__", kept)
	return strings.ReplaceAll(strings.ReplaceAll(label, "_", ""), kept, "_")
}

// Labels are the labels of the rows that can be seen, top to bottom; those of a submenu come after its own row, as
// "Server/Stop". A line between groups is "──".
func (m Menu) Labels() (labels []string) {
	for _, row := range m {
		switch {
		case !row.Visible:
		case row.Separator:
			labels = append(labels, "──")
		default:
			labels = append(labels, row.Label)
			for _, label := range Menu(row.Rows).Labels() {
				labels = append(labels, row.Label+"/"+label)
			}
		}
	}
	return labels
}

// Find returns the row that can be seen under that label; one in a submenu is "Server/Stop". A label that ends in "*"
// is the beginning of one.
func (m Menu) Find(label string) (Row, bool) {
	first, rest, deeper := strings.Cut(label, "/")
	for _, row := range m {
		if !row.Visible || row.Separator {
			continue
		}
		if matches(row.Label, label) {
			return row, true
		}
		if deeper && matches(row.Label, first) {
			return Menu(row.Rows).Find(rest)
		}
	}
	return Row{}, false
}

func matches(label, pattern string) bool {
	if prefix, open := strings.CutSuffix(pattern, "*"); open {
		return strings.HasPrefix(label, prefix)
	}
	return label == pattern
}

// Click clicks the row under that label, whether it is enabled or not, as the wire allows.
func (i *Item) Click(t testing.TB, label string) {
	t.Helper()
	row, found := i.Menu(t).Find(label)
	if !found {
		t.Fatalf("there is no row %q to click in %q", label, i.Menu(t).Labels())
	}
	i.ClickID(t, row.ID)
}

// ClickID clicks the row with that id. Ids never change in the life of a program.
func (i *Item) ClickID(t testing.TB, id int32) {
	t.Helper()
	if err := i.event(id, "clicked"); err != nil {
		t.Fatalf("clicking row %d: %v", id, err)
	}
}

// Open tells the program that its menu has been opened.
func (i *Item) Open(t testing.TB) {
	t.Helper()
	if err := i.event(0, "opened"); err != nil {
		t.Fatalf("opening the menu: %v", err)
	}
}

func (i *Item) event(id int32, name string) error {
	return i.menu().Call(menuInterface+".Event", 0, id, name, dbus.MakeVariant(int32(0)), uint32(0)).Err
}

// Await reads the menu again each time the program says that it changed, until it is as it should be, and returns it.
func (i *Item) Await(t testing.TB, timeout time.Duration, what string, ok func(Menu) bool) Menu {
	t.Helper()
	changed, stop := i.changes(t)
	defer stop()
	deadline := time.After(timeout)
	for {
		menu := i.Menu(t)
		if ok(menu) {
			return menu
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("after %v the menu does not show %s: %q", timeout, what, menu.Labels())
		}
	}
}

// AwaitLabel waits until there is a row under that label, in the sense of Find.
func (i *Item) AwaitLabel(t testing.TB, timeout time.Duration, label string) Menu {
	t.Helper()
	return i.Await(t, timeout, "row "+label, func(m Menu) bool {
		_, found := m.Find(label)
		return found
	})
}

// changes delivers a word for each LayoutUpdated of the icon's program.
func (i *Item) changes(t testing.TB) (changed <-chan *dbus.Signal, stop func()) {
	t.Helper()
	rule := []dbus.MatchOption{dbus.WithMatchSender(i.owner), dbus.WithMatchInterface(menuInterface), dbus.WithMatchMember("LayoutUpdated")}
	if err := i.conn.AddMatchSignal(rule...); err != nil {
		t.Fatal(err)
	}
	signals := make(chan *dbus.Signal, 64)
	i.conn.Signal(signals)
	return signals, func() {
		i.conn.RemoveSignal(signals)
		_ = i.conn.RemoveMatchSignal(rule...) // the bus may have been killed by the test
	}
}

// settle reads the menu for the first time. An answer that was cut names submenus without rows.
func (i *Item) settle(t testing.TB) {
	t.Helper()
	changed, stop := i.changes(t)
	defer stop()
	for _, row := range i.Menu(t) {
		if row.Submenu && len(row.Rows) == 0 {
			select {
			case <-changed:
			case <-time.After(time.Second):
				t.Fatal("the first menu was cut and the rest never announced")
			}
			return
		}
	}
}
