package studio_test

import (
	"testing"

	"chatwright.dev/tray/server/studio"
)

func TestOlderVersion(t *testing.T) {
	// Ascending, as semver.org orders them.
	ordered := []string{
		"0.0.1", "0.9.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",
		"1.0.0", "1.0.1", "1.2.0", "1.10.0", "v2.0.0", "10.0.0", "99999999999999999999.0.0",
	}
	for i, a := range ordered {
		for j, b := range ordered {
			if got, want := studio.OlderVersion(a, b), i < j; got != want {
				t.Errorf("OlderVersion(%s, %s): got %t, want %t", a, b, got, want)
			}
		}
	}
	for _, other := range []string{"1.0", "1", "01.0.0", "1.0.0-01", "1.0.0-", "1.0.0+", "1.0.0-a..b", "latest", "", "1.0.0.0", "-1.0.0"} {
		if studio.OlderVersion(other, "9.0.0") || studio.OlderVersion("0.0.0", other) {
			t.Errorf("%q is not semantic, so it is never older nor newer", other)
		}
	}
}
