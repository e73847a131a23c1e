package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/server/servertest"
)

// TestRealPanel shows the tray in real panels, each on a screen of its own, and does there what a person does: looks at
// the icon, makes calls, opens the menu and reads on while the numbers change, opens Studio with a left click, stops and
// starts the server, sees the panel end and come back, and quits. With CHATWRIGHT_SCREENSHOTS=DIR the pictures are kept
// there, to be looked at.
func TestRealPanel(t *testing.T) {
	for _, panel := range []struct {
		name     string
		programs map[string]string
	}{
		{"xfce4", map[string]string{"xfce4-panel": "xfce4-panel"}},
		{"lxqt", map[string]string{"lxqt-panel": "lxqt-panel", "openbox": "openbox"}},
		{"mate", map[string]string{"mate-panel": "mate-panel", "openbox": "openbox"}},
	} {
		t.Run(panel.name, func(t *testing.T) {
			for program, packages := range map[string]string{
				"Xvfb": "xvfb", "xdotool": "xdotool", "import": "imagemagick",
				"dbus-daemon": "dbus", "gdbus": "libglib2.0-bin", "curl": "curl",
			} {
				servertest.Need(t, program, packages)
			}
			for program, packages := range panel.programs {
				servertest.Need(t, program, packages)
			}
			if testing.Short() || panel.name != "xfce4" && os.Getenv("CHATWRIGHT_TESTS") != "all" {
				t.Skip("it takes half a minute; CHATWRIGHT_TESTS=all runs it")
			}
			inPanel(t, panel.name)
		})
	}
}

func inPanel(t *testing.T, panel string) {
	t.Helper()
	program, err := builtProgram()
	if err != nil {
		t.Fatal(err)
	}
	pictures := servertest.Pictures(t)
	folder := filepath.Join("testdata", "panel")
	addr := freeAddr(t)
	cmd := exec.Command("timeout", "180", filepath.Join(folder, "run"), panel, pictures, filepath.Join(folder, "steps"),
		program, "--addr", addr, "--upstream", "demo")
	cmd.Env = append(os.Environ(), "ADDR="+addr)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS") {
		t.Fatalf("in %s: %v\n%s", panel, err, out)
	}
	for _, name := range []string{"icon", "menu", "menu-after-calls", "stopped", "after-the-panel-came-back"} {
		path := filepath.Join(pictures, panel+"-"+name+".png")
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("no picture %s: %v", name, err)
		}
	}
}
