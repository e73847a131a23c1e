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
			_, _ = fmt.Fprintln(c.stderr, url) // who asked hears it anyway; here there may be no reader left
			return nil
		}
	}
	// What a browser prints is not for our standard output.
	browser.Stdout, browser.Stderr = io.Discard, io.Discard
	return func(url string) error {
		err, _ := within(openPatience, func() error { return openWithDefault(url) })
		return err
	}
}

// within calls f and waits for it no longer than that; done is false when it goes on behind our back.
func within(patience time.Duration, f func() error) (err error, done bool) {
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-ended:
		return err, true
	case <-timer.C:
		return nil, false
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
	if _, ok := errors.AsType[*exec.ExitError](err); ok { // it prints why, if at all, where nobody looks
		return hint.With(fmt.Errorf("the program that should show it failed: %w", err), "open the address yourself")
	}
	return err
}

// copyText puts text on the clipboard. The programs that do it can hang, when the display that they should reach does
// not answer.
func copyText(text string) error {
	if clipboard.Unsupported {
		return hint.With(errors.New("no clipboard program was found"), "install wl-clipboard, xclip or xsel")
	}
	err, done := within(openPatience, func() error { return clipboard.WriteAll(text) })
	if !done {
		return hint.With(errors.New("the clipboard program does not answer"), "copy the address from the menu or the console yourself")
	}
	return err
}
