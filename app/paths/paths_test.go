package paths_test

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/adrg/xdg"

	"chatwright.dev/tray/app/paths"
	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/servertest"
)

// setenv gives the process a home of its own, with nothing else set but pairs, and tells package xdg, which reads the
// environment once.
func setenv(t *testing.T, pairs ...string) (home string) {
	t.Helper()
	t.Cleanup(xdg.Reload) // the last thing to happen, once the environment is back
	home = t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"CHATWRIGHT_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_DATA_HOME"} {
		t.Setenv(name, "")
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		t.Setenv(pairs[i], pairs[i+1])
	}
	xdg.Reload()
	return home
}

func resolve(t *testing.T, stateDir string) paths.Paths {
	t.Helper()
	p, err := paths.Resolve(stateDir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func onUnix(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("the base directories have other names there")
	}
}

// tray.md, Where files live.
func TestFilesLieInTheBaseDirectories(t *testing.T) {
	onUnix(t)
	base := t.TempDir()
	dir := func(name string) string {
		path := filepath.Join(base, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	home := setenv(t, "XDG_CONFIG_HOME", dir("config"), "XDG_CACHE_HOME", dir("cache"), "XDG_STATE_HOME", dir("state"), "XDG_RUNTIME_DIR", dir("run"))
	state := filepath.Join(base, "state", "chatwright")
	want := paths.Paths{
		Config:    filepath.Join(base, "config", "chatwright", "tray.toml"),
		UI:        filepath.Join(base, "cache", "chatwright", "ui"),
		State:     state,
		StateFile: filepath.Join(state, "state.json"),
		History:   filepath.Join(state, "history.db"),
		Upstreams: filepath.Join(state, "upstreams.json"),
		Sessions:  filepath.Join(state, "sessions"),
		Capture:   filepath.Join(state, "capture"),
		Log:       filepath.Join(state, "server.log"),
		Lock:      filepath.Join(state, "instance.lock"),
		PID:       filepath.Join(state, "server.pid"),
		Discovery: filepath.Join(state, "daemon.json"),
		Runtime:   filepath.Join(base, "run", "chatwright"),
		Socket:    filepath.Join(base, "run", "chatwright", "control.sock"),
		LegacyUI:  filepath.Join(home, ".chatwright", "ui"),
	}
	if got := resolve(t, ""); got != want {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestFilesLieInTheHomeWhereNothingIsSet(t *testing.T) {
	onUnix(t)
	home := setenv(t)
	got := resolve(t, "")
	for name, pair := range map[string][2]string{
		"config": {got.Config, filepath.Join(home, ".config", "chatwright", "tray.toml")},
		"ui":     {got.UI, filepath.Join(home, ".cache", "chatwright", "ui")},
		"state":  {got.State, filepath.Join(home, ".local", "state", "chatwright")},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: got %q, want %q", name, pair[0], pair[1])
		}
	}
}

// desktop-facts.md: RuntimeDir may not exist on a server; after sudo -E it is another user's.
func TestSocketLiesInThePrivateStateFolderWhereThereIsNoRuntimeFolderOfOurs(t *testing.T) {
	onUnix(t)
	foreign := t.TempDir()
	for name, dir := range map[string]string{"missing": filepath.Join(t.TempDir(), "none"), "another user's": foreign} {
		t.Run(name, func(t *testing.T) {
			if dir == foreign {
				if os.Geteuid() != 0 {
					servertest.Missing(t, "only root can give a folder away")
				}
				if err := os.Chown(foreign, 12345, -1); err != nil {
					t.Fatal(err)
				}
			}
			setenv(t, "XDG_RUNTIME_DIR", dir)
			got := resolve(t, "")
			if want := filepath.Join(got.State, "run", "control.sock"); got.Socket != want {
				t.Errorf("socket: got %q, want %q", got.Socket, want)
			}
		})
	}
}

func TestOneFolderHoldsEverythingOfOurs(t *testing.T) {
	folder := t.TempDir()
	home := setenv(t, "CHATWRIGHT_HOME", folder)
	got := resolve(t, "")
	if by := resolve(t, folder); by != got {
		t.Errorf("--state-dir and CHATWRIGHT_HOME differ: %+v, %+v", by, got)
	}
	v := reflect.ValueOf(got)
	for i := range v.NumField() {
		name, path := v.Type().Field(i).Name, v.Field(i).String()
		switch {
		case name == "LegacyUI": // what the command-line companion left stays where it left it
			if want := filepath.Join(home, ".chatwright", "ui"); path != want {
				t.Errorf("%s: got %q, want %q", name, path, want)
			}
		case runtime.GOOS == "windows" && (name == "Runtime" || name == "Socket"):
		case path != folder && !strings.HasPrefix(path, folder+string(filepath.Separator)):
			t.Errorf("%s: got %q, want it in %q", name, path, folder)
		}
	}
}

func TestFlagWinsOverTheEnvironmentAndBecomesAbsolute(t *testing.T) {
	setenv(t, "CHATWRIGHT_HOME", t.TempDir())
	here := t.TempDir()
	t.Chdir(here)
	here, err := os.Getwd() // the name that the system gives it
	if err != nil {
		t.Fatal(err)
	}
	if got, want := resolve(t, "sub/../tray").State, filepath.Join(here, "tray"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMissingHomeIsAnErrorWithAWayOut(t *testing.T) {
	onUnix(t)
	setenv(t, "HOME", "")
	if filepath.IsAbs(xdg.Home) {
		t.Skip("the system knows a home by other means")
	}
	if _, err := paths.Resolve(""); err == nil || !strings.Contains(hint.Of(err), "--state-dir") {
		t.Errorf("got %v, hint %q, want a way out", err, hint.Of(err))
	}
	if _, err := paths.Resolve(t.TempDir()); err != nil {
		t.Errorf("with a state folder: got %v, want none", err)
	}
}

func TestResolveCreatesNothingAndMakeCreatesPrivateFolders(t *testing.T) {
	onUnix(t)
	home := setenv(t)
	p := resolve(t, "")
	if entries, err := os.ReadDir(home); err != nil || len(entries) != 0 {
		t.Fatalf("after Resolve: got %v, %v, want an empty home", entries, err)
	}
	if err := p.Make(); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{p.State, p.Runtime, filepath.Dir(p.State)} {
		info, err := os.Stat(folder)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o700 {
			t.Errorf("%s: got mode %04o, want 0700", folder, got)
		}
	}
	for _, path := range []string{filepath.Dir(p.Config), p.UI, p.Lock, p.Socket} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s: got %v, want that nobody made it", path, err)
		}
	}
	if err := p.Make(); err != nil {
		t.Errorf("making again: %v", err)
	}
}

func TestMakeLeavesAFolderThatIsThereAsItIs(t *testing.T) {
	onUnix(t)
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o750); err != nil {
		t.Fatal(err)
	}
	setenv(t)
	p := resolve(t, folder)
	if err := p.Make(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(folder)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o750 {
		t.Errorf("got mode %04o, want it untouched, 0750", got)
	}
}

func TestMakeNamesTheFolderThatCannotBe(t *testing.T) {
	setenv(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := resolve(t, filepath.Join(file, "sub")).Make()
	if err == nil || !strings.Contains(err.Error(), filepath.Join(file, "sub")) || hint.Of(err) == "" {
		t.Errorf("got %v, hint %q, want the folder and a way out", err, hint.Of(err))
	}
}

func TestSocketCanBeElsewhere(t *testing.T) {
	onUnix(t)
	setenv(t)
	p := resolve(t, t.TempDir())
	if same, err := p.WithSocket(""); err != nil || same != p {
		t.Errorf("no override: got %+v, %v, want no change", same, err)
	}
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.WithSocket("x/s.sock")
	if err != nil {
		t.Fatal(err)
	}
	want := p
	want.Runtime, want.Socket = filepath.Join(here, "x"), filepath.Join(here, "x", "s.sock")
	if got != want {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

// companion.md: DefaultUICacheDir is $XDG_CACHE_HOME/chatwright/ui, or $CHATWRIGHT_HOME/ui. The server may not import
// this package, so the two are kept in agreement here.
func TestServerAndAppAgreeOnTheFolderOfTheCopies(t *testing.T) {
	for name, pairs := range map[string][]string{
		"nothing set":     nil,
		"XDG_CACHE_HOME":  {"XDG_CACHE_HOME", t.TempDir()},
		"CHATWRIGHT_HOME": {"CHATWRIGHT_HOME", t.TempDir()},
		"both":            {"XDG_CACHE_HOME", t.TempDir(), "CHATWRIGHT_HOME", t.TempDir()},
		"a relative XDG_CACHE_HOME, which the standard says to ignore": {"XDG_CACHE_HOME", "cache"},
	} {
		t.Run(name, func(t *testing.T) {
			setenv(t, pairs...)
			if got, want := server.DefaultUICacheDir(), resolve(t, "").UI; got != want {
				t.Errorf("server: %q, app: %q", got, want)
			}
		})
	}
}

// The Desktop Application Autostart Specification. CHATWRIGHT_HOME is for our own files, and these are the desktop's.
func TestLoginEntriesLieWhereTheDesktopLooks(t *testing.T) {
	onUnix(t)
	home := setenv(t, "XDG_CONFIG_DIRS", "/a:/b", "CHATWRIGHT_HOME", t.TempDir())
	own, system := paths.LoginEntries()
	if want := filepath.Join(home, ".config", "autostart"); own != want {
		t.Errorf("got %s, want %s", own, want)
	}
	if want := []string{"/a/autostart", "/b/autostart"}; !slices.Equal(system, want) {
		t.Errorf("got %s, want %s", system, want)
	}
	setenv(t, "XDG_CONFIG_HOME", filepath.Join(home, "c"))
	if own, _ := paths.LoginEntries(); own != filepath.Join(home, "c", "autostart") {
		t.Errorf("got %s, want the folder in XDG_CONFIG_HOME", own)
	}
}
