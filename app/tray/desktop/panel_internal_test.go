//go:build linux

package desktop

import "testing"

func TestWhichPanelsCloseAnOpenMenuAtEachChange(t *testing.T) {
	for _, c := range []struct {
		host, desktop string
		want          bool
	}{
		{"lxqt-panel", "", true}, {"gnome-shell", "ubuntu:GNOME", true},
		{"panel-1-systray", "XFCE", false}, {"notification-ar", "MATE", false}, {"kded6", "KDE", false},
		{"xfce4-panel", "GNOME", false}, // what shows the icon counts
		{"", "LXQt", true}, {"", "ubuntu:GNOME", true}, {"", "KDE", false}, {"", "", false},
	} {
		if got := closesMenus(c.host, c.desktop); got != c.want {
			t.Errorf("%q on %q: got %v, want %v", c.host, c.desktop, got, c.want)
		}
	}
}
