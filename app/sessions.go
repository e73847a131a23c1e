package app

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"time"

	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/app/tray"
	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/control"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/proxy"
	"chatwright.dev/tray/server/session"
)

// causeSessions is the cause of the notice that there are no sessions.
const causeSessions = "sessions"

// openSessions opens the sessions of this instance. Without a folder for their records there are none, which is said;
// the rest of the companion goes on.
func (a *app) openSessions() *session.Manager {
	manager, err := session.Open(session.Config{
		Dir: a.cfg.Paths.Sessions, Model: &turns{upstream: a.choice.For, engine: a.engine.Load},
		Grace: a.cfg.Settings.Grace, Abort: a.aborts.happened,
		Log: func(text string) { a.log.Warn("sessions", "event", text) },
	})
	if err != nil {
		a.log.Warn("no sessions", "err", err)
		a.board.notify(protocol.Notice{Cause: causeSessions, Text: "There are no sessions: " + err.Error(),
			Hint: sentence(hint.Of(err)), Since: time.Now()})
		return nil
	}
	return manager
}

// buildSession makes the session that a client asks for. An upstream that is not there is refused now, and not at the
// first turn.
func (a *app) buildSession(req protocol.CreateSessionRequest) (*session.Session, error) {
	if req.Upstream != "" {
		if _, _, err := a.choice.For(req.Upstream); err != nil {
			return nil, hint.With(control.Refuse(protocol.CodeInvalidInput, "upstream: "+err.Error()), hint.Of(err))
		}
	}
	return a.sessions.Create(req)
}

// newEngine makes what the calls of turns go through: a proxy like that of the server, and with the same books, which a
// restart of the server does not touch. It asks for the usage of turns, as they are our own calls.
func (a *app) newEngine(now *settings.Settings) *proxy.Proxy {
	return proxy.New(proxy.Config{
		Begin: a.metrics.Begin, End: a.endTurn, MaxBody: now.MaxBody, Timeout: now.UpstreamTimeout, Log: a.log,
		MeterUsage: true, KeepUsage: true, Through: a.through, Tap: a.capture.Tap,
	})
}

// endTurn is where the engine reports a call that ended.
func (a *app) endTurn(c protocol.Call) {
	a.metrics.End(c)
	a.record(c)
}

// keepSessions lets turns run until ctx ends and they have had their grace.
func (a *app) keepSessions(ctx context.Context) error {
	if a.sessions == nil {
		return nil
	}
	return a.sessions.Run(ctx)
}

// showSessions puts the live sessions on the board, the newest first, until ctx ends.
func (a *app) showSessions(ctx context.Context) error {
	if a.sessions == nil {
		return nil
	}
	for {
		changed := a.sessions.Changed() // taken before looking, so that no change falls between
		live := a.sessions.Live()
		var list []tray.Session
		counts := protocol.SessionCounts{Live: len(live)}
		for i := len(live) - 1; i >= 0; i-- { // the newest first
			info := live[i].Info()
			running := info.State == protocol.SessionRunning || info.State == protocol.SessionBlocked
			if running {
				counts.Running++
			}
			if len(list) < tray.SessionRows {
				list = append(list, tray.Session{ID: info.ID, Title: info.Title, Folder: filepath.Base(info.Workspace), Running: running})
			}
		}
		a.board.Update(func(p parts) parts { p.sessions, p.sessionCounts = list, &counts; return p })
		calm := time.NewTimer(calmness) // a thousand of them can begin and end turns all the time
		select {
		case <-ctx.Done():
			calm.Stop()
			return nil
		case <-calm.C:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// consoleSessions is what the console may read; nil where there are no sessions.
func (a *app) consoleSessions() *server.Sessions {
	if a.sessions == nil {
		return nil
	}
	return &server.Sessions{
		List: func() []protocol.Session {
			var list []protocol.Session
			for _, s := range a.sessions.Live() {
				list = append(list, s.Info())
			}
			slices.Reverse(list)
			return list
		},
		Events: a.consoleEvents,
	}
}

func (a *app) consoleEvents(id string, from uint64) (protocol.EventsPage, bool) {
	live := a.sessions.Get(id)
	if live == nil {
		return protocol.EventsPage{}, false
	}
	from = max(from, 1)
	page := protocol.EventsPage{Events: []protocol.Event{}, Next: from}
	read, err := live.After(session.Cursor{Seq: from - 1}, 0)
	if err != nil {
		a.log.Warn("reading a session for the console", "err", err)
		return page, false
	}
	for _, entry := range read.Entries {
		var event protocol.Event
		if err := json.Unmarshal(entry.JSON, &event); err != nil {
			a.log.Warn("reading a session for the console", "err", err)
			continue
		}
		page.Events, page.Next = append(page.Events, event), event.Seq+1
	}
	return page, true
}
