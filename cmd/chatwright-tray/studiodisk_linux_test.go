package main

import (
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/studio/studiotest"
)

// A disk that is full keeps the old version, says so in words that help, and is forgotten once there is room.
func TestAFullDiskKeepsTheOldStudio(t *testing.T) {
	t.Parallel()
	release := studiotest.NewRelease(t)
	old := heavySite("1.0.0", 0)
	release.Publish("1.0.0", old)
	u := newUser(t, "CHATWRIGHT_SERVER_UI=true", "CHATWRIGHT_SERVER_UI_URL="+release.URL)
	cache := filepath.Join(u.home, "c", "ui")
	servertest.SmallDisk(t, cache, "8m")
	c := u.launch("--headless")
	c.awaitStatus("the first copy", servesStudio("1.0.0"))

	next := heavySite("1.1.0", 1)
	for name, size := range map[string]int{"the archive": 9 << 20, "what is in it": 12 << 20} {
		t.Run("no room for "+name, func(t *testing.T) {
			content := make([]byte, size)
			copy(content, next["media/film-QX3ZV7KA.webm"]) // the rest is zeros, which pack well
			if name == "the archive" {
				content = []byte(strings.Repeat(next["media/film-QX3ZV7KA.webm"], size/len(next["media/film-QX3ZV7KA.webm"])))
			}
			release.Publish("1.1.0", next.With("media/long-QX3ZV7KC.webm", string(content)))
			got := u.run("studio", "update")
			wantSaid(t, got, exitFailed, "no space left on device", "hint: make room")
			status := c.awaitStatus("what went wrong", func(s protocol.Status) bool { return s.Phase == protocol.PhaseDegraded })
			if n := status.Notices; len(n) != 1 || n[0].Text != "Studio was not updated: the disk is full" || n[0].Hint == "" {
				t.Errorf("notices: got %+v", n)
			}
			wantSite(t, c.status.Addr, old)
			u.wantNoLeftovers(t)
		})
	}

	release.Publish("1.1.0", next)
	wantSaid(t, u.run("studio", "update"), exitOK, "Studio 1.1.0 is installed")
	wantSite(t, c.status.Addr, next)
	c.awaitStatus("no trouble any more", func(s protocol.Status) bool { return s.Phase == protocol.PhaseRunning && len(s.Notices) == 0 })
}
