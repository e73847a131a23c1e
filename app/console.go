package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/capture"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/history"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
	"chatwright.dev/tray/server/upstream/detect"
)

// How long what the console asks others for is good: many pages may be open, and each asks after calls.
const (
	modelsLife  = 3 * time.Second
	modelsBound = 6 * time.Second
	foundLife   = time.Minute
	foundBound  = 3 * time.Second
)

// causeCapture is the cause of the notice that the settings want calls captured on a disk that does not take them.
const causeCapture = "capture"

// A consoleDesk is what the console is answered with, beyond what the server knows itself. It outlives the servers.
type consoleDesk struct {
	app    *app
	token  string
	models asked[*upstream.Target, []protocol.Model]
	found  asked[struct{}, []protocol.FoundServer]
}

// console is what a server shows of the app.
func (d *consoleDesk) console() *server.Console {
	a := d.app
	c := &server.Console{
		Token: d.token, Models: d.offered, Upstreams: d.upstreams, Act: d.act, Capture: a.capture,
		Doctor:   a.examine,
		Settings: func() []protocol.SettingValue { return a.valuesInForce() },
	}
	if a.history != nil {
		c.Calls = func(ctx context.Context, q protocol.CallsQuery) (protocol.RecordedCalls, error) {
			page, err := a.history.Newest(ctx, q)
			if errors.Is(err, history.ErrCursor) {
				err = server.ErrCursor
			}
			return page, err
		}
	}
	return c
}

// offered asks the upstream in use which models it has.
func (d *consoleDesk) offered(ctx context.Context) protocol.OfferedModels {
	target := d.app.selector.Load()
	models := d.models.get(ctx, target, modelsLife, modelsBound, func(ctx context.Context) []protocol.Model {
		return detect.Models(ctx, target)
	})
	return protocol.OfferedModels{Upstream: d.app.board.Get().upstream, Models: models}
}

// upstreams says where calls can go. It looks for model servers when nobody has for a while, and asks none in the list.
func (d *consoleDesk) upstreams(ctx context.Context) protocol.Upstreams {
	choice := d.app.choice
	answer := protocol.Upstreams{Found: d.foundServers(ctx), Why: choice.Why()}
	for _, one := range choice.List(ctx, false).Upstreams {
		if one.Active {
			answer.Active = one.Name
		}
		if one.Source == protocol.SourceFound { // they stand in a list of their own
			continue
		}
		answer.Named = append(answer.Named, protocol.NamedUpstream{
			Name: one.Name, BaseURL: one.BaseURL, HasKey: one.HasKey, Model: one.Model, Active: one.Active,
		})
	}
	return answer
}

func (d *consoleDesk) foundServers(ctx context.Context) []protocol.FoundServer {
	return d.found.get(ctx, struct{}{}, foundLife, foundBound, func(ctx context.Context) []protocol.FoundServer {
		d.app.choice.Look(ctx)
		return d.app.choice.Found()
	})
}

// act does what a person asked for on the page.
func (d *consoleDesk) act(ctx context.Context, action protocol.ConsoleAction, req protocol.ConsoleActionRequest) error {
	switch action {
	case protocol.ActionUseUpstream:
		return d.use(req.Upstream)
	case protocol.ActionLookAgain:
		d.found.forget()
		d.foundServers(ctx)
		d.app.scout.Ask()
		return nil
	case protocol.ActionCapture:
		return d.setCapture(req)
	}
	return d.app.actOnStudio(ctx, action)
}

// use takes a name, or the base URL of an upstream that is in the list or was found on this machine. Nothing else: a page
// chooses among what there is, and sends calls nowhere that its user does not know.
func (d *consoleDesk) use(wanted string) error {
	err := d.app.choice.Use(wanted)
	var refusal interface{ ErrorCode() protocol.ErrorCode }
	if errors.As(err, &refusal) && refusal.ErrorCode() == protocol.CodeNotFound {
		return hint.With(errors.New("there is no such upstream"), "look again, or add it: chatwright-tray upstream add NAME URL")
	}
	return err
}

func (d *consoleDesk) setCapture(req protocol.ConsoleActionRequest) error {
	a := d.app
	if err := a.captureAs(req.Mode); err != nil {
		return err
	}
	if req.Forget {
		return a.capture.Forget()
	}
	return nil
}

// captureAs has what is said in calls kept, or not, from now on, and every surface say so.
func (a *app) captureAs(mode protocol.CaptureMode) error {
	if err := a.capture.SetMode(mode); err != nil {
		return err
	}
	a.log.Info("what is said in calls", "kept", mode)
	a.board.clear(causeCapture)
	a.board.Update(func(p parts) parts { p.capture = mode; return p })
	return nil
}

// captureAsSet is captureAs for a mode that the settings name: what fails is a notice, and calls go on.
func (a *app) captureAsSet(mode protocol.CaptureMode) {
	if err := a.captureAs(mode); err != nil {
		a.log.Warn("capturing calls", "err", err)
		a.board.notify(protocol.Notice{Cause: causeCapture, Text: "What is said in calls is not kept: " + err.Error(),
			Hint: sentence(hint.Of(err)), Since: time.Now()})
	}
}

func newCapture(cfg Config, a *app) *capture.Store {
	return capture.New(capture.Config{Folder: cfg.Paths.Capture, Log: a.log})
}

// valuesInForce are the settings, with what was changed while it runs.
func (a *app) valuesInForce() []protocol.SettingValue {
	now := a.settings.Load()
	values := now.Values()
	if mode := a.capture.Mode(); mode != now.Capture {
		for i := range values {
			if values[i].Key == settings.CaptureKey {
				values[i].Value, values[i].Source = string(mode), "console"
			}
		}
	}
	return values
}

// actOnStudio looks after the offline copy. An update goes on when the page has gone: how far it is, and what became of
// it, every status tells.
func (a *app) actOnStudio(ctx context.Context, action protocol.ConsoleAction) error {
	if a.librarian == nil {
		return hint.With(errors.New("no offline copy of Studio is kept"), "chatwright-tray restart --ui")
	}
	switch action {
	case protocol.ActionStudioUpdate:
		a.work.Go(func() {
			ctx, end := context.WithCancel(context.WithoutCancel(ctx))
			defer end()
			defer cutOn(a.ends.happened, end)() // the end of the app cancels it
			_ = a.librarian.Update(ctx, true)   // what became of it is told for as long as it matters
		})
		return nil
	case protocol.ActionStudioCancel:
		a.librarian.Cancel()
		return nil
	case protocol.ActionStudioRollback:
		return a.librarian.Rollback(context.WithoutCancel(ctx))
	}
	return fmt.Errorf("unknown action %q", action)
}

// asked is an answer that is good for a while. Whoever asks meanwhile waits for the same one.
type asked[K comparable, V any] struct {
	mu     sync.Mutex
	known  bool
	of     K
	answer V
	until  time.Time
}

// get asks again when the answer is of another or too old. A caller who leaves does not cut the question, which others
// wait for too.
func (a *asked[K, V]) get(ctx context.Context, of K, life, bound time.Duration, ask func(context.Context) V) V {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.known || a.of != of || time.Now().After(a.until) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bound)
		defer cancel()
		a.answer, a.of, a.known = ask(ctx), of, true
		a.until = time.Now().Add(life)
	}
	return a.answer
}

func (a *asked[K, V]) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known = false
}
