//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/studio/studiotest"
)

// sharingUsers are two users' worth of state folders over one cache, as two companions of one person have them.
func sharingUsers(t *testing.T, env ...string) [2]*user {
	t.Helper()
	cache := t.TempDir()
	var users [2]*user
	for i := range users {
		u := newUser(t, env...)
		for _, folder := range []string{"config", "state", "run"} {
			if err := os.Mkdir(filepath.Join(u.home, folder), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		u.env = append(u.env, "CHATWRIGHT_HOME=", "XDG_CACHE_HOME="+cache, "XDG_CONFIG_HOME="+filepath.Join(u.home, "config"),
			"XDG_STATE_HOME="+filepath.Join(u.home, "state"), "XDG_RUNTIME_DIR="+filepath.Join(u.home, "run"))
		users[i] = u
	}
	return users
}

// each does something for both at once.
func eachUser(users [2]*user, f func(u *user)) {
	var both sync.WaitGroup
	for _, u := range users {
		both.Go(func() { f(u) })
	}
	both.Wait()
}

func (u *user) studioStatus() (s protocol.StudioStatus) {
	u.t.Helper()
	if err := json.Unmarshal([]byte(u.run("studio", "status", "--json").stdout), &s); err != nil {
		u.t.Error(err)
	}
	return s
}

// studio.md: two processes that update at once do not harm each other.
func TestTwoCompanionsOnOneCache(t *testing.T) {
	t.Parallel()
	release := studiotest.NewRelease(t)
	sites := map[string]studiotest.Site{}
	for i, version := range []string{"1.0.0", "1.1.0", "1.2.0", "1.3.0"} {
		sites[version] = heavySite(version, i)
	}
	users := sharingUsers(t, "CHATWRIGHT_SERVER_UI=true", "CHATWRIGHT_SERVER_UI_URL="+release.URL, "CHATWRIGHT_SERVER_UI_CHECK=0s")

	// Both start with nothing and fetch the first copy by themselves: it is downloaded once.
	resume := release.HoldArchive("1.0.0", sites["1.0.0"], 0.5)
	addrs := map[*user]string{}
	for _, u := range users {
		addrs[u] = u.startDaemon().Addr
	}
	release.Await(studiotest.Archive, 1)
	release.Await(studiotest.Manifest, 2)
	resume()
	eachUser(users, func(u *user) { wantSaid(t, u.run("studio", "update"), exitOK, "Studio 1.0.0 is") })
	if n := release.Count(studiotest.Archive); n != 1 {
		t.Errorf("the archive was downloaded %d times, want once", n)
	}
	for _, u := range users {
		wantSite(t, addrs[u], sites["1.0.0"])
	}

	release.Publish("1.1.0", sites["1.1.0"])
	eachUser(users, func(u *user) { wantSaid(t, u.run("studio", "update"), exitOK, "Studio 1.1.0 is") })
	for _, u := range users {
		wantSite(t, addrs[u], sites["1.1.0"])
	}

	// The first goes on by two versions and removes what is old. What the second serves stays until it has gone on too.
	for _, version := range []string{"1.2.0", "1.3.0"} {
		release.Publish(version, sites[version])
		wantSaid(t, users[0].run("studio", "update"), exitOK, "Studio "+version+" is installed")
	}
	wantSaid(t, users[0].run("studio", "prune"), exitOK)
	wantSite(t, addrs[users[0]], sites["1.3.0"])
	wantSite(t, addrs[users[1]], sites["1.1.0"])
	wantSaid(t, users[1].run("studio", "update"), exitOK, "Studio 1.3.0 is installed")
	wantSite(t, addrs[users[1]], sites["1.3.0"])

	// One goes back while the other updates: each serves a whole version, and both agree in the end.
	release.Publish("1.3.0", sites["1.3.0"].With("edition.txt", "another"))
	var both sync.WaitGroup
	both.Go(func() { users[0].run("studio", "rollback") })
	both.Go(func() { users[1].run("studio", "update", "--ignore-hold") })
	both.Wait()
	for _, u := range users {
		wantSaid(t, u.run("studio", "update", "--ignore-hold"), exitOK)
		wantSite(t, addrs[u], sites["1.3.0"].With("edition.txt", "another"))
		if s := u.studioStatus(); s.Version != "1.3.0" || s.Held != "" {
			t.Errorf("in the end: %+v", s)
		}
	}
}
