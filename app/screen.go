package app

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server/protocol"
)

// A Screen is the tray as the app sees it.
type Screen interface {
	// Show replaces what is shown. The newest view wins; it never blocks.
	Show(tray.View)
	// Clicks carries what the person chose. It is never closed.
	Clicks() <-chan tray.Action
}

// show renders every new status for the screen until ctx ends.
func (a *app) show(ctx context.Context) error {
	for {
		status, changed := a.status.Watch()
		a.cfg.Screen.Show(tray.Render(a.trayState(status)))
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// click runs what was clicked, each on a goroutine of its own, so that a slow browser delays no other click.
func (a *app) click(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case action := <-a.cfg.Screen.Clicks():
			a.work.Go(func() {
				if err := a.do(ctx, action); err != nil && ctx.Err() == nil {
					a.tell(err)
				}
			})
		}
	}
}

// trayState turns the status that every surface shares into the plain values that the menu is a function of.
func (a *app) trayState(s protocol.Status) tray.State {
	now := a.board.Get()
	state := tray.State{
		Version: s.Version, Phase: tray.Phase(s.Phase), Detail: s.Detail, Addr: s.Addr,
		UpstreamName: s.Upstream.Name, UpstreamReach: tray.Reach(s.Upstream.Reach), Demo: s.Upstream.Demo,
		Doing: doing(s),
		Metrics: tray.Metrics{
			Calls: s.Metrics.Calls, Errors: s.Metrics.Errors, InFlight: s.Metrics.InFlight,
			P50Ms: s.Metrics.LatencyP50Ms, P95Ms: s.Metrics.LatencyP95Ms, FirstTokenMs: s.Metrics.FirstTokenP50Ms,
		},
	}
	if s.Upstream.Demo {
		state.ConfiguredUpstream = now.back
	}
	if s.Phase != protocol.PhaseExternal { // its models are not those that we know
		state.Models = trayModels(now.models)
	}
	state.Why, state.Recording = sentence(now.why), s.Recording
	state.Studio, state.Capture = a.trayStudio(s), string(s.Capture)
	state.Upstreams, state.Sessions = now.choosable, now.sessions
	if now.sessionCounts != nil {
		state.LiveSessions = now.sessionCounts.Live
	}
	if s.Autostart != nil {
		state.Login = &tray.Login{On: s.Autostart.On, Trouble: s.Autostart.Trouble}
	}
	if s.Release != nil {
		state.NewRelease = s.Release.Version
	}
	if s.History != nil {
		state.Today = &tray.Today{Calls: s.History.Today.Calls, Tokens: s.History.Today.CompletionTokens}
	}
	for _, c := range s.Metrics.Recent {
		state.Recent = append(state.Recent, tray.Call{
			Time: c.Timestamp, Model: c.Model, Status: c.Status, Verdict: string(c.Verdict), LatencyMs: c.LatencyMs,
			Tokens: c.CompletionTokens, TokensKnown: c.UsageKnown, TokensPerSecond: c.TokensPerSecond,
		})
	}
	for _, n := range s.Notices {
		state.Notices = append(state.Notices, tray.Notice{Text: n.Text, Hint: n.Hint})
	}
	return state
}

// doing is the server action that is under way, as far as the status shows one.
func doing(s protocol.Status) tray.Action {
	switch {
	case s.Phase == protocol.PhaseStarting:
		return tray.ServerStart
	case s.Detail == detailStopping, s.Detail == DetailEnding:
		return tray.ServerStop
	case s.Detail == detailRestarting:
		return tray.ServerRestart
	}
	return ""
}

// sentence makes an error's text one that a person reads in a menu: it begins with a capital.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(strings.TrimSpace(text))
	if size == 0 || first == utf8.RuneError {
		return text
	}
	return string(unicode.ToUpper(first)) + strings.TrimSpace(text)[size:]
}
