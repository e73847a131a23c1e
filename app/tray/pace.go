package tray

import (
	"slices"
	"time"
)

// The rates at which the screen may change. A toolkit announces each change of a row as a whole new layout, which the
// panel answers with four calls, and some panels close an open menu; hence a budget for all rows together.
const (
	// budget is how many row changes may go out within window.
	budget = 4
	// reserve is the part of the budget that only AtOnce rows may use, so that a click is answered under load too.
	reserve = 1
	// window is the second of "4 a second", and a tenth: what is sent a second apart may arrive a little closer.
	window = 1100 * time.Millisecond
	// markEvery is the pause between two changes of the icon, and between two of the tooltip.
	markEvery = 500 * time.Millisecond
	// tickEvery is the pause between two labels of an EachSecond row.
	tickEvery = time.Second
	// callsPause is how long calls must have been quiet for AfterCalls rows to be brought up to date …
	callsPause = time.Second
	// … and callsPatience how long these rows stay behind when calls never pause.
	callsPatience = 5 * time.Second
	// holdFor is how long rows keep still for somebody who reads an open menu. Nobody tells when it is closed, so it is
	// also how long numbers may be behind afterwards.
	holdFor = 10 * time.Second
)

// What is the part of the screen that a Step changes.
type What int

// The parts.
const (
	SetIcon What = iota
	SetTooltip
	SetLabel
	SetEnabled
	SetChecked
	SetVisible
)

// Step is one change to the screen.
type Step struct {
	What What
	Row  int    // index into View.Rows; of no meaning for SetIcon and SetTooltip
	Text string // for SetTooltip and SetLabel
	Icon Icon   // for SetIcon
	On   bool   // for SetEnabled, SetChecked and SetVisible
}

// Pacer compares what is on the screen with what should be and hands out the changes one by one, each when its turn
// has come. It is a plain value: the time is passed in, and times must not go backwards. Make one with NewPacer; it is
// not safe for concurrent use.
//
// Order: AtOnce rows first; the others by how long they have been due, so that no row starves another.
type Pacer struct {
	shown, wanted View
	rows          []rowPace
	sent          []time.Time // row changes within the window, oldest first
	iconAt        time.Time
	tooltipAt     time.Time
	heldUntil     time.Time // rows keep still until then
	calls         callsPace
}

// rowPace is what the pacer remembers of one row.
type rowPace struct {
	since   time.Time // when the row began to differ; zero: it does not
	labelAt time.Time // when its label was last set
}

// callsPace is what it remembers of all AfterCalls rows together. They are changed as one batch that is frozen when it
// begins, since a list that moves on while it is drawn would show some calls twice and some never.
type callsPace struct {
	movedAt time.Time // when the wanted rows last changed
	since   time.Time // when they began to differ from the screen; zero: they do not
	opened  bool      // somebody is looking
	batch   []Row     // what is being drawn; nil: nothing
	batchAt time.Time
}

// NewPacer returns a pacer for a screen that shows v.
func NewPacer(v View) *Pacer {
	v.Rows = slices.Clone(v.Rows)
	return &Pacer{shown: v, wanted: v, rows: make([]rowPace, len(v.Rows))}
}

// Want says what the screen should show from now on.
func (p *Pacer) Want(v View, now time.Time) {
	moved := false
	for i, row := range v.Rows {
		moved = moved || row.Pace == AfterCalls && row != p.wanted.Rows[i]
	}
	p.wanted = v
	if moved {
		p.calls.movedAt = now
	}
	p.compare(now)
}

// Opened says that somebody has just opened the menu: rows that wait for the calls to pause wait no longer.
func (p *Pacer) Opened() { p.calls.opened = !p.calls.since.IsZero() }

// Hold keeps the rows as they are for a while, for a menu that is open in a panel that closes it at each change. A click
// closes it anyway, and ends that. Icon and tooltip go on.
func (p *Pacer) Hold(now time.Time) { p.heldUntil = now.Add(holdFor) }

// Clicked returns what a click on a row asks for: what the row on the screen promises, unless that has become
// impossible in the meantime. Hosts deliver clicks on disabled rows too.
func (p *Pacer) Clicked(row int) Action {
	p.heldUntil = time.Time{}
	shown, wanted := p.shown.Rows[row], p.wanted.Rows[row]
	if !shown.Visible || !shown.Enabled || !wanted.Visible || !wanted.Enabled {
		return ""
	}
	return shown.Action
}

// Next returns the change to make now. With none (ok false), wait is how long until there may be one; wait 0 means
// that the screen shows all that is wanted and nothing needs to wake.
func (p *Pacer) Next(now time.Time) (step Step, ok bool, wait time.Duration) {
	w := wake{now: now}
	if p.shown.Icon != p.wanted.Icon && w.reached(p.iconAt.Add(markEvery)) {
		p.shown.Icon, p.iconAt = p.wanted.Icon, now
		return Step{What: SetIcon, Icon: p.shown.Icon}, true, 0
	}
	if p.shown.Tooltip != p.wanted.Tooltip && w.reached(p.tooltipAt.Add(markEvery)) {
		p.shown.Tooltip, p.tooltipAt = p.wanted.Tooltip, now
		return Step{What: SetTooltip, Text: p.shown.Tooltip}, true, 0
	}
	if p.differs() && !w.reached(p.heldUntil) {
		return Step{}, false, w.after()
	}
	p.startBatch(&w)
	if best, found := p.choose(&w); found {
		p.apply(best.step, now)
		p.compare(now)
		return best.step, true, 0
	}
	return Step{}, false, w.after()
}

// differs says whether any row has something to wait for.
func (p *Pacer) differs() bool {
	return !p.calls.since.IsZero() || slices.ContainsFunc(p.rows, func(r rowPace) bool { return !r.since.IsZero() })
}

// candidate is a change that could be made now, and what decides between two of them.
type candidate struct {
	step Step
	pace Pace
	due  time.Time
	rank int
}

func (c candidate) before(d candidate) bool {
	switch {
	case (c.pace == AtOnce) != (d.pace == AtOnce):
		return c.pace == AtOnce
	case !c.due.Equal(d.due):
		return c.due.Before(d.due)
	}
	return c.rank < d.rank
}

// choose returns the change that goes first among those that are due and within the budget.
func (p *Pacer) choose(w *wake) (best candidate, found bool) {
	for i, state := range p.rows {
		step, differs := p.nextStep(i)
		if !differs {
			continue
		}
		c := candidate{step, p.shown.Rows[i].Pace, state.since, i}
		switch {
		case c.pace == EachSecond && step.What == SetLabel:
			c.due = later(state.since, state.labelAt.Add(tickEvery))
		case c.pace == AfterCalls:
			c.due = p.calls.batchAt
		}
		if step.What == SetVisible && step.On {
			// Shown only once all its neighbours are ready, and a submenu after what is in it.
			c.rank = 2*len(p.rows) - i
		}
		if w.reached(c.due) && w.reached(p.budgetFrom(c.pace, w.now)) && (!found || c.before(best)) {
			best, found = c, true
		}
	}
	return best, found
}

// nextStep is the first of the changes that row i needs now.
func (p *Pacer) nextStep(i int) (Step, bool) {
	return between(i, p.shown.Rows[i], p.target(i))
}

// between is the first step on the way from shown to want, for row i. What cannot be seen is left as it is: it costs
// nothing then, and on Windows a hidden row that is relabelled comes back.
func between(i int, shown, want Row) (step Step, differs bool) {
	switch {
	case !want.Visible:
		return Step{What: SetVisible, Row: i}, shown.Visible
	case shown.Label != want.Label:
		return Step{What: SetLabel, Row: i, Text: want.Label}, true
	case shown.Enabled != want.Enabled:
		return Step{What: SetEnabled, Row: i, On: want.Enabled}, true
	case shown.Checked != want.Checked:
		return Step{What: SetChecked, Row: i, On: want.Checked}, true
	}
	return Step{What: SetVisible, Row: i, On: true}, !shown.Visible
}

// target is what row i should become: for AfterCalls rows what the batch says, or what is there while none is drawn.
func (p *Pacer) target(i int) Row {
	switch {
	case p.wanted.Rows[i].Pace != AfterCalls:
		return p.wanted.Rows[i]
	case p.calls.batch == nil:
		return p.shown.Rows[i]
	}
	return p.calls.batch[i]
}

// apply records that the step is on the screen.
func (p *Pacer) apply(step Step, now time.Time) {
	row := &p.shown.Rows[step.Row]
	switch step.What {
	case SetLabel:
		row.Label = step.Text
		p.rows[step.Row].labelAt = now
	case SetEnabled:
		row.Enabled = step.On
	case SetChecked:
		row.Checked = step.On
	case SetVisible:
		row.Visible = step.On
	}
	p.sent = append(p.sent, now)
}

// compare brings up to date what differs since when, and lets the actions of rows that differ no more take effect.
func (p *Pacer) compare(now time.Time) {
	drawing, behind := false, false
	for i := range p.rows {
		_, differs := p.nextStep(i)
		switch {
		case !differs:
			p.rows[i].since = time.Time{}
			p.shown.Rows[i].Action = p.target(i).Action
		case p.rows[i].since.IsZero():
			p.rows[i].since = now
		}
		if p.wanted.Rows[i].Pace == AfterCalls {
			drawing = drawing || differs
			_, late := between(i, p.shown.Rows[i], p.wanted.Rows[i])
			behind = behind || late
		}
	}
	if !drawing {
		p.calls.batch = nil
	}
	switch {
	case !behind:
		p.calls.since, p.calls.opened = time.Time{}, false
	case p.calls.since.IsZero() || p.calls.batch != nil:
		p.calls.since = now // from the end of a batch on, patience begins anew
	}
}

// startBatch freezes the AfterCalls rows when their time has come: when calls have paused, even if an older batch is
// still being drawn, since what it would show is no longer of interest; or when patience is at an end.
func (p *Pacer) startBatch(w *wake) {
	c := &p.calls
	if c.since.IsZero() || c.batch != nil && c.movedAt.Before(c.batchAt) {
		return
	}
	ready := w.reached(c.movedAt.Add(callsPause))
	if c.batch == nil {
		ready = ready || c.opened || w.reached(c.since.Add(callsPatience))
	}
	if ready {
		c.batch, c.batchAt, c.opened = slices.Clone(p.wanted.Rows), w.now, false
	}
}

// budgetFrom returns when the budget lets a row of that pace change. It forgets what has left the window.
func (p *Pacer) budgetFrom(pace Pace, now time.Time) time.Time {
	p.sent = slices.DeleteFunc(p.sent, func(at time.Time) bool { return now.Sub(at) >= window })
	limit := budget
	if pace != AtOnce {
		limit -= reserve
	}
	if len(p.sent) < limit {
		return now
	}
	return p.sent[len(p.sent)-limit].Add(window)
}

// wake collects the moments at which something could be done.
type wake struct {
	now, next time.Time
}

// reached reports whether t has come; if not, the pacer is to look again then.
func (w *wake) reached(t time.Time) bool {
	if !t.After(w.now) {
		return true
	}
	if w.next.IsZero() || t.Before(w.next) {
		w.next = t
	}
	return false
}

func (w *wake) after() time.Duration {
	if w.next.IsZero() {
		return 0
	}
	return w.next.Sub(w.now)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
