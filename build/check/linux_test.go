package check_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"chatwright.dev/tray/server/servertest"
)

var update = flag.Bool("update", false, "write the golden files anew")

const debLimit = 15e6 // bytes

var (
	dpkgDeb = tool{"dpkg-deb", "dpkg"}
	rpm     = tool{"rpm", "rpm"}
)

// The list of what is installed is a file that a person can read, so that nothing comes in unseen.
func TestThePackagesInstallWhatIsListed(t *testing.T) {
	deb, rpmFile := packageFile(t, "*_amd64.deb"), packageFile(t, "*.x86_64.rpm")
	size(t, deb, debLimit)
	size(t, rpmFile, debLimit)
	tarball := packageFile(t, "*-linux-amd64.tar.gz")

	var inDeb []string
	for _, line := range lines(output(t, dpkgDeb, "--contents", deb)) {
		fields := strings.Fields(line)
		if fields[1] != "root/root" {
			t.Errorf("it does not belong to root: %s", line)
		}
		if !strings.HasSuffix(line, "/") {
			inDeb = append(inDeb, fields[0]+" "+strings.TrimPrefix(fields[5], "."))
		}
	}
	compareGolden(t, "deb.list", inDeb)

	// The others hold the same, but for what is Debian's own.
	files := lines(output(t, rpm, "-qlp", rpmFile))
	compare(t, "rpm", withoutFolders(files), adapt(inDeb, "zsh/vendor-completions", "zsh/site-functions", ""))
	files = lines(output(t, tool{"tar", "tar"}, "-tzf", tarball))
	for i, name := range files {
		_, files[i], _ = strings.Cut(name, "/")
	}
	slices.Sort(files)
	compare(t, "tar", slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "/INSTALL") }),
		adapt(inDeb, "lib/systemd/", "share/systemd/", "/usr/"))
}

// adapt makes of the list of a .deb what another package must hold.
func adapt(deb []string, old, now, prefix string) []string {
	var want []string
	for _, line := range deb {
		_, name, _ := strings.Cut(line, " ")
		if strings.Contains(name, "Debian") || strings.Contains(name, "lintian") {
			continue
		}
		name = strings.NewReplacer(old, now, "zsh/vendor-completions", "zsh/site-functions").Replace(name)
		want = append(want, strings.TrimPrefix(name, prefix))
	}
	slices.Sort(want)
	return want
}

// withoutFolders leaves out the folders of a list of paths.
func withoutFolders(paths []string) []string {
	files := slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		return slices.ContainsFunc(paths, func(other string) bool { return strings.HasPrefix(other, path+"/") })
	})
	slices.Sort(files)
	return files
}

func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func compareGolden(t *testing.T, name string, got []string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		writeFile(t, path, []byte(strings.Join(got, "\n")+"\n"))
	}
	compare(t, path, got, lines(string(readFile(t, path))))
}

func TestDebianFindsNoFault(t *testing.T) {
	deb := packageFile(t, "*_amd64.deb")
	said := output(t, tool{"lintian", "lintian"}, "--allow-root", "--fail-on", "error,warning", deb)
	t.Log(said)
}

func TestDesktopsFindNoFault(t *testing.T) {
	folder := unpacked(t)
	output(t, tool{"desktop-file-validate", "desktop-file-utils"},
		filepath.Join(folder, "usr/share/applications/dev.chatwright.tray.desktop"))
	output(t, tool{"appstreamcli", "appstream"}, "validate", "--no-net",
		filepath.Join(folder, "usr/share/metainfo/dev.chatwright.tray.metainfo.xml"))
	manual := exec.Command(servertest.Need(t, "man", "man-db"), "--warnings", "-E", "UTF-8", "-Tutf8", "-Z", "-l",
		filepath.Join(folder, "usr/share/man/man1/chatwright-tray.1.gz"))
	var said strings.Builder
	manual.Stderr = &said // what is printed is the manual itself, which has words about warnings
	if err := manual.Run(); err != nil || said.Len() > 0 {
		t.Errorf("the manual: %v\n%s", err, said.String())
	}
}

// systemd says what it does not understand in the unit. The program must be where the unit says, so the unit is looked
// at as if the package were installed in a folder.
func TestSystemdUnderstandsTheUnit(t *testing.T) {
	path := servertest.Need(t, "systemd-analyze", "systemd")
	folder := unpacked(t)
	unit := filepath.Join(folder, "usr/lib/systemd/user/chatwright-tray.service")
	text := strings.ReplaceAll(string(readFile(t, unit)), "/usr/bin/chatwright-tray", filepath.Join(folder, "usr/bin/chatwright-tray"))
	writeFile(t, unit, []byte(text))
	cmd := exec.Command(path, "verify", "--user", "--man=no", unit)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
	if said, err := cmd.CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("%v\n%s", err, said)
	}
}

// unpacked is the .deb, unpacked.
func unpacked(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	output(t, dpkgDeb, "--extract", packageFile(t, "*_amd64.deb"), folder)
	return folder
}
