package tray_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"chatwright.dev/tray/app/tray"
)

// tray.md: while nothing happens nothing is sent.
func TestNothingIsSentAndNothingWakesWhenNothingDiffers(t *testing.T) {
	s := newScreen(t, running(calls(9)))
	for range 100 {
		s.want(running(calls(9)))
		s.pass(10 * time.Millisecond)
	}
	if len(s.done) != 0 {
		t.Errorf("got %d changes, want none: %v", len(s.done), s.done)
	}
	s.mustShow(running(calls(9)))
}

// tray.md: server actions change their own row within 100 ms. Here at once, and with calls ending all the time.
func TestAClickIsAnsweredAtOnceUnderLoad(t *testing.T) {
	s := newScreen(t, running(nil))
	n := 0
	for range 300 { // somewhere in the middle of all that goes on under load
		n++
		s.want(running(calls(n)))
		s.pass(10 * time.Millisecond)
	}
	clicked := running(calls(n))
	clicked.Doing = tray.ServerStop
	s.want(clicked)
	if got := s.view.Row("startstop").Label; got != "Stopping" {
		t.Errorf("right after the click the row says %q, want Stopping", got)
	}
}

// tray.md: at most 4 layout updates a second in all; every row gets its turn.
func TestUnderConstantLoadTheBudgetIsKeptAndNoRowStarves(t *testing.T) {
	s := newScreen(t, running(nil))
	start := s.now
	const long = 30 * time.Second
	for n := 1; s.now.Sub(start) < long; n++ {
		state := running(calls(n))
		state.UpstreamName = fmt.Sprintf("upstream %d", n/10) // what matters changes all the time as well
		s.want(state)
		s.pass(10 * time.Millisecond)
	}
	all := s.rows("")
	for i := 4; i < len(all); i++ {
		if d := all[i].at.Sub(all[i-4].at); d <= time.Second {
			t.Errorf("five changes within %v, at %v", d, all[i].at.Sub(start))
		}
	}
	for _, id := range []tray.ID{"status", "count", "percentiles", "last", "recent.1", "recent.8"} {
		events := s.rows(id)
		if len(events) == 0 {
			t.Fatalf("%s never changed in %v", id, long)
		}
		worst := events[0].at.Sub(start)
		for i := 1; i < len(events); i++ {
			worst = max(worst, events[i].at.Sub(events[i-1].at))
		}
		if worst > 12*time.Second {
			t.Errorf("%s stood still for %v, want at most a few seconds", id, worst)
		}
	}
}

// tray.md: the count, "Last" and percentile rows move at most once a second.
func TestTickingRowsMoveAtMostOnceASecond(t *testing.T) {
	s := newScreen(t, running(calls(1)))
	for n := 2; n < 500; n++ {
		s.want(running(calls(n)))
		s.pass(10 * time.Millisecond)
	}
	for _, id := range []tray.ID{"count", "last", "percentiles"} {
		events := s.rows(id)
		for i := 1; i < len(events); i++ {
			if d := events[i].at.Sub(events[i-1].at); d < time.Second {
				t.Errorf("%s moved twice within %v", id, d)
			}
		}
	}
}

// tray.md: progress moves at most once a second, and ends with what is true then.
func TestTheProgressOfADownloadMovesAtMostOnceASecond(t *testing.T) {
	s := newScreen(t, running(withStudio(tray.Studio{Version: "0.4.1", Previous: "0.4.0"})))
	for n := range int64(1000) { // ten seconds, as often as the download tells
		s.want(running(withStudio(tray.Studio{
			Version: "0.4.1", Previous: "0.4.0", Stage: tray.StudioDownloading, Coming: "0.5.0", Bytes: n, Total: 1000,
		})))
		s.pass(10 * time.Millisecond)
	}
	events := s.rows("copy")
	if len(events) < 9 || len(events) > 11 {
		t.Errorf("the row moved %d times in 10 s, want once a second", len(events))
	}
	for i := 1; i < len(events); i++ {
		if d := events[i].at.Sub(events[i-1].at); d < time.Second {
			t.Errorf("the row moved twice within %v", d)
		}
	}
	done := running(withStudio(tray.Studio{Version: "0.5.0", Previous: "0.4.1", UpdatedAt: at("14:02:11")}))
	s.want(done)
	s.pass(10 * time.Second)
	s.mustShow(done)
}

// A look that finds nothing changes two labels, there and back, and nothing else.
func TestALookForUpdatesCostsTwoChanges(t *testing.T) {
	idle := running(withStudio(tray.Studio{Version: "0.4.1", Previous: "0.4.0", CheckedAt: at("14:02:11")}))
	s := newScreen(t, idle)
	s.want(running(withStudio(tray.Studio{Version: "0.4.1", Previous: "0.4.0", CheckedAt: at("14:02:11"), Stage: tray.StudioChecking})))
	s.pass(200 * time.Millisecond)
	s.want(idle)
	s.pass(10 * time.Second)
	if events := s.rows(""); len(events) != 2 {
		t.Errorf("changes: got %+v, want two", events)
	}
	s.mustShow(idle)
}

// tray.md: "Recent calls" is brought up to date 1 s after the last call.
func TestRecentCallsWaitForTheCallsToPause(t *testing.T) {
	s := newScreen(t, running(calls(20)))
	for n := 21; n <= 24; n++ {
		s.want(running(calls(n)))
		s.pass(500 * time.Millisecond)
	}
	last := s.now.Add(-500 * time.Millisecond)
	if got := s.rows("recent.1"); len(got) != 0 {
		t.Errorf("the list moved %v before the calls paused", last.Sub(got[0].at))
	}
	s.pass(10 * time.Second)
	events := s.rows("recent.1")
	if len(events) != 1 {
		t.Fatalf("the first row of the list changed %d times, want once", len(events))
	}
	if d := events[0].at.Sub(last); d < time.Second || d > 1200*time.Millisecond {
		t.Errorf("the list moved %v after the last call, want 1 s", d)
	}
	s.mustShow(running(calls(24)))
}

// tray.md: … or when the menu opens, where the host tells.
func TestAnOpenedMenuBringsRecentCallsUpToDate(t *testing.T) {
	s := newScreen(t, running(calls(20)))
	s.pacer.Opened() // before there is anything to show: must not be remembered
	s.want(running(calls(21)))
	s.pass(300 * time.Millisecond)
	if len(s.rows("recent.1")) != 0 {
		t.Fatal("the list moved although nobody looks")
	}
	s.pacer.Opened()
	s.drain()
	s.pass(500 * time.Millisecond)
	if s.view.Row("recent.1").Label == tray.Render(running(calls(20))).Row("recent.1").Label {
		t.Error("the list is still the old one half a second after the menu was opened")
	}
	s.pass(10 * time.Second)
	s.mustShow(running(calls(21)))
}

// Some panels close an open menu at each change: there nothing moves while somebody reads it, save icon and tooltip.
func TestAnOpenMenuCanBeHeldStill(t *testing.T) {
	first := running(withCalls)
	s := newScreen(t, first)
	busy := running(withCalls)
	busy.Metrics.Calls, busy.Metrics.InFlight = 43, 0
	busy.Recent = append([]tray.Call{{Time: s.now, Model: "llama3.2", Status: 200, LatencyMs: 40}}, busy.Recent...)

	s.pacer.Hold(s.now)
	s.pacer.Opened()
	s.want(busy)
	s.pass(9 * time.Second)
	if got := s.rows(""); len(got) != 0 {
		t.Errorf("rows changed under somebody's eyes: %v", got)
	}
	if want := tray.Render(busy); s.view.Icon != want.Icon || s.view.Tooltip != want.Tooltip {
		t.Errorf("got icon %s and tooltip %q, want them to go on", s.view.Icon, s.view.Tooltip)
	}
	s.pass(20 * time.Second) // nobody tells that it was closed
	s.mustShow(busy)

	s.pacer.Hold(s.now)
	s.want(first)
	s.pass(time.Second)
	s.pacer.Clicked(0) // which closes the menu
	s.drain()
	s.pass(10 * time.Second)
	if at := s.rows("count"); at[len(at)-1].at.Sub(s.now) > -9*time.Second {
		t.Error("after a click it took as long as without one")
	}
	s.mustShow(first)

	s.pacer.Hold(s.now) // with nothing to wait for, nothing wakes
	s.drain()
	if s.wait != 0 {
		t.Errorf("it wakes after %v for nothing", s.wait)
	}
}

// A list that moves on while it is drawn would show some calls twice and others never.
func TestRecentCallsAreDrawnAsTheyWereAtOneMoment(t *testing.T) {
	s := newScreen(t, running(calls(100)))
	whole := 0
	for n := 101; n < 3000; n++ {
		s.want(running(calls(n)))
		before := len(s.rows("recent.8"))
		s.pass(10 * time.Millisecond)
		if len(s.rows("recent.8")) == before {
			continue
		}
		whole++
		newest, err := time.Parse(time.TimeOnly, s.view.Row("recent.1").Label[:8])
		if err != nil {
			t.Fatal(err)
		}
		for i := range 8 {
			label := s.view.Row(tray.ID(fmt.Sprintf("recent.%d", i+1))).Label
			if want := newest.Add(-time.Duration(i) * time.Second).Format(time.TimeOnly); label[:8] != want {
				t.Fatalf("row %d of the drawn list is of %s, want %s", i+1, label[:8], want)
			}
		}
	}
	if whole < 3 {
		t.Errorf("the list was drawn %d times in 29 s of constant load, want every few seconds", whole)
	}
}

// tray.md: busy changes at most twice a second.
func TestTheIconChangesAtMostTwiceASecondAndShowsEvenAShortCall(t *testing.T) {
	s := newScreen(t, running(nil))
	busy := running(func(s *tray.State) { s.Metrics.InFlight = 1 })
	s.want(busy)
	s.pass(20 * time.Millisecond)
	s.want(running(nil))
	if s.view.Icon != tray.IconBusy {
		t.Error("a call of 20 ms never showed")
	}
	for range 400 {
		s.want(busy)
		s.pass(5 * time.Millisecond)
		s.want(running(nil))
		s.pass(5 * time.Millisecond)
	}
	var changes []time.Time
	for _, e := range s.done {
		if e.step.What == tray.SetIcon {
			changes = append(changes, e.at)
		}
	}
	if len(changes) < 6 { // twice a second, for four seconds
		t.Errorf("got %d changes of the icon, want some to judge by", len(changes))
	}
	for i := 2; i < len(changes); i++ {
		if d := changes[i].Sub(changes[i-2]); d < time.Second {
			t.Errorf("three changes of the icon within %v", d)
		}
	}
	s.pass(5 * time.Second)
	s.mustShow(running(nil))
}

func TestARowIsReadyBeforeItIsShownAndASubmenuAfterItsRows(t *testing.T) {
	s := newScreen(t, running(nil))
	s.want(running(calls(2)))
	s.pass(10 * time.Second)
	s.mustShow(running(calls(2)))
	var order []string
	for _, e := range s.done {
		if e.id == "recent" || e.id == "recent.1" || e.id == "recent.2" {
			order = append(order, fmt.Sprint(e.id, " ", map[bool]string{true: "shown", false: "labelled"}[e.step.What == tray.SetVisible]))
		}
	}
	want := []string{"recent.1 labelled", "recent.2 labelled", "recent.2 shown", "recent.1 shown", "recent shown"}
	if !slices.Equal(order, want) {
		t.Errorf("got %q, want %q", order, want)
	}
}

// What cannot be seen costs nothing; on Windows a hidden row that is relabelled comes back.
func TestAHiddenRowIsLeftAsItIs(t *testing.T) {
	down := func(text string) tray.State {
		return running(func(s *tray.State) { s.Notices = []tray.Notice{{Text: text}} })
	}
	s := newScreen(t, down("old"))
	s.want(running(nil))
	s.pass(10 * time.Second)
	events := s.rows("notice.1")
	if len(events) != 1 || events[0].step.What != tray.SetVisible || events[0].step.On {
		t.Errorf("got %v, want the row hidden and nothing else", events)
	}
	s.want(down("new"))
	s.pass(10 * time.Second)
	s.mustShow(down("new"))
}

func TestAClickMeansWhatTheRowOnTheScreenSays(t *testing.T) {
	s := newScreen(t, running(nil))
	row := slices.IndexFunc(s.view.Rows, func(r tray.Row) bool { return r.ID == "startstop" })
	click := func() tray.Action { return s.pacer.Clicked(row) }
	if got := click(); got != tray.ServerStop {
		t.Errorf("on Stop: got %q", got)
	}
	stopping := running(func(s *tray.State) { s.Doing = tray.ServerStop })
	s.pacer.Want(tray.Render(stopping), s.now) // on its way to the screen
	if got := click(); got != "" {
		t.Errorf("on a row that is just being disabled: got %q, want nothing", got)
	}
	stopped := running(func(s *tray.State) { s.Phase = tray.Stopped })
	s.pacer.Want(tray.Render(stopped), s.now)
	if got := click(); got != tray.ServerStop {
		t.Errorf("while the screen still says Stop: got %q", got)
	}
	s.drain()
	if got := click(); got != tray.ServerStart {
		t.Errorf("on Start: got %q", got)
	}
	console := slices.IndexFunc(s.view.Rows, func(r tray.Row) bool { return r.ID == "console" })
	s.pass(5 * time.Second)
	if got := s.pacer.Clicked(console); got != "" {
		t.Errorf("on a disabled row: got %q, want nothing (hosts deliver such clicks)", got)
	}
}

// Wherever the states lead, the screen ends up showing the last one and then rests.
func TestTheScreenAlwaysCatchesUp(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		s := newScreen(t, menus[random.IntN(len(menus))].state)
		var state tray.State
		for range 1 + random.IntN(40) {
			state = menus[random.IntN(len(menus))].state
			s.want(state)
			s.pass(time.Duration(random.IntN(3000)) * time.Millisecond)
			if random.IntN(5) == 0 {
				s.pacer.Opened()
				s.drain()
			}
		}
		s.pass(30 * time.Second)
		s.mustShow(state)
		if t.Failed() {
			return
		}
	}
}
