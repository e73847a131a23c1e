package notify_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"chatwright.dev/tray/app/notify"
	"chatwright.dev/tray/server/servertest/timetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run runs a notifier in a bubble of fake time until the test's function returns.
func run(t *testing.T, cfg notify.Config, refuse error, use func(n *notify.Notifier, p *notify.Paper)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n, p := notify.NewPaper(cfg)
		p.Refuse = refuse
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- n.Run(ctx) }()
		use(n, p)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if len(p.Up) != 0 {
			t.Errorf("still up at the end: %v", p.Up)
		}
	})
}

func causes(p *notify.Paper) (list []string) {
	for _, n := range p.Posted {
		list = append(list, n.Cause)
	}
	return list
}

func wantPosted(t *testing.T, p *notify.Paper, want ...string) {
	t.Helper()
	if got := causes(p); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func notice(cause string) notify.Notice { return notify.Notice{Cause: cause, Title: "about " + cause} }

func show(n *notify.Notifier, causes ...string) {
	var list []notify.Notice
	for _, cause := range causes {
		list = append(list, notice(cause))
	}
	n.Show(list)
	synctest.Wait()
}

func TestOncePerCauseForAsLongAsItStands(t *testing.T) {
	run(t, notify.Config{}, nil, func(n *notify.Notifier, p *notify.Paper) {
		show(n, "upstream")
		timetest.Pass(notify.Settle)
		wantPosted(t, p, "upstream")
		n.Show([]notify.Notice{{Cause: "upstream", Title: "in other words"}})
		timetest.Pass(24 * time.Hour)
		wantPosted(t, p, "upstream")
		show(n, "port", "upstream")
		timetest.Pass(notify.Settle)
		wantPosted(t, p, "upstream", "port")
		if len(p.Up) != 2 {
			t.Errorf("got %v, want both up", p.Up)
		}
	})
}

func TestWhatIsOverAtOnceIsNotTold(t *testing.T) {
	run(t, notify.Config{}, nil, func(n *notify.Notifier, p *notify.Paper) {
		show(n, "upstream")
		timetest.Pass(notify.Settle - time.Millisecond)
		show(n)
		timetest.Pass(time.Hour)
		wantPosted(t, p)
		if p.Dials != 0 {
			t.Error("the desktop was asked for nothing")
		}
	})
}

func TestACauseThatEndsIsTakenBackAndMayComeAgain(t *testing.T) {
	run(t, notify.Config{}, nil, func(n *notify.Notifier, p *notify.Paper) {
		show(n, "upstream")
		timetest.Pass(notify.Settle)
		show(n)
		if len(p.Up) != 0 {
			t.Errorf("got %v, want it taken back", p.Up)
		}
		timetest.Pass(notify.Quiet)
		show(n, "upstream")
		timetest.Pass(notify.Settle)
		wantPosted(t, p, "upstream", "upstream")
	})
}

func TestACauseThatFlapsIsToldOfSeldom(t *testing.T) {
	run(t, notify.Config{}, nil, func(n *notify.Notifier, p *notify.Paper) {
		for began := time.Now(); time.Since(began) < 3*notify.Quiet-time.Minute; {
			show(n, "upstream")
			timetest.Pass(20 * time.Second)
			show(n)
			timetest.Pass(10 * time.Second)
		}
		wantPosted(t, p, "upstream", "upstream", "upstream")
		show(n, "upstream")
		timetest.Pass(notify.Quiet)
		if len(p.Up) != 1 {
			t.Error("a cause that stays after it flapped is not on the screen")
		}
	})
}

func TestADesktopThatRefusesIsAskedAgainForTheNextCause(t *testing.T) {
	run(t, notify.Config{}, errors.New("no bus"), func(n *notify.Notifier, p *notify.Paper) {
		show(n, "upstream")
		timetest.Pass(time.Hour)
		if p.Dials != 1 {
			t.Errorf("got %d attempts, want 1", p.Dials)
		}
		p.Refuse = nil
		show(n, "upstream", "port")
		timetest.Pass(time.Hour)
		wantPosted(t, p, "port")
	})
}
