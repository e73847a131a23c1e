package app

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"chatwright.dev/tray/app/instance"
	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/control"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/metrics"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/telemetry"
	"chatwright.dev/tray/server/upstream"
	"chatwright.dev/tray/server/upstream/detect"
	"chatwright.dev/tray/server/watch"
)

// withDefaults fills in what a Config leaves out.
func withDefaults(cfg Config) Config {
	if cfg.OpenURL == nil {
		cfg.OpenURL = func(string) error { return errNoBrowser }
	}
	if cfg.OpenFile == nil {
		cfg.OpenFile = cfg.OpenURL
	}
	if cfg.CopyText == nil {
		cfg.CopyText = func(string) error {
			return hint.With(errors.New("there is no clipboard here"), "select the address in the console instead")
		}
	}
	if cfg.OpenTerminal == nil {
		cfg.OpenTerminal = func(args []string) error {
			return hint.With(errors.New("this companion opens no terminal"), "run it yourself: chatwright-tray "+strings.Join(args, " "))
		}
	}
	if cfg.Listen == nil {
		cfg.Listen = func(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }
	}
	return cfg
}

// newApp makes all the parts and starts none of them.
func newApp(cfg Config, log *slog.Logger, ends, aborts event) (*app, error) {
	remembered := newMemory(cfg.Paths.StateFile, log)
	upstreams, target, err := newChoice(cfg, remembered, log)
	if err != nil {
		return nil, err
	}
	a := &app{
		cfg:        cfg,
		log:        log,
		instanceID: instance.NewInstanceID(),
		startedAt:  time.Now().UTC(),
		metrics:    metrics.New(cfg.Settings.MetricsCapacity),
		selector:   upstream.NewSelector(target),
		choice:     upstreams,
		ui:         server.NewUISource(""),
		lookAgain:  make(chan struct{}, 1),
		retell:     make(chan struct{}, 1),
		ends:       ends, aborts: aborts,
	}
	a.settings.Store(&cfg.Settings)
	a.history = newHistory(cfg, log)
	a.capture = newCapture(cfg, a)
	a.console = &consoleDesk{app: a, token: rand.Text()}
	a.telemeter = newTelemeter(a.telemetryConfig)
	a.board = newBoard(firstParts(cfg, target, remembered))
	a.publisher = &publisher{
		identity: protocol.Status{InstanceID: a.instanceID, Version: cfg.Version, PID: os.Getpid(), StartedAt: a.startedAt, Recording: baseOf(cfg.Settings.Record)},
		board:    a.board,
		metrics:  a.metrics,
	}
	a.status = watch.New(a.publisher.compose(a.board.Get()))
	a.publisher.status = a.status
	a.scout = &scout{
		selector: a.selector, board: a.board, log: log,
		memory: remembered,
		ask:    make(chan struct{}, 1), look: make(chan struct{}, 1),
		clock: func() time.Time { return time.Now().Round(0) }, // without its monotonic part, which stands still in sleep
		reach: upstream.Probe,
	}
	a.joinUpstreams()
	a.speed = newSpeedometer(a.board, log, a.selector)
	a.speed.inFlight, a.speed.slept = a.metrics.InFlight, a.scout.lastSleep
	if a.librarian, err = a.newLibrarian(); err != nil {
		return nil, err
	}
	if a.librarian != nil {
		a.scout.woke = a.librarian.Woke
	}
	n := newNeighbour()
	a.supervisor = &supervisor{
		prepare: a.prepare, listen: cfg.Listen, holder: n.holder, follow: n.follow,
		addr:  func() string { return a.settings.Load().Addr },
		board: a.board, log: log, abort: aborts.happened,
		firstHeld: cfg.Screen == nil,
		commands:  make(chan command), ended: make(chan struct{}),
	}
	if err := a.joinCalls(); err != nil {
		return nil, err
	}
	a.control = control.New(a.controlConfig())
	return a, nil
}

// joinCalls makes what listens to calls, and then those who make calls of their own.
func (a *app) joinCalls() (err error) {
	if a.through, err = newRecorder(a.cfg.Settings, a.board, a.log); err != nil {
		return err
	}
	a.captureAsSet(a.cfg.Settings.Capture)
	a.engine.Store(a.newEngine(&a.cfg.Settings))
	a.sessions = a.openSessions()
	return nil
}

// joinUpstreams makes those that know of upstreams known to one another, and wants the first look.
func (a *app) joinUpstreams() {
	a.choice.find = finder(a.cfg.Detect, func() string { return a.board.Get().addr })
	a.scout.find = a.choice.look
	a.choice.join(a.selector, a.scout, func() string { return a.settings.Load().Upstream })
	if a.choice.open {
		a.scout.Look()
	} else {
		a.scout.Ask()
	}
	a.publisher.observe = a.scout.observe
	if a.cfg.Screen == nil { // nobody looks at a menu
		return
	}
	a.models = newModelist(a.board, a.log, a.selector, detect.Models)
	a.scout.changed = a.models.Ask
	a.publisher.observe = func(calls []protocol.Call) {
		a.scout.observe(calls)
		a.models.Called()
	}
}

// firstParts is what is known before anything was asked.
func firstParts(cfg Config, target *upstream.Target, remembered *memory) parts {
	return parts{
		phase:    protocol.PhaseStarting,
		addr:     cfg.Settings.Addr,
		upstream: describe(target, protocol.ReachUnknown, ""),
		ui:       protocol.UI{Source: protocol.UIConsole},
	}.withRelease(cfg, remembered)
}

// controlConfig is what the control socket answers with and whom it asks.
func (a *app) controlConfig() control.Config {
	cfg := control.Config{
		SocketPath: a.cfg.Paths.Socket, Version: a.cfg.Version, InstanceID: a.instanceID,
		Launch: &protocol.Launch{Args: a.cfg.Args, Dir: a.cfg.Dir},
		Status: a.status, Calls: a.metrics.After, History: a.historyPages(), Upstreams: a.choice,
		Manager: a.sessions, Build: a.buildSession, MaxSessions: a.cfg.Settings.MaxSessions,
		Now:      func() protocol.Status { a.lookAtLogin(); return a.publisher.compose(a.board.Get()) },
		Shutdown: a.shutdown, Open: a.open, URL: a.pageURL, Server: a.serverAction,
		StreamsEnd: a.ends.happened,
		Log:        func(text string) { a.log.Warn("control socket", "event", text) },
	}
	if a.librarian != nil {
		cfg.Studio = a.librarian
	}
	return cfg
}

// prepare makes a server from the settings in force. The metrics, the upstream and the page at "/" are the app's, so
// that they outlive a restart of the server.
func (a *app) prepare(cut <-chan struct{}) (serveFunc, error) {
	now := a.settings.Load()
	dsns, err := now.Holders()
	if err != nil {
		return nil, err
	}
	a.dsns.Store(&dsns)
	return a.prepareFrom(now, cut)
}

func (a *app) prepareFrom(now *settings.Settings, cut <-chan struct{}) (serveFunc, error) {
	if err := server.CheckAddr(now.Addr, now.AllowRemote); err != nil {
		return nil, err
	}
	token, err := now.ReadRemoteToken()
	if err != nil {
		return nil, err
	}
	cfg := server.Config{
		Version:         a.cfg.Version,
		FixturesPath:    now.DatastateFixtures,
		AllowedOrigins:  now.AllowOrigins,
		UIDir:           now.UIDir,
		Slog:            a.log,
		AllowedHosts:    now.AllowHosts,
		Upstream:        a.selector,
		Metrics:         a.metrics,
		Record:          a.record,
		Through:         a.through,
		Status:          a.status,
		Grace:           now.Grace,
		MaxChatBody:     now.MaxBody,
		UpstreamTimeout: now.UpstreamTimeout,
		MeterUsage:      now.MeterUsage,
		RemoteToken:     token,
		Abort:           cut,
		Console:         a.console.console(),
		Tap:             a.capture.Tap,
	}
	if now.ConsoleSessions {
		cfg.Sessions = a.consoleSessions()
	}
	if now.UIDir == "" {
		cfg.UI = a.ui
	}
	if a.librarian != nil {
		cfg.Studio = a.librarian.State()
	}
	look := newLookout(a.board, a.log, a.lookAgain)
	store, err := Databases(*now, look.observe)
	if err != nil {
		return nil, err
	}
	if store != nil {
		cfg.Databases = store
	}
	srv, err := server.New(cfg)
	if err != nil {
		return nil, err
	}
	if store == nil {
		return srv.Serve, nil
	}
	return withDatabases(srv.Serve, store, look), nil
}

// record is told of each call that ended, on the call's goroutine: whoever is told here takes a copy and returns.
func (a *app) record(c protocol.Call) {
	if a.history != nil {
		a.history.Add(c)
	}
	a.telemeter.observe(c)
	a.speed.observe(c)
}

func (a *app) telemetryConfig() telemetry.Config {
	return telemetry.Config{
		Endpoint: a.settings.Load().OTLPEndpoint,
		Version:  a.cfg.Version, InstanceID: a.instanceID,
		Log: a.log, Abort: a.aborts.happened,
	}
}

// serverAction is supervisor.Do with the errors that the control socket answers with a code of their own.
func (a *app) serverAction(ctx context.Context, action protocol.ServerAction) error {
	err := a.supervisor.Do(ctx, action)
	if held, ok := errors.AsType[*PortHeldError](err); ok {
		return hint.With(control.Refuse(protocol.CodeConflict, held.Error()), hint.Of(err))
	}
	if errors.Is(err, errNotOurs) || errors.Is(err, errEnding) {
		return hint.With(control.Refuse(protocol.CodeConflict, err.Error()), hint.Of(err))
	}
	return err
}

// shutdown begins the end; asked a second time, or with no grace at all, it cuts the grace.
func (a *app) shutdown(grace *time.Duration) {
	if closed(a.ends.happened) || grace != nil && *grace <= 0 {
		a.aborts.cause()
	} else if grace != nil {
		time.AfterFunc(*grace, a.aborts.cause)
	}
	a.ends.cause()
}

// An event happens once: cause makes it happen, and happened is then closed.
type event struct {
	happened <-chan struct{}
	cause    func()
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
