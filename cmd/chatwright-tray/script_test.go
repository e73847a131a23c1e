package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets this test binary stand for the program itself: a script that runs "chatwright-tray", and the daemon
// that such a run starts, are this binary under that name.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"chatwright-tray": main, "make-db": makeDatabaseMain})
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
			for name, value := range map[string]string{
				"CHATWRIGHT_HOME": home, "CHATWRIGHT_SERVER_ADDR": "127.0.0.1:0", "CHATWRIGHT_SERVER_UPSTREAM": "demo",
				"CHATWRIGHT_NO_BROWSER": "1", "DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": "",
			} {
				env.Setenv(name, value)
			}
			return nil
		},
	})
}
