package check_test

import (
	"os"
	"path/filepath"
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
		"upgraded while it ran, with its records and its icon",
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

// newer is a package that differs from another in its version only.
func newer(t *testing.T, deb string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "newer")
	output(t, dpkgDeb, "--raw-extract", deb, folder)
	control := filepath.Join(folder, "DEBIAN", "control")
	var changed []string
	for _, line := range lines(string(readFile(t, control))) {
		if strings.HasPrefix(line, "Version: ") {
			line += ".1"
		}
		changed = append(changed, line)
	}
	writeFile(t, control, []byte(strings.Join(changed, "\n")+"\n"))
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
