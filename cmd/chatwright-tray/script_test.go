package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"chatwright.dev/tray/server/studio/studiotest"
	"chatwright.dev/tray/server/upstream/detect"
)

// TestMain lets this test binary stand for the program itself: a script that runs "chatwright-tray", and the daemon
// that such a run starts, are this binary under that name.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"chatwright-tray": scriptMain, "make-db": makeDatabaseMain})
}

// scriptMain is main for a script. What runs on the machine of the test is no part of it: model servers are looked for
// where the script says, as "PORT=HOST:PORT …" with the usual port first.
func scriptMain() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	c := &cli{args: os.Args[1:], stdout: os.Stdout, stderr: os.Stderr}
	c.detect = detect.Config{Timeout: patience, Address: func(port int) string {
		for _, one := range strings.Fields(os.Getenv("TEST_MODEL_SERVERS")) {
			if usual, address, _ := strings.Cut(one, "="); usual == strconv.Itoa(port) {
				return address
			}
		}
		return ""
	}}
	code := c.run(ctx, os.Stdin)
	stop()
	os.Exit(code)
}

// TestScripts runs the scripts in testdata/script: each is a user at a shell with a home of his own.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			// A short folder: the path of a socket has a limit that the script's own folder can pass.
			home, err := os.MkdirTemp("", "cw")
			if err != nil {
				return err
			}
			env.Defer(func() { _ = os.RemoveAll(home) })
			release := studiotest.NewRelease(t)
			env.Values[releaseKey{}] = release
			for name, value := range map[string]string{
				"CHATWRIGHT_HOME": home, "CHATWRIGHT_SERVER_ADDR": "127.0.0.1:0", "CHATWRIGHT_SERVER_UPSTREAM": "demo",
				"CHATWRIGHT_SERVER_UI_URL": release.URL, "CHATWRIGHT_NO_BROWSER": "1", "DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": "",
			} {
				env.Setenv(name, value)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"release": releaseCommand},
	})
}

type releaseKey struct{}

// releaseCommand does something to the release of Studio that each script has to itself: "release publish VERSION",
// "release contract N", "release gone" (every file is a 404) and "release down" (nobody listens any more).
func releaseCommand(ts *testscript.TestScript, neg bool, args []string) {
	release, ok := ts.Value(releaseKey{}).(*studiotest.Release)
	switch what := strings.Join(args[:min(len(args), 1)], ""); {
	case !ok || neg:
		ts.Fatalf("release cannot fail")
	case what == "publish" && len(args) == 2:
		release.Publish(args[1], studiotest.Studio(args[1]))
	case what == "contract" && len(args) == 2:
		contract, err := strconv.Atoi(args[1])
		ts.Check(err)
		release.Answer(studiotest.Manifest, studiotest.File(studiotest.ManifestOf("9.9.9", studiotest.Hash(nil), contract)))
	case what == "gone":
		release.Answer(studiotest.Manifest, nil)
		release.Answer(studiotest.Archive, nil)
	case what == "down":
		release.Close()
	default:
		ts.Fatalf("usage: release publish VERSION | contract N | gone | down")
	}
}
