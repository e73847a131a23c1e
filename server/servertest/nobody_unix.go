//go:build unix

package servertest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// nobody is the user and the group of that name, wherever there is one.
const nobody = 65534

// Nobody is this test binary, to be run with args as a user to whom the modes of files apply: to root none do.
func Nobody(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Dir, cmd.Env = "/", os.Environ()
	if os.Geteuid() != 0 {
		return cmd
	}
	binary, err := os.ReadFile(self) // it lies where only root can reach it
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "cw") // in t.TempDir() it could not be reached either
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	cmd.Path = filepath.Join(folder, "test")
	if err := errors.Join(os.WriteFile(cmd.Path, binary, 0o755), os.Chmod(folder, 0o1777)); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(cmd.Env, "TMPDIR="+folder, "HOME="+folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
}

// AsNobody has the calling test run as a user to whom the modes of files apply. For root it runs that test alone in a
// process of its own, reports how it went and returns true: there is nothing left to do. For anybody else it returns
// false at once.
func AsNobody(t *testing.T) (done bool) {
	t.Helper()
	if os.Geteuid() != 0 {
		return false
	}
	var pattern []string
	for part := range strings.SplitSeq(t.Name(), "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	out, err := Nobody(t, "-test.v", "-test.run="+strings.Join(pattern, "/")).CombinedOutput()
	if err != nil {
		t.Errorf("as nobody: %v\n%s", err, out)
	} else if !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Errorf("as nobody it did not run:\n%s", out)
	}
	return true
}
