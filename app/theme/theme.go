// Package theme finds out whether the panel that shows the tray's icon is light or dark, and notices when that changes.
// No desktop tells it outright; what each tells, and what follows from it, is in Look.
package theme

import "strings"

// Scheme is what a person prefers, in the numbers of org.freedesktop.appearance color-scheme.
type Scheme uint32

// The preferences.
const (
	NoPreference Scheme = 0
	PreferDark   Scheme = 1
	PreferLight  Scheme = 2
)

// Look is what is known of a desktop's appearance. The zero value knows nothing.
type Look struct {
	// Desktop is XDG_CURRENT_DESKTOP: names with colons between.
	Desktop string
	Scheme  Scheme
	// GTKTheme is the name of the theme that GTK programs use, and GTKDark whether they are to take its dark variant.
	GTKTheme string
	GTKDark  bool
	// KDEBackground is the colour of windows in KDE's own settings, as "red,green,blue".
	KDEBackground string
}

// LightPanel says whether the panel is light. Where nothing tells, it is taken to be dark, as most are.
func (l Look) LightPanel() bool {
	names := strings.Split(strings.ToLower(l.Desktop), ":")
	for _, name := range names {
		switch {
		case name == "gnome" || name == "unity" || name == "pantheon":
			return false // their panel is dark, or over a wallpaper, whatever windows look like
		case name == "xfce" && l.Scheme == NoPreference:
			return false // its panel takes the dark variant of a theme unless told otherwise
		}
	}
	switch {
	case l.Scheme == PreferLight:
		return true
	case l.Scheme == PreferDark:
		return false
	case l.KDEBackground != "":
		return bright(l.KDEBackground)
	case l.GTKTheme != "":
		return !l.GTKDark && !strings.Contains(strings.ToLower(l.GTKTheme), "dark")
	}
	return false
}
