package main

import (
	"bytes"
	"strings"
	"testing"
)

// Wrong usage is 2 with a way out, whoever finds it: the flags, a group of them, the words, or the command. Nothing is
// started for it.
func TestWrongUsageHasAnExitCodeOfItsOwn(t *testing.T) {
	t.Setenv("CHATWRIGHT_HOME", t.TempDir())
	for _, line := range []string{
		"--nope",
		"statsu",
		"start --tray --headless",
		"upstream add mine http://127.0.0.1:1/v1 --no-key --key-stdin",
		"upstream use",
		"session new",
		"session new . too-much",
		"session list --nope",
		"session rename",
		"session send one two three",
		"session nosuch",
		"calls export --csv=maybe",
		"completion nosuchshell",
		"completion bash too-much",
		"studio prune now",
		"open the-door",
		"version now",
	} {
		var stdout, stderr bytes.Buffer
		code := (&cli{args: strings.Fields(line), stdout: &stdout, stderr: &stderr}).run(t.Context(), strings.NewReader(""))
		if code != exitUsage {
			t.Errorf("%s: exit code %d, want %d", line, code, exitUsage)
		}
		if said := stderr.String(); !strings.HasPrefix(said, "error: ") || !strings.Contains(said, "\nhint: ") || stdout.Len() > 0 {
			t.Errorf("%s: got %q and %q on standard output, want an error and a hint alone", line, said, stdout.String())
		}
	}
}

// What fails at work is 1: it is not for the user to write it otherwise.
func TestAFailureAtWorkIsNoWrongUsage(t *testing.T) {
	t.Setenv("CHATWRIGHT_HOME", t.TempDir())
	var stdout, stderr bytes.Buffer
	if code := (&cli{args: []string{"status"}, stdout: &stdout, stderr: &stderr}).run(t.Context(), strings.NewReader("")); code != exitNotRunning {
		t.Errorf("status of nothing: got %d, want %d: %s", code, exitNotRunning, stderr.String())
	}
}
