package app

import (
	"chatwright.dev/tray/app/autostart"
	"chatwright.dev/tray/server/protocol"
)

// mendLogin points the entry that starts this at login, where there is one, at the program of now if the one that it
// names is gone. It switches nothing on.
func (a *app) mendLogin() {
	mended, err := autostart.Repair(a.cfg.Login)
	if err != nil {
		a.log.Warn("the entry that starts this at login could not be looked at", "err", err)
	}
	if mended {
		a.log.Info("the entry that starts this at login named a program that is gone, and names this one now")
	}
	a.lookAtLogin()
}

// lookAtLogin reads from the system whether this starts at login, since the system's own settings can change it. It is
// done when somebody looks, never by the clock.
func (a *app) lookAtLogin() {
	if len(a.cfg.Login.Command) == 0 {
		return
	}
	var next *protocol.Autostart
	if now, err := autostart.Read(a.cfg.Login); err == nil {
		next = &protocol.Autostart{On: now.On, Trouble: now.Trouble}
	} else {
		a.log.Debug("start at login is not known", "err", err)
	}
	if was := a.board.Get().login; (was == nil) == (next == nil) && (was == nil || *was == *next) {
		return
	}
	a.board.Update(func(p parts) parts { p.login = next; return p })
}

// switchLogin does what was clicked, and then shows what the system makes of it.
func (a *app) switchLogin(on bool) error {
	err := autostart.Set(a.cfg.Login, on)
	a.lookAtLogin()
	return err
}
