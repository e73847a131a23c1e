package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/atotto/clipboard"
	"github.com/pkg/browser"

	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server/hint"
)

// openPatience is how long an opener may take to fail. Some of them stay until the browser is closed, so one that has
// not failed by then is taken to have worked.
const openPatience = 3 * time.Second

// opener returns what shows a URL or a file with the user's default program.
func (c *cli) opener(s settings.Settings) func(string) error {
	if s.NoBrowser {
		return func(url string) error {
			_, err := fmt.Fprintln(c.stderr, url)
			return err
		}
	}
	// What a browser prints is not for our standard output.
	browser.Stdout, browser.Stderr = io.Discard, io.Discard
	return func(url string) error {
		failed := make(chan error, 1)
		go func() { failed <- openWithDefault(url) }()
		patience := time.NewTimer(openPatience)
		defer patience.Stop()
		select {
		case err := <-failed:
			return err
		case <-patience.C:
			return nil
		}
	}
}

func openWithDefault(url string) error {
	// In WSL the browser is on the Windows side, which the opener of pkg/browser does not reach.
	if os.Getenv("WSL_DISTRO_NAME") != "" {
		if path, err := exec.LookPath("wslview"); err == nil {
			return exec.Command(path, url).Run()
		}
		if path, err := exec.LookPath("cmd.exe"); err == nil {
			return exec.Command(path, "/c", "start", "", url).Run()
		}
	}
	err := browser.OpenURL(url)
	if errors.Is(err, exec.ErrNotFound) {
		return hint.With(errors.New("no program that opens a browser was found"), "install xdg-utils, or open the address yourself")
	}
	return err
}

func copyText(text string) error {
	if clipboard.Unsupported {
		return hint.With(errors.New("no clipboard program was found"), "install wl-clipboard, xclip or xsel")
	}
	return clipboard.WriteAll(text)
}
