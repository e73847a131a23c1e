package desktop

import (
	"context"
	"runtime"
	"strings"
	"time"

	"fyne.io/systray"

	"chatwright.dev/tray/assets"
)

// endPatience bounds the wait for an event loop that got no window and so hears of no end.
const endPatience = 2 * time.Second

// loop gives the toolkit a thread of its own: Windows asks only that window and loop share one.
func loop(ctx context.Context, run func()) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer close(done)
		run()
	}()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(endPatience):
	}
}

// setIcon uses few distinct icons for good: the toolkit keeps a handle for each.
func setIcon(name assets.IconName, dark bool) { systray.SetIcon(assets.IconICO(name, dark)) }

// escape keeps ampersands: in a Windows menu a single one marks the letter after it as a mnemonic.
func escape(label string) string { return strings.ReplaceAll(label, "&", "&&") }
