//go:build unix

package main

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/creack/pty"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/studio/studiotest"
)

// studio.md: a progress bar on a terminal; an update can be cancelled, and a broken download resumes. With a companion
// the update is the companion's, without one the command's own.
func TestStudioUpdateOnATerminal(t *testing.T) {
	for _, with := range []string{"a companion", "the cache alone"} {
		t.Run("with "+with, func(t *testing.T) {
			t.Parallel()
			release := studiotest.NewRelease(t)
			release.Publish("0.4.1", studiotest.Studio("0.4.1"))
			u := newUser(t, "CHATWRIGHT_SERVER_UI=true", "CHATWRIGHT_SERVER_UI_URL="+release.URL, "TERM=xterm")
			wantSaid(t, u.run("studio", "update"), exitOK, "Studio 0.4.1 is installed")
			var c *companion
			if with == "a companion" {
				c = u.launch("--headless")
				release.Await(studiotest.Manifest, 2) // the companion's own look
				c.awaitStatus("a look that is over", func(s protocol.Status) bool {
					return s.Studio != nil && s.Studio.Stage == protocol.StudioIdle && !s.Studio.CheckedAt.IsZero()
				})
			}
			site := heavySite("0.5.0", 1)
			release.HoldArchive("0.5.0", site, 0.43)
			screen, code := u.interrupt(t, "Downloading Studio 0.5.0", "studio", "update")
			if code != exitInterrupted || !strings.Contains(screen, "error: the update was cancelled") {
				t.Errorf("after Ctrl-C: exit %d, %q", code, screen)
			}
			if s := u.studioStatus(); s.Version != "0.4.1" || s.Stage != protocol.StudioIdle || s.Error != "" {
				t.Errorf("after Ctrl-C: %+v", s)
			}
			if c != nil {
				c.awaitStatus("no failure, since somebody wanted it", func(s protocol.Status) bool {
					return s.Phase == protocol.PhaseRunning && len(s.Notices) == 0
				})
			}

			release.Publish("0.5.0", site)
			wantSaid(t, u.run("studio", "update"), exitOK, "Studio 0.5.0 is installed")
			requests := release.Requests()
			if last := requests[len(requests)-1]; !strings.HasPrefix(last, "GET studio-ui.zip bytes=") {
				t.Errorf("the second attempt does not go on where the first stopped: %q", last)
			}
		})
	}
}

// interrupt runs a command on a terminal of 80 columns, presses Ctrl-C once it shows a text, and returns what came to
// the screen and the exit code.
func (u *user) interrupt(t *testing.T, text string, args ...string) (screen string, code int) {
	t.Helper()
	cmd := u.command(args...)
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = terminal.Close() }()
	shown := &lockedBuffer{}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := terminal.Read(buf)
			_, _ = shown.Write(buf[:n])
			if err != nil { // EIO, once the program has ended
				return
			}
		}
	}()
	awaitText(t, shown, text)
	if _, err := terminal.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	<-read
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatalf("waiting for %q: %v", args, exit)
	}
	return shown.String(), cmd.ProcessState.ExitCode()
}

func TestProgressFitsTheTerminal(t *testing.T) {
	downloading := protocol.StudioStatus{
		Stage: protocol.StudioDownloading, Version: "0.4.1", Available: "0.5.0", Bytes: 1_353_000, Total: 3_145_728, Rate: 2_202_009,
	}
	unknown := downloading
	unknown.Total, unknown.Rate = 0, 0
	for _, c := range []struct {
		status protocol.StudioStatus
		width  int
		want   string
	}{
		{downloading, 100, "Downloading Studio 0.5.0  ██████████░░░░░░░░░░░░░░   43 %  1.3 MiB of 3.0 MiB · 2.1 MiB/s"},
		{downloading, 80, "Downloading Studio 0.5.0  ██████░░░░░░░░   43 %  1.3 MiB of 3.0 MiB · 2.1 MiB/s"},
		{downloading, 70, "Downloading Studio 0.5.0   43 %  1.3 MiB of 3.0 MiB · 2.1 MiB/s"},
		{downloading, 40, "Downloading Studio 0.5.0   43 %  1.3 M…"},
		{downloading, 2, "…"},
		{downloading, 1, ""},
		{unknown, 80, "Downloading Studio 0.5.0  1.3 MiB"},
		{protocol.StudioStatus{Stage: protocol.StudioUnpacking, Available: "0.5.0"}, 80, "Installing Studio 0.5.0"},
		{protocol.StudioStatus{Stage: protocol.StudioUnpacking, Version: "0.5.0"}, 80, "Installing Studio 0.5.0"},
		{protocol.StudioStatus{Stage: protocol.StudioChecking}, 20, "Looking for a newe…"},
		{protocol.StudioStatus{Stage: protocol.StudioDownloading, Available: "\x1b[2J\n"}, 80, "Downloading Studio ·[2J·  0 B"},
	} {
		got := drawnLine(c.status, c.width)
		if got != c.want {
			t.Errorf("in %d columns: got %q, want %q", c.width, got, c.want)
		}
		if n := utf8.RuneCountInString(got); n >= c.width {
			t.Errorf("%q is %d wide, and the terminal %d", got, n, c.width)
		}
	}
}

// Where nothing can be drawn over there is a line for each stage, and one for each quarter of a download.
func TestProgressInAPipe(t *testing.T) {
	var out strings.Builder
	p := &progressPrinter{out: &out}
	p.print(protocol.StudioStatus{Stage: protocol.StudioIdle})
	p.print(protocol.StudioStatus{Stage: protocol.StudioChecking})
	for n := range int64(101) {
		p.print(protocol.StudioStatus{Stage: protocol.StudioDownloading, Available: "0.5.0", Bytes: n << 14, Total: 100 << 14})
	}
	p.print(protocol.StudioStatus{Stage: protocol.StudioUnpacking, Available: "0.5.0"})
	p.print(protocol.StudioStatus{Stage: protocol.StudioUnpacking, Version: "0.5.0"})
	p.print(protocol.StudioStatus{Stage: protocol.StudioIdle})
	p.end()
	want := `Looking for a newer Studio
Downloading Studio 0.5.0: 0 % of 1.6 MiB
Downloading Studio 0.5.0: 25 % of 1.6 MiB
Downloading Studio 0.5.0: 50 % of 1.6 MiB
Downloading Studio 0.5.0: 75 % of 1.6 MiB
Downloading Studio 0.5.0: 100 % of 1.6 MiB
Installing Studio 0.5.0
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
