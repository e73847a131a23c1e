package check_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/servertest"
)

// patience bounds every program that a test runs. Nothing is expected to take a tenth of it.
const patience = 5 * time.Minute

// dist is the folder of the packages to look at.
func dist(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("CHATWRIGHT_DIST")
	if folder == "" {
		t.Skip("no packages to look at: go run ./build/package all && CHATWRIGHT_DIST=$PWD/dist go test ./build/check")
	}
	return folder
}

// packageFile is the one package whose name fits a pattern.
func packageFile(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dist(t), pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 {
		t.Fatalf("%s: got %d packages, want 1: %v", pattern, len(found), found)
	}
	return found[0]
}

// A tool is a program of another package, with what installs it.
type tool struct{ name, aptPackages string }

// output runs a tool and returns what it printed on both streams. A tool that fails, fails the test.
func output(t *testing.T, in tool, args ...string) string {
	t.Helper()
	said, err := try(t, in, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", in.name, strings.Join(args, " "), err, said)
	}
	return said
}

// try is output of a tool that may fail.
func try(t *testing.T, in tool, args ...string) (string, error) {
	t.Helper()
	path := servertest.Need(t, in.name, in.aptPackages)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// lines are the lines of a text, in their order.
func lines(text string) []string {
	return strings.Split(strings.TrimSpace(text), "\n")
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// size fails a package that is larger than people were promised.
func size(t *testing.T, path string, most int64) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %.1f MB of %.0f", filepath.Base(path), float64(info.Size())/1e6, float64(most)/1e6)
	if info.Size() > most {
		t.Errorf("%s has %d bytes, want at most %d", filepath.Base(path), info.Size(), most)
	}
}

// root is the folder of the checkout.
func root(t *testing.T) string {
	t.Helper()
	said, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(string(bytes.TrimSpace(said)))
}
