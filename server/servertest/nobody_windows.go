package servertest

import (
	"os"
	"os/exec"
	"testing"
)

// Nobody is this test binary, to be run with args: there is no other user whom it could be run as.
func Nobody(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), self, args...)
}

// AsNobody returns false: modes of files apply to nobody there.
func AsNobody(*testing.T) (done bool) { return false }
