// Package servertest helps tests of this module and of programs that embed the companion: a server on a private
// port, a scripted model provider, and a check for the system components that a test needs.
package servertest

import (
	"os"
	"os/exec"
	"testing"
)

// Need looks up program on PATH and returns where it is. When it is missing the test is skipped with the apt line
// that installs it; with CHATWRIGHT_TESTS=all in the environment, as in CI, the test fails instead, since a test that
// never runs proves nothing.
func Need(t testing.TB, program, aptPackages string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	Missing(t, program+" is not installed: apt-get install -y --no-install-recommends "+aptPackages)
	return ""
}

// Missing skips the test with the reason, or fails it when CHATWRIGHT_TESTS=all is set.
func Missing(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("CHATWRIGHT_TESTS") == "all" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}
