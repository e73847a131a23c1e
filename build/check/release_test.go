package check_test

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"chatwright.dev/tray/server/servertest"
)

var minisign = tool{"minisign", "minisign"}

// The steps of build/README.md, with a key that is thrown away: sign, and check as somebody who downloads.
func TestADownloadCanBeChecked(t *testing.T) {
	folder := dist(t)
	sums := filepath.Join(t.TempDir(), "SHA256SUMS")
	writeFile(t, sums, readFile(t, filepath.Join(folder, "SHA256SUMS")))
	secret, public := filepath.Join(t.TempDir(), "secret"), filepath.Join(t.TempDir(), "chatwright.pub")
	output(t, minisign, "-G", "-W", "-s", secret, "-p", public)
	output(t, minisign, "-Sm", sums, "-s", secret, "-t", "Chatwright Tray")
	output(t, minisign, "-Vm", sums, "-p", public)

	cmd := exec.Command(servertest.Need(t, "sha256sum", "coreutils"), "--check", "--strict", "--quiet", sums)
	cmd.Dir = folder
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the sums: %v\n%s", err, said)
	}

	writeFile(t, sums, []byte(strings.ToUpper(string(readFile(t, sums)))))
	if said, err := try(t, minisign, "-Vm", sums, "-p", public); err == nil {
		t.Errorf("changed sums were found to be signed:\n%s", said)
	}
}

// A bill of materials is true when it lists what is in the program that was shipped, no more and no less.
func TestTheBillListsWhatIsInTheProgram(t *testing.T) {
	program := filepath.Join(unpacked(t), "usr/bin/chatwright-tray")
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"std " + info.GoVersion}
	for _, dep := range info.Deps {
		want = append(want, dep.Path+" "+dep.Version)
	}
	var bill struct {
		Metadata struct {
			Component struct {
				Hashes []struct{ Content string }
			}
		}
		Components []struct {
			Name, Version string
			Licences      []any `json:"licenses"`
		}
	}
	if err := json.Unmarshal(readFile(t, packageFile(t, "*-linux-amd64.cdx.json")), &bill); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range bill.Components {
		got = append(got, c.Name+" "+c.Version)
		if len(c.Licences) == 0 {
			t.Errorf("%s: the licence is not known: add its phrase to build/package/licences.go", c.Name)
		}
	}
	compare(t, "the bill", got, want)
	sum := sha256.Sum256(readFile(t, program))
	if got, want := bill.Metadata.Component.Hashes[0].Content, hex.EncodeToString(sum[:]); got != want {
		t.Errorf("the bill is of another program: got %s, want %s", got, want)
	}
}

// Somebody else, with the same source in another folder, in another time zone and with another umask, gets the same
// bytes. The installer is left out, since packing it takes as long as everything else; it holds the same files as the
// archive.
func TestTheSameSourceGivesTheSameBytes(t *testing.T) {
	if os.Getenv("CHATWRIGHT_TESTS") != "all" {
		t.Skip("takes a minute: CHATWRIGHT_TESTS=all")
	}
	sums := readFile(t, filepath.Join(dist(t), "SHA256SUMS"))
	want := slices.DeleteFunc(lines(string(sums)), func(line string) bool {
		return strings.HasSuffix(line, "-setup.exe") || strings.HasSuffix(line, "-macos.zip")
	})
	copied := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.CopyFS(copied, withoutDist{os.DirFS(root(t))}); err != nil {
		t.Fatal(err)
	}
	const again = `umask 077 && exec go run ./build/package --arch "$0" all --without installer,macos`
	cmd := exec.CommandContext(t.Context(), "bash", "-c", again, arches(string(sums)))
	cmd.Dir = copied
	cmd.Env = append(os.Environ(), "TZ=Pacific/Apia", "LC_ALL=C", "GOFLAGS=")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("making the packages: %v\n%s", err, said)
	}
	got := string(readFile(t, filepath.Join(copied, "dist", "SHA256SUMS")))
	compare(t, "the second time", lines(got), want)
}

// arches are the processors of the Linux packages in a list of sums.
func arches(sums string) string {
	var found []string
	for _, arch := range []string{"amd64", "arm64"} {
		if strings.Contains(sums, "-linux-"+arch+".tar.gz") {
			found = append(found, arch)
		}
	}
	return strings.Join(found, ",")
}

// withoutDist is a checkout without what was made of it.
type withoutDist struct{ fs.FS }

func (w withoutDist) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(w.FS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return name == "." && e.Name() == "dist" }), err
}
