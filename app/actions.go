package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server/control"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

// Where Studio is.
const (
	hostedStudio = "https://chatwright.dev/studio/"
	studioHost   = "chatwright.localhost"
	// resolveTimeout bounds the question whether the system resolves studioHost to loopback.
	resolveTimeout = 300 * time.Millisecond
)

// causeAction is the cause of the notice that a click failed; it goes by itself after a while.
const causeAction = "action"

var errNoBrowser = hint.With(errors.New("this companion opens no browser"), "open the address yourself")

// do carries out one click of the menu. It may take its time: the caller does not wait for it in the click loop.
func (a *app) do(ctx context.Context, action tray.Action) error {
	verb, key := action.Cut()
	switch verb {
	case tray.OpenStudio:
		_, err := a.open(ctx, protocol.OpenStudio)
		return err
	case tray.OpenConsole:
		_, err := a.open(ctx, protocol.OpenConsole)
		return err
	case tray.CopyAddress:
		if err := a.cfg.CopyText("http://" + a.board.Get().addr); err != nil {
			return fmt.Errorf("copying http://%s: %w", a.board.Get().addr, err)
		}
		return nil
	case tray.OpenLog:
		if err := a.cfg.OpenFile(a.cfg.Paths.Log); err != nil {
			return fmt.Errorf("opening %s: %w", a.cfg.Paths.Log, err)
		}
		return nil
	case tray.ServerStart:
		return a.supervisor.Do(ctx, protocol.ServerStart)
	case tray.ServerStop:
		return a.supervisor.Do(ctx, protocol.ServerStop)
	case tray.ServerRestart:
		return a.supervisor.Do(ctx, protocol.ServerRestart)
	case tray.UseDemo:
		return a.choice.Use(upstream.DemoName)
	case tray.UseConfigured:
		return a.choice.Back()
	case tray.StudioUpdate, tray.StudioCancel, tray.StudioRollback, tray.StudioFolder:
		return a.doStudio(ctx, action)
	case tray.UseUpstream:
		return a.choice.Use(key)
	case tray.LookAgain:
		a.scout.Look()
		return nil
	case tray.OpenSession:
		if err := a.cfg.OpenTerminal([]string{"session", "attach", key}); err != nil {
			return fmt.Errorf("opening the session: %w", err)
		}
		return nil
	case tray.MenuOpened:
		if a.board.Get().upstream.Reach == protocol.ReachDown { // it may have been started since
			a.scout.Ask()
		}
		if a.models != nil {
			a.models.Ask()
		}
		a.askDatabases()
		a.lookAtLogin()
		return nil
	case tray.StartAtLogin:
		return a.switchLogin(key == "on")
	case tray.OpenRelease:
		return a.openRelease()
	case tray.Quit:
		a.shutdown(nil)
		return nil
	}
	return fmt.Errorf("unknown action %q", action)
}

// open opens a page in the user's browser and returns its URL.
func (a *app) open(ctx context.Context, target protocol.OpenTarget) (string, error) {
	if closed(a.ends.happened) {
		return "", hint.With(control.Refuse(protocol.CodeConflict, errEnding.Error()), hint.Of(errEnding))
	}
	url, err := a.pageURL(ctx, target)
	if err != nil {
		return "", err
	}
	a.scout.Ask() // somebody is about to use the upstream
	if err := a.cfg.OpenURL(url); err != nil {
		err = fmt.Errorf("opening %s: %w", url, err)
		if hint.Of(err) == "" {
			err = hint.With(err, "open it yourself: "+url)
		}
		return url, err
	}
	return url, nil
}

// pageURL picks the address of a page. Studio is our own copy where one is served, since its page is then of the same
// origin as the API and no browser asks for leave to reach the local network; else it is the hosted one.
func (a *app) pageURL(ctx context.Context, target protocol.OpenTarget) (string, error) {
	now := a.status.Get()
	local := "http://" + reachable(now.Addr)
	switch target {
	case protocol.OpenConsole:
		if !answers(now.Phase) {
			return "", hint.With(fmt.Errorf("the console is not served: the server is %s", now.Phase), "start the server first: Server, Start in the menu, or chatwright-tray start")
		}
		return local + "/console/", nil
	case protocol.OpenStudio:
		how := a.settings.Load().StudioOpen
		if how == settings.StudioHosted || how == settings.StudioAuto && (now.UI.Source == protocol.UIConsole || !answers(now.Phase)) {
			return hostedStudio, nil
		}
		if !answers(now.Phase) {
			return "", hint.With(fmt.Errorf("Studio is not served: the server is %s", now.Phase), "start the server first: Server, Start in the menu, or chatwright-tray start")
		}
		return studioURL(ctx, now.Addr, net.DefaultResolver.LookupIPAddr), nil
	}
	return "", fmt.Errorf("unknown page %q", target)
}

// answers reports whether something serves pages on our address in that phase.
func answers(p protocol.Phase) bool {
	return p == protocol.PhaseRunning || p == protocol.PhaseDegraded || p == protocol.PhaseExternal
}

// tell shows the person why what they asked for did not happen.
func (a *app) tell(err error) {
	a.log.Warn("action failed", "err", err)
	a.say(err)
}

// say shows the person a text with its hint.
func (a *app) say(err error) {
	a.pass(protocol.Notice{Cause: causeAction, Text: sentence(err.Error()), Hint: sentence(hint.Of(err)), Since: time.Now()})
}

// pass shows a notice that has no cause which could end: it goes by itself.
func (a *app) pass(n protocol.Notice) {
	a.board.notify(n)
	time.AfterFunc(noticeLife, func() { a.board.expire(n) })
}
