package app

import (
	"context"
	"strings"

	"golang.org/x/sync/errgroup"

	"chatwright.dev/tray/app/autostart"
	"chatwright.dev/tray/app/notify"
	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server/protocol"
)

// Causes of notifications that no notice in the menu has: rows of their own say it there.
const (
	causeServer  = "server"
	causeRelease = "release "
	causeNoPanel = "panel"
)

// What a person can choose in a notification.
const (
	chooseLog    = "log"
	chooseUpdate = "update"
	choosePage   = "page"
)

// tellDesktop shows on the desktop what needs the user, until ctx ends.
func (a *app) tellDesktop(ctx context.Context) error {
	notifier := notify.New(notify.Config{
		App: "Chatwright Tray", Entry: autostart.ID, Icon: autostart.Name, Log: a.log,
		Chosen: func(cause, action string) { a.work.Go(func() { a.chosen(ctx, cause, action) }) },
	})
	var group errgroup.Group
	group.Go(func() error { return notifier.Run(ctx) })
	for {
		status, changed := a.status.Watch()
		a.showOnDesktop(notifier, status)
		select {
		case <-ctx.Done():
			return group.Wait()
		case <-changed:
		case <-a.retell:
		case way := <-a.cfg.NoPanel:
			if a.scout.memory.FirstWithoutPanel() {
				a.board.Update(func(p parts) parts { p.noPanel = way; return p })
				wake(a.retell)
			}
		}
	}
}

func (a *app) showOnDesktop(notifier *notify.Notifier, status protocol.Status) {
	if !a.settings.Load().Notifications {
		notifier.Show(nil)
		return
	}
	now := a.board.Get()
	notifier.Show(desktopNotices(status, now.releaseNews, now.noPanel))
	if told := a.scout.memory.Release().Told; status.Release != nil && now.releaseNews && told != status.Release.Version {
		a.scout.memory.ChangeRelease(func(m *settings.ReleaseMemory) { m.Told = status.Release.Version })
	}
}

// chosen does what a person chose in a notification.
func (a *app) chosen(ctx context.Context, cause, action string) {
	clicked := tray.OpenConsole
	switch {
	case strings.HasPrefix(cause, causeRelease):
		clicked = tray.OpenRelease
	case action == chooseUpdate:
		clicked = tray.StudioUpdate
	case action == chooseLog, !answers(a.status.Get().Phase): // there is no console then
		clicked = tray.OpenLog
	}
	if err := a.do(ctx, clicked); err != nil && ctx.Err() == nil {
		a.tell(err)
	}
}

// desktopNotices are the notifications of a status: what stands until the user does something about it. A click that
// failed has its answer in the menu, and a slow model is no error.
func desktopNotices(s protocol.Status, releaseNews bool, noPanel string) (notices []notify.Notice) {
	open := notify.Action{ID: notify.DefaultAction, Label: "Open console"}
	log := notify.Action{ID: chooseLog, Label: "Open log"}
	if s.Phase == protocol.PhaseFailed {
		notices = append(notices, notify.Notice{Cause: causeServer, Title: "Chatwright's server ended", Body: sentence(s.Detail),
			Actions: []notify.Action{open, log}})
	}
	for _, n := range s.Notices {
		if !needsTheUser(n.Cause) {
			continue
		}
		shown := notify.Notice{Cause: n.Cause, Title: sentence(n.Text), Body: sentence(n.Hint), Actions: []notify.Action{open, log}}
		switch n.Cause {
		case causePort: // the status row, which says by whom, is not seen here
			shown.Title = s.Addr + " is taken"
			if s.Detail != "" {
				shown.Title = s.Addr + " is held by " + s.Detail
			}
		case causeStudio:
			shown.Actions = []notify.Action{open, {ID: chooseUpdate, Label: "Update"}, log}
		}
		notices = append(notices, shown)
	}
	if s.Release != nil && releaseNews {
		page := notify.Action{ID: choosePage, Label: "Open its page"}
		notices = append(notices, notify.Notice{Cause: causeRelease + s.Release.Version,
			Title: "Chatwright Tray " + s.Release.Version + " is available", Body: "This is " + s.Version + ". Nothing is installed by itself.",
			Actions: []notify.Action{{ID: notify.DefaultAction, Label: page.Label}, page}})
	}
	if noPanel != "" {
		notices = append(notices, notify.Notice{Cause: causeNoPanel, Title: "Chatwright Tray runs, but its icon has no place",
			Body: sentence(noPanel) + ".", Actions: []notify.Action{open}})
	}
	return notices
}

// needsTheUser says whether a notice is of something that lasts until the user does something.
func needsTheUser(cause string) bool {
	switch cause {
	case causeUpstream, causePort, causeStudio, causeHistory, causeSettings, causeSessions, causeProfiles:
		return true
	}
	return strings.HasPrefix(cause, causeDatabase)
}

// wake tells whoever waits on a channel of capacity 1.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // it has not yet looked, and will find this
	}
}
