package check_test

import (
	"archive/zip"
	"context"
	"debug/pe"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"chatwright.dev/tray/server/servertest"
)

// The programs that this test fetches, as build/package does.
const goWinres = "github.com/tc-hib/go-winres@v0.3.3"

const setupLimit = 15e6 // bytes

var osslsigncode = tool{"osslsigncode", "osslsigncode"}

// windowsFolder is the archive for Windows, unpacked.
func windowsFolder(t *testing.T) string {
	t.Helper()
	archive, err := zip.OpenReader(packageFile(t, "*-windows-amd64.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	folder := t.TempDir()
	for _, entry := range archive.File {
		content, err := entry.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(folder, filepath.Base(entry.Name)), data)
	}
	return folder
}

// Windows opens a console for a program that says it wants one, and lets others print nowhere.
func TestOneWindowsProgramHasAConsoleAndTheOtherHasNone(t *testing.T) {
	folder := windowsFolder(t)
	for name, want := range map[string]uint16{
		"chatwright-tray.exe": pe.IMAGE_SUBSYSTEM_WINDOWS_GUI,
		"chatwright-tray.com": pe.IMAGE_SUBSYSTEM_WINDOWS_CUI,
	} {
		program, err := pe.Open(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		header, ok := program.OptionalHeader.(*pe.OptionalHeader64)
		if !ok || header.Subsystem != want {
			t.Errorf("%s: got subsystem %d, want %d", name, header.Subsystem, want)
		}
		_ = program.Close()
	}
}

// What is read back is what Explorer shows: icon, version, publisher; and what decides how the program runs.
func TestWindowsProgramsCarryTheirResources(t *testing.T) {
	folder := windowsFolder(t)
	for name, description := range map[string]string{
		"chatwright-tray.exe": "Chatwright Tray",
		"chatwright-tray.com": "Chatwright Tray, for a terminal",
	} {
		into := t.TempDir()
		program := filepath.Join(folder, name)
		output(t, tool{"go", "golang"}, "run", goWinres, "extract", "--dir", into, program)
		var got struct {
			Icons     map[string]map[string]string `json:"RT_GROUP_ICON"`
			Manifests map[string]map[string]struct {
				Level string `json:"execution-level"`
				DPI   string `json:"dpi-awareness"`
			} `json:"RT_MANIFEST"`
			Versions map[string]map[string]struct {
				Info map[string]map[string]string `json:"info"`
			} `json:"RT_VERSION"`
		}
		if err := json.Unmarshal(readFile(t, filepath.Join(into, "winres.json")), &got); err != nil {
			t.Fatal(err)
		}
		info := got.Versions["#1"]["0409"].Info["0409"]
		for key, want := range map[string]string{
			"ProductName": "Chatwright Tray", "ProductVersion": releaseVersion(t), "FileDescription": description,
			"OriginalFilename": name, "CompanyName": "Chatwright",
		} {
			if info[key] != want {
				t.Errorf("%s: %s: got %q, want %q", name, key, info[key], want)
			}
		}
		manifest := got.Manifests["#1"]["0409"]
		if manifest.Level != "as invoker" && manifest.Level != "" || manifest.DPI != "per monitor v2" {
			t.Errorf("%s: the manifest is %+v", name, manifest)
		}
		if len(got.Icons) != 1 {
			t.Errorf("%s: got %d icons, want 1", name, len(got.Icons))
		}
	}
}

// releaseVersion is the version in the name of the package.
func releaseVersion(t *testing.T) string {
	t.Helper()
	name := filepath.Base(packageFile(t, "*-windows-amd64.zip"))
	return strings.TrimSuffix(strings.TrimPrefix(name, "chatwright-tray-"), "-windows-amd64.zip")
}

// The programs and the installer can be signed with the tools of those who have a certificate, and still are what they
// were: the signature covers the resources too.
func TestWindowsProgramsCanBeSigned(t *testing.T) {
	size(t, packageFile(t, "*-setup.exe"), setupLimit)
	folder := windowsFolder(t)
	key, certificate := filepath.Join(folder, "key.pem"), filepath.Join(folder, "certificate.pem")
	output(t, tool{"openssl", "openssl"}, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
		"-subj", "/CN=Chatwright test", "-days", "2", "-addext", "extendedKeyUsage=codeSigning")
	for _, program := range []string{
		filepath.Join(folder, "chatwright-tray.exe"), filepath.Join(folder, "chatwright-tray.com"), packageFile(t, "*-setup.exe"),
	} {
		signed := filepath.Join(t.TempDir(), filepath.Base(program))
		output(t, osslsigncode, "sign", "-certs", certificate, "-key", key, "-n", "Chatwright Tray", "-in", program, "-out", signed)
		output(t, osslsigncode, "verify", "-CAfile", certificate, "-in", signed)

		data := readFile(t, signed)
		data[len(data)/2] ^= 1
		writeFile(t, signed, data)
		if said, err := try(t, osslsigncode, "verify", "-CAfile", certificate, "-in", signed); err == nil {
			t.Errorf("%s: a changed program was found to be signed:\n%s", filepath.Base(program), said)
		}
	}
}

// underWine runs a script with a Windows of its own, which goes away with the test, and returns what it said.
func underWine(t *testing.T, script string, args ...string) string {
	t.Helper()
	prefix, err := os.MkdirTemp("", "cwwine")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(prefix) })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", append([]string{script}, args...)...)
	cmd.Env = append(os.Environ(), "WINEPREFIX="+prefix, "HOME="+prefix)
	// It has programs of its own to end.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	text, err := cmd.CombinedOutput()
	said := string(text)
	t.Log(said)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

// wineFolder is the archive for Windows, unpacked, with the library that wine lacks.
func wineFolder(t *testing.T) string {
	t.Helper()
	servertest.Need(t, "wine", "wine64 wine")
	servertest.Need(t, "curl", "curl")
	folder := windowsFolder(t)
	writeFile(t, filepath.Join(folder, "bcryptprimitives.dll"), randomLibrary())
	return folder
}

// A smoke test, no more: wine is not Windows.
func TestTheWindowsProgramRunsUnderWine(t *testing.T) {
	installer := packageFile(t, "*-setup.exe")
	folder := wineFolder(t)
	fixtures := filepath.Join(folder, "fixtures.json")
	writeFile(t, fixtures, []byte(`{"main": {"from: {name: lists}": [{"id": 7, "title": "Shopping"}]}}`))
	writeFile(t, fixtures+".request", []byte(`{"query": "from: {name: lists}", "expectations": [{"type": "exactRowCount", "count": 1}]}`))
	said := underWine(t, "testdata/wine.sh", folder, installer, freeAddr(t), fixtures)
	for _, want := range []string{
		"says chatwright-tray " + releaseVersion(t),
		"wrong usage is 2",
		`"version":"` + releaseVersion(t) + `"`,
		`"role":"assistant"`,
		`"verdict":"pass","rows":[{"id":7,"title":"Shopping"}]`,
		"history.db",
		"listed as version " + releaseVersion(t),
		"upgraded while it ran, with its records",
		"no longer listed",
		"uninstalled",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("not seen: %s", want)
		}
	}
	for _, line := range lines(said) {
		if strings.HasPrefix(line, "left over: ") && !strings.Contains(line, "/AppData/Local/chatwright") {
			t.Error(line)
		}
		if names, ok := strings.CutPrefix(line, "installed "); ok {
			got := strings.Split(strings.TrimSuffix(strings.TrimSpace(names), ","), ", ")
			slices.Sort(got)
			compare(t, "installed", got, []string{"LICENSE.txt", "README.txt", "chatwright-tray.com", "chatwright-tray.exe",
				"commands.md", "third-party-licences.txt", "uninstall.exe"})
		}
	}
}

// A panel that takes icons as X11 had them (XEMBED) shows those of wine. With CHATWRIGHT_SCREENSHOTS=DIR the pictures are
// kept there, to be looked at.
func TestTheWindowsTrayInAPanel(t *testing.T) {
	folder := wineFolder(t)
	for program, packages := range map[string]string{
		"Xvfb": "xvfb", "xfce4-panel": "xfce4-panel", "xdotool": "xdotool", "import": "imagemagick", "xwininfo": "x11-utils",
		"dbus-daemon": "dbus", "gdbus": "libglib2.0-bin",
	} {
		servertest.Need(t, program, packages)
	}
	pictures := servertest.Pictures(t)
	said := underWine(t, "testdata/winetray.sh", folder, freeAddr(t), "testdata/xfce4-panel.xml", pictures)
	for _, want := range []string{
		"the icon is in the panel",
		"stopped and started from the menu",
		"at login: on, and off",
		"a left click opens Studio",
		"the icon follows the task bar",
		"quit from the menu",
	} {
		if !slices.Contains(lines(said), want) {
			t.Errorf("not seen: %s", want)
		}
	}
}

// freeAddr is an address on which nothing listens.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
