//go:build unix

package main

import (
	"crypto/rand"
	"testing"

	"aead.dev/minisign"

	"chatwright.dev/tray/server/studio/studiotest"
)

// security.md 18: with a public key only what is signed with it is installed, by the command and by the companion; what
// was served before goes on being served.
func TestOnlyASignedReleaseIsInstalled(t *testing.T) {
	t.Parallel()
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, stranger, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	release := studiotest.NewRelease(t)
	u := newUser(t, "CHATWRIGHT_SERVER_UI=true", "CHATWRIGHT_SERVER_UI_URL="+release.URL)
	signed := studiotest.Studio("1.0.0")
	release.PublishSigned("1.0.0", signed, private)
	wantSaid(t, u.run("studio", "update", "--ui-key", public.String()), exitOK, "Studio 1.0.0 is installed")

	c := u.launch("--headless", "--ui-key", public.String())
	release.PublishSigned("1.1.0", studiotest.Studio("1.1.0"), stranger)
	wantSaid(t, u.run("studio", "update"), exitFailed, "the release is not signed as it must be", "hint:")
	release.Publish("1.1.0", studiotest.Studio("another 1.1.0")) // under the signature of another manifest
	wantSaid(t, u.run("studio", "update"), exitFailed, "the release is not signed as it must be")
	release.Answer(studiotest.Signature, nil)
	wantSaid(t, u.run("studio", "update"), exitFailed, "the release is not signed as it must be")
	c.wantWhole(t, signed)
	if n := release.Count(studiotest.Archive); n != 1 {
		t.Errorf("the archive was asked for %d times, want once: of the release that was signed", n)
	}

	newest := studiotest.Studio("1.1.0")
	release.PublishSigned("1.1.0", newest, private)
	wantSaid(t, u.run("studio", "update"), exitOK, "Studio 1.1.0 is installed and served")
	c.wantWhole(t, newest)
}
