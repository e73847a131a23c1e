//go:build unix

package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"chatwright.dev/tray/app/tray/desktop/dbustest"
	"chatwright.dev/tray/server/studio/studiotest"
)

// The offline copy in a real menu: a download is seen as it comes, and the rows of the submenu do what they say.
func TestTrayLooksAfterTheOfflineCopy(t *testing.T) {
	t.Parallel()
	release := studiotest.NewRelease(t)
	release.Publish("0.4.1", studiotest.Studio("0.4.1"))
	d := newDesk(t)
	c, item := d.launchOn(t, "CHATWRIGHT_SERVER_UI=true", "CHATWRIGHT_SERVER_UI_URL="+release.URL)
	item.AwaitLabel(t, patience, "Studio 0.4.1 (offline copy)")
	awaitRow(t, item, "Studio 0.4.1 (offline copy)/Check for updates")

	release.Publish("0.5.0", heavySite("0.5.0", 1))
	monitor := d.bus.Monitor(t)
	seen := make(chan struct{})
	release.Answer(studiotest.Archive, trickle(heavySite("0.5.0", 1).Zip(t), 2*time.Second, seen))
	item.Click(t, "Studio 0.4.1 (offline copy)/Check for updates")
	item.AwaitLabel(t, patience, "Downloading Studio 0.5.0 · *")
	close(seen)
	item.AwaitLabel(t, patience, "Studio 0.5.0 (offline copy)")
	if over := monitor.Excess(dbustest.LayoutUpdated, 4); over > 0 {
		t.Errorf("layout updates during a download: got %d more than 4 a second", over)
	}
	c.awaitStatus("the new copy", servesStudio("0.5.0"))

	item.AwaitLabel(t, patience, "Studio 0.5.0 (offline copy)/Roll back to 0.4.1")
	item.Click(t, "Studio 0.5.0 (offline copy)/Roll back to 0.4.1")
	item.AwaitLabel(t, patience, "Studio 0.4.1 (offline copy)/0.5.0 is available; you went back from it")
	c.awaitStatus("the old copy", servesStudio("0.4.1"))
	awaitRow(t, item, "Studio 0.4.1 (offline copy)/Update to 0.5.0")

	item.Click(t, "Studio 0.4.1 (offline copy)/Open cache folder")
	if got, want := c.openedURLs(1)[0], filepath.Join(c.home, "c", "ui"); got != want {
		t.Errorf("opened %s, want %s", got, want)
	}
	item.Click(t, "Open Studio")
	local := map[string]bool{c.url("/"): true, "http://chatwright.localhost" + c.url("/")[len("http://127.0.0.1"):]: true}
	if got := c.openedURLs(2)[1]; !local[got] {
		t.Errorf("Open Studio opened %s, want the copy that is served here", got)
	}
}

// trickle sends data in parts, spread over that time, and the last of them not before seen.
func trickle(data []byte, over time.Duration, seen <-chan struct{}) http.HandlerFunc {
	const parts = 40
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		for i := range parts {
			pause := time.After(over / parts)
			if i == parts-1 {
				pause = nil
			}
			select {
			case <-pause:
			case <-seen:
			case <-r.Context().Done():
				return
			}
			_, _ = w.Write(data[len(data)*i/parts : len(data)*(i+1)/parts])
			_ = http.NewResponseController(w).Flush()
		}
	}
}
