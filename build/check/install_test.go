package check_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/servertest"
)

// installToIcon is the most that may pass between "dpkg -i" and the icon on an idle machine. Machines that run tests are
// not idle, so the test allows for ten times as much, and logs what it was.
const installToIcon = 2 * time.Second

// A person installs the package, starts it from the menu, upgrades it while it runs, removes it and purges it.
func TestTheWholeLifeOfAnInstallation(t *testing.T) {
	deb := packageFile(t, "*_amd64.deb")
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		servertest.Missing(t, "installing packages needs Linux and root")
	}
	for program, packages := range map[string]string{
		"dpkg": "dpkg", "unshare": "util-linux", "ip": "iproute2", "Xvfb": "xvfb", "xfce4-panel": "xfce4-panel",
		"dbus-daemon": "dbus", "gdbus": "libglib2.0-bin", "gio": "libglib2.0-bin", "curl": "curl", "man": "man-db",
		"desktop-file-validate": "desktop-file-utils",
	} {
		servertest.Need(t, program, packages)
	}
	said := output(t, tool{"bash", "bash"}, "testdata/machine.sh", "testdata/install.sh", deb, newer(t, deb), "testdata/xfce4-panel.xml")
	t.Log(said)
	for _, want := range []string{
		"started from the menu",
		"action open studio",
		"action open console",
		"manual and completion are there",
		"upgraded to " + newerVersion + " while it ran, with its records and its icon",
		"upgraded to " + newerVersion + " while it ran as a service, with its records",
		"at login: on over an upgrade, and off",
		"removed and purged without leftovers",
	} {
		if !slices.Contains(lines(said), want) {
			t.Errorf("not seen: %s", want)
		}
	}
	if took := figure(t, said, "install-to-icon"); took > 10*installToIcon {
		t.Errorf("from the package to the icon: %v, want about %v", took, installToIcon)
	}
}

// newerVersion is that of the package to which an installation is upgraded.
const newerVersion = "99.0.0"

// newer is the package of a release to come, whose program says so.
func newer(t *testing.T, deb string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "newer")
	output(t, dpkgDeb, "--raw-extract", deb, folder)
	control := filepath.Join(folder, "DEBIAN", "control")
	changed := regexp.MustCompile(`(?m)^Version: .*$`).ReplaceAll(readFile(t, control), []byte("Version: "+newerVersion+"-1"))
	writeFile(t, control, changed)

	source := filepath.Join(root(t), "cmd", "chatwright-tray", "main.go")
	replaced := filepath.Join(t.TempDir(), "main.go")
	writeFile(t, replaced, regexp.MustCompile(`(?m)^const version = .*$`).ReplaceAll(readFile(t, source), []byte(`const version = "`+newerVersion+`"`)))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: replaced}})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, replaced+".json", overlay)
	t.Setenv("CGO_ENABLED", "0")
	output(t, tool{"go", "golang"}, "build", "-C", root(t), "-trimpath", "-ldflags=-s -w", "-overlay", replaced+".json",
		"-o", filepath.Join(folder, "usr", "bin", "chatwright-tray"), "./cmd/chatwright-tray")
	output(t, dpkgDeb, "-Zgzip", "-z1", "--build", folder, folder+".deb")
	return folder + ".deb"
}

// figure is what a script measured, in milliseconds.
func figure(t *testing.T, said, name string) time.Duration {
	t.Helper()
	for _, line := range lines(said) {
		if text, ok := strings.CutPrefix(line, "figure "+name+" "); ok {
			ms, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			return time.Duration(ms) * time.Millisecond
		}
	}
	t.Fatalf("no figure %s", name)
	return 0
}
