package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/metrics"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/timetest"
	"chatwright.dev/tray/server/studio"
)

// A copy that was changed is said to be gone, and fetched again; one that only seemed so is no reason to ask the release.
func TestADamagedCopyIsToldOfAndFetchedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, "0.4.1", day, nil)
		defer l.end()
		l.damaged() // what is on disk is what is served
		synctest.Wait()
		if looks := l.shelf.looked(); len(looks) != 1 || len(l.notices()) != 0 {
			t.Errorf("unharmed: got %d looks, %+v", len(looks), l.notices())
		}
		block := make(chan struct{})
		l.shelf.will(func(context.Context) error { <-block; return nil })
		l.shelf.onDisk = "0.4.0"
		l.damaged()
		synctest.Wait()
		if looks := l.shelf.looked(); len(looks) != 2 || l.Status().Version != "0.4.0" {
			t.Errorf("got %d looks and Studio %s served", len(looks), l.Status().Version)
		}
		if got := l.notices(); len(got) != 1 || got[0].Text != "Studio 0.4.1 was changed" || got[0].Hint == "" {
			t.Errorf("meanwhile: got %+v", got)
		}
		close(block)
		synctest.Wait()
		if got := l.notices(); len(got) != 0 {
			t.Errorf("afterwards: got %+v", got)
		}
	})
}

// studio.md: start never waits for the network. A finished copy is served at once; the check runs beside it.
func TestACopyOnDiskIsServedWhileTheReleaseHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, "0.4.1", day, func(l *library) {
			l.shelf.will(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		})
		select {
		case <-l.looked:
		default:
			t.Error("what is on disk is not served while the release is asked")
		}
		if got := l.board.Get().studio; got == nil || got.Version != "0.4.1" {
			t.Errorf("on the board: got %+v, want 0.4.1", got)
		}
		l.end() // and nothing of it hangs
		if !l.shelf.closed || len(l.notices()) != 0 {
			t.Errorf("at the end: closed %v, notices %v", l.shelf.closed, l.notices())
		}
	})
}

// studio.md: after start and daily; with jitter, so that companions do not ask in step.
func TestLooksAreDailyAndSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		draws := []float64{0, 0.999, 0.5, 0.25}
		l := open(t, "0.4.1", day, func(l *library) {
			n := 0
			l.rand = func() float64 { n++; return draws[n%len(draws)] }
		})
		if len(l.shelf.looked()) != 1 {
			t.Fatalf("looks at the start: got %d, want 1", len(l.shelf.looked()))
		}
		timetest.Pass(30 * day)
		if n := len(l.shelf.looked()); n < 29 || n > 33 {
			t.Errorf("looks in a month: got %d, want about one a day", n)
		}
		seen := map[time.Duration]bool{}
		for _, pause := range l.pauses() {
			seen[pause] = true
			if pause < 21*time.Hour || pause > 27*time.Hour {
				t.Errorf("a pause of %s, want a day and a tenth of it at most", pause)
			}
		}
		if len(seen) != len(draws) {
			t.Errorf("the pauses are not spread: %v", l.pauses())
		}
		l.end()
	})
}

func TestWithoutAPeriodOnlyWhatIsMissingIsFetched(t *testing.T) {
	for onDisk, want := range map[string]int{"0.4.1": 0, "": 1} {
		synctest.Test(t, func(t *testing.T) {
			l := open(t, onDisk, 0, nil)
			l.Woke()
			timetest.Pass(100 * day)
			if got := len(l.shelf.looked()); got != want {
				t.Errorf("with %q on disk: got %d looks, want %d", onDisk, got, want)
			}
			l.end()
		})
	}
}

// A laptop wakes before its network does.
func TestAfterSleepItIsLookedAndAgainUntilTheNetworkIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, "0.4.1", day, nil)
		timetest.Pass(time.Hour)
		away := true
		l.shelf.will(func(context.Context) error {
			if away {
				return fmt.Errorf("updating Studio: %w at https://x.test/: no route to host", studio.ErrManifest)
			}
			return nil
		})
		l.Woke()
		timetest.Pass(5 * time.Hour)
		want := []time.Duration{time.Hour}
		for m := time.Minute; m < time.Hour; m *= 2 {
			want = append(want, m)
		}
		want = append(want, time.Hour, time.Hour, time.Hour)
		if got := l.pauses()[:len(want)]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("pauses: got %v, want %v", got, want)
		}
		if len(l.notices()) != 0 || len(l.warned) != 0 {
			t.Errorf("with a copy to serve, a network that is away is said: %v %v", l.notices(), l.warned)
		}
		away = false
		before := len(l.shelf.looked())
		timetest.Pass(day)
		if got := len(l.shelf.looked()) - before; got != 1 {
			t.Errorf("looks in the day after: got %d, want the one that went well", got)
		}
		l.end()
	})
}

// studio.md: with --ui, one warning that names the cause. tray.md: a notice with a cause stays until the cause ends.
func TestWithoutACopyTheReasonIsSaidOnceAndStaysUntilThereIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, "", day, func(l *library) {
			l.shelf.will(func(context.Context) error {
				return hint.With(fmt.Errorf("updating Studio: %w at https://x.test/: the server answered 404 Not Found", studio.ErrManifest), "check the network")
			})
		})
		timetest.Pass(3 * time.Hour)
		n := l.notices()
		if len(n) != 1 || !strings.HasPrefix(n[0].Text, "Studio could not be fetched: ") || !strings.Contains(n[0].Text, "404") {
			t.Fatalf("notices: got %+v", n)
		}
		if want := "Check the network. Studio at https://chatwright.dev works meanwhile."; n[0].Hint != want {
			t.Errorf("hint: got %q, want %q", n[0].Hint, want)
		}
		if len(l.warned) != 1 || l.warned[0] != n[0].Text {
			t.Errorf("warnings: got %q, want the one of the notice", l.warned)
		}
		l.shelf.will(func(context.Context) error { l.shelf.serve("0.4.1"); return nil })
		timetest.Pass(2 * time.Hour)
		if n := l.notices(); len(n) != 0 {
			t.Errorf("the notice outlived its cause: %+v", n)
		}
		l.end()
	})
}

// A row of the menu holds 80 characters: the cause must be among them.
func TestTheCauseOfAFailedUpdateIsSaidInAPhrase(t *testing.T) {
	const at = "https://github.com/chatwright/studio/releases/latest/download/studio-ui.manifest.json"
	dial := func(cause error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: cause} }
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("%w at %s: %w", studio.ErrManifest, at, errors.New("the server answered 404 Not Found")), "the server answered 404 Not Found"},
		{fmt.Errorf("%w at %s: %w", studio.ErrManifest, at, dial(&net.DNSError{Name: "github.com", Err: "no such host"})), "github.com was not found"},
		{fmt.Errorf("%w at %s: %w", studio.ErrManifest, at, dial(os.NewSyscallError("connect", syscall.ECONNREFUSED))), "the connection was refused"},
		{fmt.Errorf("unpacking %q: %w", "main.js", &fs.PathError{Op: "write", Path: "/a/b", Err: syscall.ENOSPC}), "the disk is full"},
		{fmt.Errorf("making the Studio cache: %w", &fs.PathError{Op: "mkdir", Path: "/a/b", Err: syscall.EACCES}), "its folder cannot be written"},
		{fmt.Errorf("%w: Studio 2.0.0 speaks 2, this companion speaks 1", studio.ErrContract), "this Studio speaks another UI contract: Studio 2.0.0 speaks 2, this companion speaks 1"},
	} {
		n := studioNotice(fmt.Errorf("updating Studio: %w", c.err), true)
		if want := "Studio was not updated: " + c.want; n.Text != want {
			t.Errorf("got %q, want %q", n.Text, want)
		}
	}
	l := &librarian{folder: "/home/me/.cache/chatwright/ui"}
	for err, want := range map[error]string{
		syscall.ENOSPC: "make room", syscall.EACCES: "/home/me/.cache/chatwright/ui", studio.ErrArchive: "",
		hint.With(syscall.ENOSPC, "as said"): "as said",
	} {
		if got := hint.Of(l.withWay(fmt.Errorf("updating Studio: %w", err))); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%v: hint %q, want %q", err, got, want)
		}
	}
}

// What a look came to, with a copy to serve: who is told, and when it is tried again.
func TestWhoIsToldOfAFailure(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   error
		asked bool
		told  bool
		again time.Duration // until the next look
	}{
		{"network away", studio.ErrManifest, false, false, time.Minute},
		{"network away, and somebody asked", studio.ErrManifest, true, true, day},
		{"a download that lies", studio.ErrDownload, false, true, time.Minute},
		{"an archive that is refused", studio.ErrArchive, false, true, day},
		{"a contract that is not ours", studio.ErrContract, false, true, day},
		{"an older release", studio.ErrOlder, false, false, day},
		{"an older release, and somebody asked", studio.ErrOlder, true, true, day},
		{"a full disk", errors.New("no space left on device"), false, true, day},
		{"cancelled by a click", studio.ErrCancelled, false, false, day},
		{"cancelled by who asked", context.Canceled, true, false, day},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wrapped := fmt.Errorf("updating Studio: %w", c.err)
				l := open(t, "0.4.1", day, func(l *library) {
					if !c.asked {
						l.shelf.will(func(context.Context) error { return wrapped })
					}
				})
				if c.asked {
					l.shelf.will(func(context.Context) error { return wrapped })
					if err := l.Update(t.Context(), true); !errors.Is(err, c.err) {
						t.Errorf("who asked is answered %v, want %v", err, c.err)
					}
				}
				n := l.notices()
				if (len(n) == 1) != c.told || len(n) > 1 {
					t.Errorf("notices: got %+v, want one: %v", n, c.told)
				}
				if c.told && !strings.HasPrefix(n[0].Text, "Studio was not updated: "+c.err.Error()) {
					t.Errorf("text: got %q", n[0].Text)
				}
				timetest.Pass(12 * day)
				pauses := l.pauses()
				if c.asked {
					pauses = pauses[1:] // between the one of the start and the one that was asked for
				}
				if !c.asked && pauses[0] != c.again {
					t.Errorf("looked again after %s, want %s", pauses[0], c.again)
				}
				l.end()
			})
		})
	}
}

func TestWhatEndsTheNoticeOfAFailedUpdate(t *testing.T) {
	broken := func(context.Context) error { return fmt.Errorf("updating Studio: %w", studio.ErrArchive) }
	for name, act := range map[string]func(*library){
		"a rollback":         func(l *library) { _ = l.Rollback(context.Background()) },
		"an update":          func(l *library) { l.shelf.will(nothing); _ = l.Update(context.Background(), true) },
		"the next good look": func(l *library) { l.shelf.will(nothing); timetest.Pass(2 * day) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := open(t, "0.4.1", day, func(l *library) { l.shelf.will(broken) })
				timetest.Pass(time.Hour) // longer than a notice without a cause lives
				if len(l.notices()) != 1 {
					t.Fatalf("notices: got %v, want one that stays", l.notices())
				}
				act(l)
				synctest.Wait()
				if len(l.notices()) != 0 {
					t.Errorf("notices: got %v, want none any more", l.notices())
				}
				l.end()
			})
		})
	}
}

// tray.md: degraded is serving while an update failed.
func TestAFailedUpdateIsDegraded(t *testing.T) {
	p := &publisher{metrics: metrics.New(0)}
	failed := parts{phase: protocol.PhaseRunning, notices: []protocol.Notice{{Cause: causeStudio}}}
	if got := p.compose(failed).Phase; got != protocol.PhaseDegraded {
		t.Errorf("got %s, want degraded", got)
	}
	failed.phase = protocol.PhaseStopped
	if got := p.compose(failed).Phase; got != protocol.PhaseStopped {
		t.Errorf("a server that is stopped: got %s", got)
	}
}
