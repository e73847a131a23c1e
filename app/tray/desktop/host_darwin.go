//go:build cgo && !ios

package desktop

import (
	"context"

	"fyne.io/systray"

	"chatwright.dev/tray/assets"
)

// loop runs on the main thread, which the system asks for.
func loop(_ context.Context, run func()) { run() }

// setIcon sets a template: the system colours it for the menu bar, so the light drawing is never needed.
func setIcon(name assets.IconName, _ bool) {
	png := assets.Icon(name, false)
	systray.SetTemplateIcon(png, png)
}

// escape has nothing to do: menus have no mnemonics here.
func escape(label string) string { return label }
