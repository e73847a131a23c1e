//go:build unix && !darwin

package autostart_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/app/autostart"
)

// install puts a program where a login would find it.
func install(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func config(t *testing.T) autostart.Config {
	t.Helper()
	home := t.TempDir()
	return autostart.Config{
		Command:       []string{install(t, filepath.Join(home, "my programs", "chatwright-tray"))},
		Folder:        filepath.Join(home, "config", "autostart"),
		SystemFolders: []string{filepath.Join(home, "etc")},
	}
}

func write(t *testing.T, folder, text string) string {
	t.Helper()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "dev.chatwright.tray.desktop")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func set(t *testing.T, cfg autostart.Config, on bool) {
	t.Helper()
	if err := autostart.Set(cfg, on); err != nil {
		t.Fatal(err)
	}
}

func wantOn(t *testing.T, cfg autostart.Config, on bool, trouble string) autostart.Status {
	t.Helper()
	got, err := autostart.Read(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if got.On != on || !strings.Contains(got.Trouble, trouble) || (trouble == "") != (got.Trouble == "") {
		t.Fatalf("got %+v, want on %v and trouble %q", got, on, trouble)
	}
	return got
}

func TestOffUntilSwitchedOn(t *testing.T) {
	cfg := config(t)
	wantOn(t, cfg, false, "")
	set(t, cfg, true)
	got := wantOn(t, cfg, true, "")
	if got.Command != cfg.Command[0] || got.Where != filepath.Join(cfg.Folder, "dev.chatwright.tray.desktop") {
		t.Errorf("got %+v, want the entry of %s", got, cfg.Command[0])
	}
	set(t, cfg, true)
	set(t, cfg, false)
	wantOn(t, cfg, false, "")
	if _, err := os.Stat(got.Where); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the entry is still there: %v", err)
	}
	set(t, cfg, false)
}

func TestWhatTheUserOrTheSettingsSwitchedOffIsOff(t *testing.T) {
	cfg := config(t)
	for _, text := range []string{
		"[Desktop Entry]\nExec=/bin/true\nHidden=true\n",
		"[Desktop Entry]\nHidden = true\nExec=/bin/true\n",
		"[Desktop Entry]\nExec=/bin/true\nX-GNOME-Autostart-enabled=false\n",
	} {
		write(t, cfg.Folder, text)
		wantOn(t, cfg, false, "")
		set(t, cfg, true)
		wantOn(t, cfg, true, "")
	}
}

func TestAnEntryForEveryUserIsHiddenNotRemoved(t *testing.T) {
	cfg := config(t)
	shared := write(t, cfg.SystemFolders[0], "[Desktop Entry]\nExec=/bin/true\n")
	if got := wantOn(t, cfg, true, ""); got.Where != shared {
		t.Errorf("got %s, want %s", got.Where, shared)
	}
	set(t, cfg, false)
	wantOn(t, cfg, false, "")
	if _, err := os.Stat(shared); err != nil {
		t.Error(err)
	}
	set(t, cfg, true)
	wantOn(t, cfg, true, "")
}

func TestAnEntryThatStartsNothingSaysWhy(t *testing.T) {
	t.Setenv("XDG_CURRENT_DESKTOP", "ubuntu:GNOME")
	cfg := config(t)
	for text, trouble := range map[string]string{
		"[Desktop Entry]\nExec=/nowhere/chatwright-tray\n":             "/nowhere/chatwright-tray is not there",
		"[Desktop Entry]\nExec=/bin/true\nTryExec=/nowhere/x\n":        "/nowhere/x is not there",
		"[Desktop Entry]\nExec=/bin/true\nOnlyShowIn=KDE;XFCE;\n":      "for KDE, XFCE only",
		"[Desktop Entry]\nExec=/bin/true\nNotShowIn=GNOME;\n":          "not for this desktop",
		"[Desktop Entry]\nExec=/bin/true\nOnlyShowIn=GNOME;\n":         "",
		"[Desktop Entry]\nExec=/bin/true\n[Other]\nHidden=true\n":      "",
		"[Desktop Entry]\nName=x\n":                                    "names no program",
		"# of mine\n\n[Desktop Entry]\nExec=true --of-path %U\nA[de]=": "",
	} {
		write(t, cfg.Folder, text)
		wantOn(t, cfg, true, trouble)
	}
	for text, trouble := range map[string]string{"": "no group", "[Desktop Entry]\nExec=\"open\n": "quote is not closed"} {
		write(t, cfg.Folder, text)
		wantOn(t, cfg, false, trouble)
	}
}

// An upgrade that moves the program keeps the entry; nothing is switched on that was not.
func TestRepairPointsAMovedEntryAtTheProgramOfNow(t *testing.T) {
	cfg := config(t)
	repaired := func(want bool) {
		t.Helper()
		if got, err := autostart.Repair(cfg); err != nil || got != want {
			t.Fatalf("got %v, %v, want %v", got, err, want)
		}
	}
	repaired(false)
	wantOn(t, cfg, false, "")
	set(t, cfg, true)
	repaired(false)
	if err := os.Rename(cfg.Command[0], cfg.Command[0]+"-2"); err != nil {
		t.Fatal(err)
	}
	wantOn(t, cfg, true, "is not there")
	cfg.Command[0] += "-2"
	repaired(true)
	if got := wantOn(t, cfg, true, ""); got.Command != cfg.Command[0] {
		t.Errorf("got %s, want %s", got.Command, cfg.Command[0])
	}
	write(t, cfg.Folder, "[Desktop Entry]\nHidden=true\nExec=/nowhere/x\n")
	repaired(false)
	write(t, cfg.Folder, "[Desktop Entry]\nExec=/bin/true\nOnlyShowIn=None;\n")
	repaired(false)
}

func TestAProgramThatWillBeGoneIsNotEntered(t *testing.T) {
	cfg := config(t)
	cfg.Command[0] = filepath.Join(os.TempDir(), "go-build123", "b001", "exe", "chatwright-tray")
	if err := autostart.Set(cfg, true); err == nil || !strings.Contains(err.Error(), "does not last") {
		t.Errorf("got %v, want a refusal", err)
	}
	wantOn(t, cfg, false, "")
}

// The path that an upgrade leaves alone: the link on PATH, not the folder of one version that it leads to.
func TestProgramPrefersItsNameOnPath(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	if got, err := autostart.Program(); err != nil || got != self {
		t.Errorf("got %s, %v, want %s", got, err, self)
	}
	link := filepath.Join(bin, "chatwright-tray")
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	if got, err := autostart.Program(); err != nil || got != link {
		t.Errorf("got %s, %v, want %s", got, err, link)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	install(t, link) // another program of that name
	if got, err := autostart.Program(); err != nil || got != self {
		t.Errorf("got %s, %v, want %s", got, err, self)
	}
}

// On Windows the program is installed twice: chatwright-tray.com is for a console, and would open one at each login.
func TestTheProgramWithoutAConsoleIsEntered(t *testing.T) {
	folder := t.TempDir()
	alone := install(t, filepath.Join(folder, "alone", "chatwright-tray.com"))
	console := install(t, filepath.Join(folder, "chatwright-tray.com"))
	window := install(t, filepath.Join(folder, "chatwright-tray.exe"))
	for program, want := range map[string]string{console: window, window: window, alone: alone} {
		if got := autostart.Windowless(program); got != want {
			t.Errorf("%s: got %s, want %s", program, got, want)
		}
	}
}

// A package that is removed leaves the homes of users alone; an entry there must then start nothing, without a word.
func TestAnEntryWithoutItsProgramIsPassedOver(t *testing.T) {
	cfg := config(t)
	set(t, cfg, true)
	data, err := os.ReadFile(filepath.Join(cfg.Folder, "dev.chatwright.tray.desktop"))
	if want := "\nTryExec=" + cfg.Command[0] + "\n"; err != nil || !strings.Contains(string(data), want) {
		t.Errorf("got\n%s%v\nwant a line %q", data, err, want)
	}
}
