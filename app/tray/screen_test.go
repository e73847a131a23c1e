package tray_test

import (
	"slices"
	"testing"
	"time"

	"chatwright.dev/tray/app/tray"
)

// screen plays the driver with a clock that only moves when told, and keeps what it did when.
type screen struct {
	t     *testing.T
	pacer *tray.Pacer
	view  tray.View // what a panel shows
	now   time.Time
	done  []event
	wait  time.Duration // what the pacer last asked for
}

type event struct {
	at   time.Time
	step tray.Step
	id   tray.ID
}

func newScreen(t *testing.T, s tray.State) *screen {
	v := tray.Render(s)
	shown := v
	shown.Rows = slices.Clone(v.Rows)
	return &screen{t: t, pacer: tray.NewPacer(v), view: shown, now: at("14:00:00")}
}

func (s *screen) want(state tray.State) {
	s.pacer.Want(tray.Render(state), s.now)
	s.drain()
}

// drain makes all changes that may be made at this moment.
func (s *screen) drain() {
	for range 1000 {
		step, ok, wait := s.pacer.Next(s.now)
		if !ok {
			s.wait = wait
			return
		}
		s.apply(step)
	}
	s.t.Fatal("the pacer never stops handing out changes")
}

func (s *screen) apply(step tray.Step) {
	e := event{at: s.now, step: step}
	switch step.What {
	case tray.SetIcon:
		s.view.Icon = step.Icon
	case tray.SetTooltip:
		s.view.Tooltip = step.Text
	default:
		row := &s.view.Rows[step.Row]
		e.id = row.ID
		switch step.What {
		case tray.SetLabel:
			row.Label = step.Text
		case tray.SetEnabled:
			row.Enabled = step.On
		case tray.SetChecked:
			row.Checked = step.On
		case tray.SetVisible:
			row.Visible = step.On
		}
	}
	s.done = append(s.done, e)
}

// pass lets time go by the way the driver's timer does: the pacer is asked again only when it said so.
func (s *screen) pass(d time.Duration) {
	end := s.now.Add(d)
	for s.wait > 0 && !s.now.Add(s.wait).After(end) {
		s.now = s.now.Add(s.wait)
		s.drain()
	}
	if s.wait > 0 {
		s.wait -= end.Sub(s.now)
	}
	s.now = end
}

// rows are the changes of rows with that ID, or of all rows when it is empty.
func (s *screen) rows(id tray.ID) (events []event) {
	for _, e := range s.done {
		if e.id != "" && (id == "" || e.id == id) {
			events = append(events, e)
		}
	}
	return events
}

// mustShow checks that what can be seen is what the state renders to, and that nothing more is planned.
func (s *screen) mustShow(state tray.State) {
	s.t.Helper()
	for i := range s.view.Rows {
		s.view.Rows[i].Action = s.pacer.Clicked(i)
	}
	if got, want := s.view.String(), tray.Render(state).String(); got != want {
		s.t.Errorf("on the screen:\n%s\nwant\n%s", got, want)
	}
	if s.wait != 0 {
		s.t.Errorf("the screen is up to date, but the pacer wants to look again in %v", s.wait)
	}
}

// calls is a state after n calls, one every 100 ms, of which each changes every row that ticks.
func calls(n int) func(*tray.State) {
	return func(s *tray.State) {
		s.Metrics = tray.Metrics{Calls: int64(n), P50Ms: ms(int64(1000 + 100*n))}
		for i := n; i > max(0, n-8); i-- {
			s.Recent = append(s.Recent, tray.Call{Time: at("14:00:00").Add(time.Duration(i) * time.Second), Status: 200, LatencyMs: 1000})
		}
	}
}
