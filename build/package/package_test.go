package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/hint"
)

var then = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// aRelease is one of this checkout that has built nothing.
func aRelease(t *testing.T) *release {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dist := t.TempDir()
	return &release{root: root, dist: dist, work: filepath.Join(dist, "work"), version: "1.2.3", when: then, log: io.Discard}
}

func someFiles() []file {
	return []file{{"b/run", 0o755, []byte("program")}, {"a.txt", 0o644, []byte("text")}}
}

func TestPackingTwiceGivesTheSameBytes(t *testing.T) {
	for name, pack := range map[string]func(string, []file, time.Time) ([]byte, error){"tar": tarGz, "zip": zipped} {
		first, err := pack("top", someFiles(), then)
		if err != nil {
			t.Fatal(err)
		}
		backwards := someFiles()
		slices.Reverse(backwards)
		second, err := pack("top", backwards, then)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, second) {
			t.Errorf("%s: the order in which files come changes the archive", name)
		}
	}
}

func TestAnArchiveHasModesTimesAndRootAsOwner(t *testing.T) {
	packed, err := tarGz("top", someFiles(), then)
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]fs.FileMode{"top/a.txt": 0o644, "top/b/run": 0o755}
	for r := tar.NewReader(unpacked); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if got := h.FileInfo().Mode(); got != want[h.Name] {
			t.Errorf("%s: got mode %v, want %v", h.Name, got, want[h.Name])
		}
		if !h.ModTime.Equal(then) || h.Uid != 0 || h.Uname != "root" {
			t.Errorf("%s: got %v of %d (%s)", h.Name, h.ModTime, h.Uid, h.Uname)
		}
		delete(want, h.Name)
	}
	if len(want) > 0 {
		t.Errorf("not in the archive: %v", want)
	}
}

func TestFilesAreLaidOutOpenToEverybodyAndWithNothingElse(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "stage")
	if err := os.MkdirAll(filepath.Join(folder, "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "of-yesterday"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := lay(folder, someFiles(), then); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"": 0o755, "b": 0o755, "b/run": 0o755, "a.txt": 0o644} {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%q: got mode %v, want %v", name, got, want)
		}
		if !info.IsDir() && !info.ModTime().Equal(then) {
			t.Errorf("%q: got time %v, want %v", name, info.ModTime(), then)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "of-yesterday")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what an earlier run left is still there: %v", err)
	}
}

func TestTheVersionIsWhatTheProgramSays(t *testing.T) {
	for said, want := range map[string]string{"chatwright-tray 0.1.0\n": "0.1.0", "panic: oh": "", "other 1.0.0": "", "": ""} {
		got, err := versionOf(said)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v; want %q", said, got, err, want)
		}
	}
}

func TestTheTimeOfARelease(t *testing.T) {
	if got, err := sourceDate(t.Context(), ".", "1777863721"); err != nil || !got.Equal(then) {
		t.Errorf("from the environment: got %v, %v; want %v", got, err, then)
	}
	if _, err := sourceDate(t.Context(), ".", "yesterday"); err == nil || !strings.Contains(err.Error(), "yesterday") {
		t.Errorf("got %v, want an error that shows what was set", err)
	}
	if _, err := sourceDate(t.Context(), t.TempDir(), ""); err == nil || !strings.Contains(hint.Of(err), "SOURCE_DATE_EPOCH") {
		t.Errorf("outside a checkout: got %v (%s), want the way out", err, hint.Of(err))
	}
}

func TestAllIsEveryStepThatThisMachineCanDoAndNobodyLeftOut(t *testing.T) {
	names := map[string]bool{}
	for _, s := range everything([]string{"rpm"}) {
		names[s.name] = true
	}
	for _, s := range steps() {
		if want := s.name != "rpm" && (s.name != "macos" || canBuildMacOS()); names[s.name] != want {
			t.Errorf("%s: got %v, want %v", s.name, names[s.name], want)
		}
	}
	if all := steps(); all[len(all)-1].name != "checksums" {
		t.Error("checksums do not come last, so they miss what comes after them")
	}
}

func TestElsewhereTheMacOSAppSaysWhatItNeeds(t *testing.T) {
	if canBuildMacOS() {
		t.Skip("this is a Mac")
	}
	err := aRelease(t).makeMacOS(t.Context())
	if err == nil || !strings.Contains(hint.Of(err), "on a Mac") {
		t.Errorf("got %v (%s), want the way out", err, hint.Of(err))
	}
}

func TestTheMacOSAppIsLaidOutAsMacOSWantsIt(t *testing.T) {
	files, err := aRelease(t).appBundle([]byte("program"), []byte("terms"))
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]file{}
	for _, f := range files {
		at[strings.TrimPrefix(f.name, "Chatwright Tray.app/Contents/")] = f
	}
	var info struct {
		Dict struct {
			Keys []struct {
				XMLName xml.Name
				Text    string `xml:",chardata"`
			} `xml:",any"`
		} `xml:"dict"`
	}
	if err := xml.Unmarshal(at["Info.plist"].data, &info); err != nil {
		t.Fatal(err)
	}
	facts := map[string]string{}
	for i := 0; i+1 < len(info.Dict.Keys); i += 2 {
		value := info.Dict.Keys[i+1]
		facts[info.Dict.Keys[i].Text] = value.Text
		if value.XMLName.Local == "true" {
			facts[info.Dict.Keys[i].Text] = "true"
		}
	}
	for key, want := range map[string]string{
		"LSUIElement": "true", "CFBundleShortVersionString": "1.2.3", "CFBundleIdentifier": "dev.chatwright.tray",
	} {
		if facts[key] != want {
			t.Errorf("%s: got %q, want %q", key, facts[key], want)
		}
	}
	if f := at["MacOS/"+facts["CFBundleExecutable"]]; f.mode != 0o755 || string(f.data) != "program" {
		t.Errorf("the program that Info.plist names is not there, or cannot be run: %v", f.mode)
	}
	if f := at["Resources/"+facts["CFBundleIconFile"]+".icns"]; !bytes.HasPrefix(f.data, []byte("icns")) {
		t.Error("the icon that Info.plist names is not there")
	}
}

func TestALicenceIsNamedByWhatItSays(t *testing.T) {
	const bsd = "Redistributions of source code must retain the above copyright\nnotice"
	for text, want := range map[string]string{
		"   Apache License\n   Version 2.0, January 2004":                               "Apache-2.0",
		"Permission is hereby granted, free of charge,\nto any person obtaining a copy": "MIT",
		bsd: "BSD-2-Clause",
		bsd + "\nNeither the name may be used to endorse or\npromote products": "BSD-3-Clause",
		"All rights reserved": "",
	} {
		c := component{terms: []term{{"LICENSE", text}}}
		if got := strings.Join(c.spdx(), " "); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestWithoutTermsNothingIsPassedOn(t *testing.T) {
	if _, err := termsIn(t.TempDir()); err == nil {
		t.Error("a module without a licence was taken")
	}
}

func TestABillNamesEveryPartOnce(t *testing.T) {
	parts := []component{
		{path: "std", version: "go1.26.8"},
		{path: "example.com/a", version: "v1.0.0+incompatible", sum: "h1:abc=", terms: []term{{"LICENSE", "Apache License Version 2.0, January 2004"}}},
	}
	b := aRelease(t).billOf(target{goos: "linux", goarch: "amd64"}, []byte("program"), parts)
	data, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"purl":"pkg:golang/chatwright.dev/tray@v1.2.3?goos=linux\u0026goarch=amd64"`,
		`"purl":"pkg:golang/std@1.26.8"`,
		`"purl":"pkg:golang/example.com/a@v1.0.0%2Bincompatible"`,
		`"licenses":[{"license":{"id":"Apache-2.0"}}]`,
		`"timestamp":"2026-05-04T03:02:01Z"`,
		`"dependsOn":["pkg:golang/std@1.26.8","pkg:golang/example.com/a@v1.0.0%2Bincompatible"]`,
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("not in the bill: %s\n%s", want, data)
		}
	}
}

func TestSumsAreOverTheFilesAndNotOverThemselves(t *testing.T) {
	r := aRelease(t)
	for name, text := range map[string]string{
		"b_1.2.3.deb": "abc", "a-1.2.3.zip": "", "a-1.2.2.zip": "old", "SHA256SUMS": "old", "SHA256SUMS.minisig": "old",
	} {
		if err := os.WriteFile(filepath.Join(r.dist, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(r.dist, "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := checksums(r.dist, r.version)
	if err != nil {
		t.Fatal(err)
	}
	want := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a-1.2.3.zip\n" +
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b_1.2.3.deb\n"
	if string(got) != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// The channels name what was really made: a release without a Mac's app has no cask.
func TestChannelsNameThePackagesThatAreThere(t *testing.T) {
	r := aRelease(t)
	if err := os.WriteFile(filepath.Join(r.dist, "chatwright-tray-1.2.3-windows-amd64-setup.exe"), []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := r.channels()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 3 {
		t.Fatalf("got %d files, want the three of winget", len(files))
	}
	for _, want := range []string{
		"InstallerSha256: ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n",
		"/v1.2.3/chatwright-tray-1.2.3-windows-amd64-setup.exe\n",
		"PackageVersion: 1.2.3\n",
	} {
		if !strings.Contains(string(files[1].data), want) {
			t.Errorf("not in the manifest: %s\n%s", want, files[1].data)
		}
	}
	if err := os.WriteFile(filepath.Join(r.dist, "chatwright-tray-1.2.3-macos.zip"), []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if files, err = r.channels(); err != nil || len(files) != 4 || !strings.HasSuffix(files[0].name, ".rb") {
		t.Errorf("with the app: got %d files, %v; want the cask too", len(files), err)
	}
}
