package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/server/servertest"
)

// panelRunner runs a program in a real panel under Xvfb. It stands beside a checkout, not in it.
const panelRunner = "../../../shared/tools/panel/run"

// TestRealPanel shows the tray in xfce4-panel, makes calls, opens the menu and clicks Open Studio. With
// CHATWRIGHT_SCREENSHOTS=DIR the pictures are kept there, to be looked at.
func TestRealPanel(t *testing.T) {
	runner, err := filepath.Abs(panelRunner)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(runner); err != nil {
		t.Skip("the panel runner is not beside this checkout (../shared/tools/panel/run)")
	}
	for program, packages := range map[string]string{
		"Xvfb": "xvfb", "xfce4-panel": "xfce4-panel", "xdotool": "xdotool", "xwininfo": "x11-utils", "import": "imagemagick",
		"dbus-daemon": "dbus", "gdbus": "libglib2.0-bin", "curl": "curl",
	} {
		servertest.Need(t, program, packages)
	}
	program, err := builtProgram()
	if err != nil {
		t.Fatal(err)
	}
	pictures := os.Getenv("CHATWRIGHT_SCREENSHOTS")
	if pictures == "" {
		pictures = t.TempDir()
	}
	addr := freeAddr(t)
	steps := filepath.Join(t.TempDir(), "steps")
	script := strings.NewReplacer("ADDR", addr, "BODY", aCall).Replace(`
until_ok 50 curl -sf http://ADDR/health || die "the companion does not answer"
for i in 1 2 3; do
  curl -sf -H 'Content-Type: application/json' -d 'BODY' http://ADDR/v1/chat/completions >/dev/null || die "call $i failed"
done
curl -s -H 'Content-Type: application/json' -d '{"model":"no-such-model","messages":[]}' http://ADDR/v1/chat/completions >/dev/null
sleep 6 # the recent calls follow at leisure, and the picture is to show them
shot icon
open_menu 3
shot menu
keys Escape
sleep 0.3
xdotool mousemove 16 584 click 1
until_ok 50 grep -q https://chatwright.dev/studio/ "$URLS" || die "a left click did not open Studio"
`)
	if err := os.WriteFile(steps, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(runner, pictures, steps, program, "--addr", addr, "--upstream", "demo")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS") {
		t.Fatalf("the panel run failed: %v\n%s", err, out)
	}
	for _, name := range []string{"icon.png", "menu.png"} {
		if info, err := os.Stat(filepath.Join(pictures, name)); err != nil || info.Size() == 0 {
			t.Errorf("no picture %s: %v", name, err)
		}
	}
}
