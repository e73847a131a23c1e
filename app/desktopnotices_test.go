package app

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"chatwright.dev/tray/app/notify"
	"chatwright.dev/tray/app/release"
	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server/protocol"
)

func TestWhichNoticesAreShownOnTheDesktop(t *testing.T) {
	notice := func(cause, text, hint string) protocol.Notice {
		return protocol.Notice{Cause: cause, Text: text, Hint: hint}
	}
	s := protocol.Status{
		Version: "0.1.0", Phase: protocol.PhaseBlocked, Addr: "127.0.0.1:4319", Detail: "python3 (pid 812)",
		Notices: []protocol.Notice{
			notice(causePort, "The port is taken", "Stop that program."),
			notice(causeUpstream, "connection refused", "start it"),
			notice(causeStudio, "Studio was not updated: the disk is full", ""),
			notice(causeDatabase+"shop", "Data state: no such file", ""),
			notice(causeAction, "A click failed", ""),
			notice("slow llama3.2", "llama3.2 is slower than usual", ""),
			notice(causeSetAside, "The history begins anew", ""),
		},
		Release: &protocol.Release{Version: "0.2.0", URL: "https://releases.test"},
	}
	type said struct{ cause, title, body string }
	texts := func(notices []notify.Notice) (all []said) {
		for _, n := range notices {
			all = append(all, said{n.Cause, n.Title, n.Body})
		}
		return all
	}
	want := []said{
		{"port", "127.0.0.1:4319 is held by python3 (pid 812)", "Stop that program."},
		{"upstream", "Connection refused", "Start it"},
		{"studio", "Studio was not updated: the disk is full", ""},
		{"datastate shop", "Data state: no such file", ""},
		{"release 0.2.0", "Chatwright Tray 0.2.0 is available", "This is 0.1.0. Nothing is installed by itself."},
		{"panel", "Chatwright Tray runs, but its icon has no place", "Install it."},
	}
	got := desktopNotices(s, true, "install it")
	if !slices.Equal(texts(got), want) {
		t.Errorf("got\n%q\nwant\n%q", texts(got), want)
	}
	if i := slices.Index(got[2].Actions, notify.Action{ID: chooseUpdate, Label: "Update"}); i < 0 {
		t.Errorf("a failed update of Studio offers %v, want to try again", got[2].Actions)
	}
	if got := desktopNotices(s, false, ""); len(got) != 4 {
		t.Errorf("a release that is known, and no missing panel: got %q", texts(got))
	}
	failed := desktopNotices(protocol.Status{Phase: protocol.PhaseFailed, Detail: "accept: too many open files"}, false, "")
	if want := []said{{"server", "Chatwright's server ended", "Accept: too many open files"}}; !slices.Equal(texts(failed), want) {
		t.Errorf("got %q, want %q", texts(failed), want)
	}
}

func TestAReleaseThatIsFoundIsShownAndRemembered(t *testing.T) {
	where := pathsIn(t)
	l := live(t, func(c *Config) { c.Paths, c.Version = where, "1.0.0"; c.Settings.ReleaseCheck = false })
	l.end()
	if err := <-l.ended; err != nil {
		t.Fatal(err)
	}
	l.ended <- nil
	a, err := newApp(withDefaults(l.cfg), slog.New(slog.DiscardHandler), event{}, event{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := a.releaseConfig("https://releases.test/latest")
	asked := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	cfg.Asked(asked)
	cfg.Found(release.Release{Version: "1.1.0", URL: "https://releases.test/1.1.0"})
	if !cfg.LastAsked().Equal(asked) || !cfg.Older("1.0.0", "1.0.1") || cfg.Older("1.10.0", "1.9.0") {
		t.Errorf("asked at %v", cfg.LastAsked())
	}
	menu := a.trayState(a.publisher.compose(a.board.Get()))
	if menu.NewRelease != "1.1.0" || !a.board.Get().releaseNews {
		t.Errorf("got %q, news %v", menu.NewRelease, a.board.Get().releaseNews)
	}
	state, err := settings.PeekState(where.StateFile)
	if err != nil || KnownRelease(*state.Release, "1.0.0") == nil {
		t.Errorf("got %+v, %v, want it remembered", state.Release, err)
	}
	for _, version := range []string{"1.1.0", "1.2.0", "no version"} { // after the upgrade it is none
		if known := KnownRelease(*state.Release, version); known != nil {
			t.Errorf("to %s, %s is newer", version, known.Version)
		}
	}
}
