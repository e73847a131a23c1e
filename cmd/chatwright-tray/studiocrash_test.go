//go:build unix

package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/timetest"
	"chatwright.dev/tray/server/studio/studiotest"
)

// everywhere are the rounds of a test that takes long: all of them where everything must be tested.
func everywhere(all, plain int) int {
	if os.Getenv("CHATWRIGHT_TESTS") == "all" {
		return all
	}
	return plain
}

// heavySite is a Studio of that version with files that take a moment to download and to unpack; no two editions have
// one of them alike.
func heavySite(version string, edition int) studiotest.Site {
	site := studiotest.Studio(version)
	random := rand.NewChaCha8([32]byte{byte(edition), byte(edition >> 8)})
	for _, name := range []string{"media/film-QX3ZV7KA.webm", "media/film-QX3ZV7KB.webm", "samples/large.json"} {
		content := make([]byte, 300<<10)
		_, _ = random.Read(content)
		site = site.With(name, string(content))
	}
	return site.With("edition.txt", fmt.Sprint(edition))
}

// security.md 17: a kill at any step leaves the old version or the new one, whole. The real program is killed at random
// points of an update, from its first request to some time after the archive was sent, and started again with no release
// to be had. Every third update brings the same version with another content, which goes to the same folder.
func TestKillsDuringUpdatesLeaveOneWholeVersion(t *testing.T) {
	t.Parallel()
	release := studiotest.NewRelease(t)
	u := newUser(t, "CHATWRIGHT_SERVER_UI=true", "CHATWRIGHT_SERVER_UI_URL="+release.URL)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))

	old := heavySite("1.0.0", 0)
	release.Publish("1.0.0", old)
	wantSaid(t, u.run("studio", "update"), exitOK, "Studio 1.0.0 is installed")
	begun := time.Now()
	old = heavySite("1.1.0", 1)
	release.Publish("1.1.0", old)
	wantSaid(t, u.run("studio", "update"), exitOK, "Studio 1.1.0 is installed")
	whole := time.Since(begun) // more than an update takes once its archive was asked for

	version, outcomes := 1, map[string]int{}
	for round := range everywhere(50, 6) {
		if round%3 != 2 {
			version++
		}
		next := heavySite(fmt.Sprintf("1.%d.0", version), 2+round)
		how := u.killDuringUpdate(release, fmt.Sprintf("1.%d.0", version), next, random, whole)
		offline := u.launch("--headless", "--ui-url", "http://127.0.0.1:1/")
		offline.awaitStatus("a copy of Studio", func(s protocol.Status) bool { return s.UI.Source == protocol.UICopy })
		switch edition := offline.page(t, "/edition.txt"); edition {
		case old["edition.txt"]:
			outcomes["the old one"]++
		case next["edition.txt"]:
			outcomes["the new one"]++
			old = next
		default:
			t.Fatalf("seed %d, round %d, %s: edition %q is served", seed, round, how, edition)
		}
		offline.wantWhole(t, old)
		u.wantNoLeftovers(t)
		_ = offline.cmd.Process.Kill()
		<-offline.ended
		if t.Failed() {
			t.Fatalf("seed %d, round %d, %s", seed, round, how)
		}
	}
	t.Logf("seed %d: after a kill there was %v", seed, outcomes)
}

// killDuringUpdate starts the program, which updates by itself, and kills it at a random point: while a random share of
// the archive is on its way, or some time after it was asked for.
func (u *user) killDuringUpdate(release *studiotest.Release, version string, site studiotest.Site, random *rand.Rand, whole time.Duration) (how string) {
	u.t.Helper()
	cmd := u.command("--headless")
	asked := release.Count(studiotest.Archive) + 1
	if random.IntN(3) == 0 {
		share := random.Float64()
		defer release.HoldArchive(version, site, share)()
		how = fmt.Sprintf("killed with %.0f %% of the archive sent", 100*share)
	} else {
		release.Publish(version, site)
	}
	if err := cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	release.Await(studiotest.Archive, asked)
	if how == "" {
		delay := time.Duration(random.Int64N(int64(whole)))
		timetest.Pause(delay, "killed somewhere in the update")
		how = fmt.Sprintf("killed %s after the archive was asked for", delay)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return how
}

// page is what the companion serves at a path.
func (c *companion) page(t *testing.T, path string) string {
	t.Helper()
	return fetch(t, c.url(path))
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// wantWhole wants every file of the site to be served, byte for byte.
func (c *companion) wantWhole(t *testing.T, site studiotest.Site) {
	t.Helper()
	wantSite(t, c.status.Addr, site)
}

func wantSite(t *testing.T, addr string, site studiotest.Site) {
	t.Helper()
	for name, want := range site {
		if got := fetch(t, "http://"+addr+"/"+name); got != want {
			t.Errorf("%s: got %d bytes (%.60q), want the %d of the installed file", name, len(got), got, len(want))
		}
	}
}

// wantNoLeftovers wants nothing of a killed update in the cache once a program has started again.
func (u *user) wantNoLeftovers(t *testing.T) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(u.home, "c", "ui", ".tmp-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q (%v)", left, err)
	}
}
