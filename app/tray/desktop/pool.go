//go:build (linux && !android) || freebsd || openbsd || netbsd || windows || (darwin && cgo && !ios)

package desktop

import (
	"context"
	"time"

	"fyne.io/systray"

	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/assets"
)

// clicksPerRow is how many clicks on one row may wait for it to be looked at.
const clicksPerRow = 16

// pool is the menu on the screen: the rows of a View, in its order, built once. Rows are never removed, only hidden:
// removing one closes its channel of clicks, and a click at that moment panics. The toolkit's setters take no lock, so
// all calls come from one goroutine, in build and then in paint.
type pool struct {
	driver *Driver
	items  []*systray.MenuItem
	pacer  *tray.Pacer
	icon   tray.Icon // on the screen
	// clicked carries indexes of rows; tapped is the click on the icon itself.
	clicked chan int
	tapped  chan struct{}
}

// build makes the rows and sets icon and tooltip, before anything is on the screen.
func (d *Driver) build(v tray.View) *pool {
	p := &pool{driver: d, pacer: tray.NewPacer(v), clicked: make(chan int, clickQueue), tapped: make(chan struct{}, 1)}
	p.setIcon(v.Icon)
	systray.SetTooltip(v.Tooltip)
	byID := map[tray.ID]*systray.MenuItem{}
	for _, row := range v.Rows {
		if row.Separated {
			systray.AddSeparator()
		}
		item := add(byID[row.Parent], row)
		// The toolkit offers each click to this channel and drops it when nobody takes it there and then. Its own
		// channel has no buffer, which loses quick clicks; ours has.
		item.ClickedCh = make(chan struct{}, clicksPerRow)
		if !row.Enabled {
			item.Disable()
		}
		byID[row.ID] = item
		p.items = append(p.items, item)
	}
	// Hidden only now: on Windows a hidden row cannot become a submenu, and comes back when it is changed.
	for i, row := range v.Rows {
		if !row.Visible {
			p.items[i].Hide()
		}
	}
	return p
}

func add(parent *systray.MenuItem, row tray.Row) *systray.MenuItem {
	label := escape(row.Label)
	switch {
	case parent == nil && row.Checkable:
		return systray.AddMenuItemCheckbox(label, "", row.Checked)
	case parent == nil:
		return systray.AddMenuItem(label, "")
	case row.Checkable:
		return parent.AddSubMenuItemCheckbox(label, "", row.Checked)
	}
	return parent.AddSubMenuItem(label, "")
}

// tap is the click on the icon itself, where the panel tells of one. It runs on the toolkit's goroutine.
func (p *pool) tap() {
	select {
	case p.tapped <- struct{}{}:
	default: // one is already on its way
	}
}

// paint keeps the screen up to date and passes clicks on, until ctx ends. While nothing changes nothing wakes.
func (p *pool) paint(ctx context.Context) {
	for i, item := range p.items {
		go p.listen(ctx, i, item.ClickedCh)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if wait := p.catchUp(ctx); wait > 0 {
			timer.Reset(wait)
		} else {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-p.driver.newer:
			p.pacer.Want(*p.driver.view.Load(), time.Now())
		case <-p.driver.relit:
			p.setIcon(p.icon)
		case <-systray.TrayOpenedCh:
			p.pacer.Opened()
			if p.driver.holds {
				p.pacer.Hold(time.Now())
			}
			p.driver.click(tray.MenuOpened)
		case <-p.tapped:
			p.driver.click(tray.OpenStudio)
		case row := <-p.clicked:
			p.driver.click(p.pacer.Clicked(row))
		}
	}
}

// catchUp makes the changes whose turn has come and returns how long until the next may be due; 0: there is none.
func (p *pool) catchUp(ctx context.Context) time.Duration {
	for ctx.Err() == nil {
		step, ok, wait := p.pacer.Next(time.Now())
		if !ok {
			return wait
		}
		p.apply(step)
	}
	return 0
}

func (p *pool) apply(step tray.Step) {
	switch step.What {
	case tray.SetIcon:
		p.setIcon(step.Icon)
		return
	case tray.SetTooltip:
		systray.SetTooltip(step.Text)
		return
	}
	item := p.items[step.Row]
	switch step.What {
	case tray.SetLabel:
		item.SetTitle(escape(step.Text))
	case tray.SetEnabled:
		choose(step.On, item.Enable, item.Disable)
	case tray.SetChecked:
		choose(step.On, item.Check, item.Uncheck)
	case tray.SetVisible:
		choose(step.On, item.Show, item.Hide)
	}
}

func choose(on bool, yes, no func()) {
	if on {
		yes()
	} else {
		no()
	}
}

// listen passes the clicks on one row to the painter, which alone knows what the row says at the moment. A channel
// that is closed means that somebody removed the row after all: receiving from it would spin.
func (p *pool) listen(ctx context.Context, row int, clicks <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-clicks:
			if !open {
				return
			}
			select {
			case p.clicked <- row:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (p *pool) setIcon(icon tray.Icon) {
	p.icon = icon
	setIcon(assets.IconName(icon), !p.driver.light.Load())
}
