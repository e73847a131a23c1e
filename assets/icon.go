package assets

import "embed"

//go:generate go run ./icon/generate

//go:embed icon/*.png icon/*.ico
var iconFiles embed.FS

// IconName names one of the drawings of the tray icon.
type IconName string

// The drawings: a speech bubble with a check inside, and what becomes of it.
const (
	IconIdle    IconName = "idle"
	IconBusy    IconName = "busy"
	IconWarning IconName = "warning"
	IconStopped IconName = "stopped"
)

// Icon returns a drawing as a PNG of 64 × 64, for a dark panel or for a light one. Of a name that is none it returns
// nil.
func Icon(name IconName, darkPanel bool) []byte { return iconFile(name, darkPanel, ".png") }

// IconICO returns the same drawing the way Windows wants it, in the sizes of its notification area.
func IconICO(name IconName, darkPanel bool) []byte { return iconFile(name, darkPanel, ".ico") }

func iconFile(name IconName, darkPanel bool, extension string) []byte {
	ground := "-light"
	if darkPanel {
		ground = "-dark"
	}
	data, err := iconFiles.ReadFile("icon/" + string(name) + ground + extension)
	if err != nil {
		return nil
	}
	return data
}
