package studiotest_test

import (
	"regexp"
	"strings"
	"testing"

	"chatwright.dev/tray/server/studio/studiotest"
)

var reference = regexp.MustCompile(`["'](?:\./|/)?((?:media/)?[a-z]+-[A-Z2-7]{8}\.[a-z]+)["']`)

// A stand-in whose parts do not find each other would prove nothing.
func TestEveryFileThatTheStandInRefersToIsThere(t *testing.T) {
	site := studiotest.Studio("1.2.3")
	references := 0
	for name, content := range site {
		for _, found := range reference.FindAllStringSubmatch(content, -1) {
			references++
			if _, ok := site[found[1]]; !ok {
				t.Errorf("%s refers to %s, which is not there", name, found[1])
			}
		}
		if strings.Contains(content, "%VERSION%") {
			t.Errorf("%s: the version is not filled in", name)
		}
	}
	if want := 8; references < want {
		t.Errorf("references between the files: got %d, want at least %d", references, want)
	}
}

func TestVersionsShareNoScript(t *testing.T) {
	one, two := studiotest.Studio("1.0.0"), studiotest.Studio("1.1.0")
	for name := range one {
		if _, both := two[name]; both && strings.HasSuffix(name, ".js") {
			t.Errorf("%s is in both", name)
		}
	}
	if one["index.html"] == two["index.html"] {
		t.Error("both have the same index.html")
	}
}
