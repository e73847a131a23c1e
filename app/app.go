package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"chatwright.dev/tray/app/autostart"
	"chatwright.dev/tray/app/instance"
	"chatwright.dev/tray/app/paths"
	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/capture"
	"chatwright.dev/tray/server/control"
	"chatwright.dev/tray/server/history"
	"chatwright.dev/tray/server/metrics"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/proxy"
	"chatwright.dev/tray/server/session"
	"chatwright.dev/tray/server/upstream"
	"chatwright.dev/tray/server/upstream/detect"
	"chatwright.dev/tray/server/watch"
)

// ErrAborted is returned by Run when its grace was cut short: calls that were in flight did not end whole.
var ErrAborted = errors.New("ended at once, calls in flight were cut off")

// Config is what the process is made of.
type Config struct {
	Settings settings.Settings
	Paths    paths.Paths
	Version  string
	// Args and Dir are how the program was started, for whoever restarts it.
	Args []string
	Dir  string

	// Screen is the tray; nil runs without one.
	Screen Screen
	// Stopping is called once when the end begins, so that the icon goes at once; nil does nothing.
	Stopping func()
	// OpenURL shows a page with the user's default program; nil refuses with a hint.
	OpenURL func(url string) error
	// OpenFile shows a file likewise; nil is OpenURL.
	OpenFile func(path string) error
	// CopyText puts a text on the clipboard; nil refuses with a hint.
	CopyText func(text string) error
	// OpenTerminal runs this program with these arguments in a terminal that it opens; nil refuses with a hint.
	OpenTerminal func(args []string) error
	// Opener says whether there is a program that OpenURL can use. Nil: nobody asks.
	Opener func() error
	// Login is the entry that starts this at login. Its zero value: this program has none to do with.
	Login autostart.Config
	// Notify has notices shown on the desktop, as far as the settings want it.
	Notify bool
	// NoPanel tells that there is a desktop but no panel with icons, with what to do about it. Nil never does.
	NoPanel <-chan string
	// Ready is called once when the app answers, with its first status; nil does nothing.
	Ready func(protocol.Status)
	// Warn says one line to the person who started the app; nil says it to the log alone.
	Warn func(text string)
	// Reload reads the settings again; it is called for each value from Hangup. Nil keeps the settings.
	Reload func() (settings.Settings, error)
	Hangup <-chan os.Signal
	// Abort, when closed, skips what is left of the grace. Nil never does.
	Abort <-chan struct{}
	// Detect is where model servers are looked for, besides that the companion's own port is left out. The zero value: on
	// this machine.
	Detect detect.Config
	// Listen is net.Listen for TCP when nil.
	Listen func(addr string) (net.Listener, error)
}

// app is the process while it runs. Its fields are set before it lives and not changed after.
type app struct {
	cfg        Config
	log        *slog.Logger
	logLevel   *slog.LevelVar
	instanceID string
	startedAt  time.Time

	settings   atomic.Pointer[settings.Settings]
	dsns       atomic.Pointer[map[string]string] // of the server that runs, by holder
	lookAgain  chan struct{}                     // capacity 1: databases that are down are to be asked
	metrics    *metrics.Store
	history    *history.Store // nil: none is kept
	selector   *upstream.Selector
	choice     *choice
	engine     atomic.Pointer[proxy.Proxy] // of the turns of sessions
	sessions   *session.Manager            // nil: their records have no place
	console    *consoleDesk
	capture    *capture.Store
	ui         *server.UISource
	librarian  *librarian // nil: no offline copy is kept
	board      board
	status     *watch.Value[protocol.Status]
	scout      *scout
	models     *modelist                                                   // nil: nobody looks at a menu
	through    func(*upstream.Target, http.RoundTripper) http.RoundTripper // records calls; nil: nothing does
	supervisor *supervisor
	control    *control.Server
	publisher  *publisher
	telemeter  *telemeter
	speed      *speedometer
	retell     chan struct{} // capacity 1: whether notices are wanted has changed

	ends   event          // the end begins
	aborts event          // the grace is cut
	work   sync.WaitGroup // clicks
}

// Run is the whole life of the companion: it returns when ctx has ended, or Quit was clicked, or somebody asked for
// it over the control socket, and everything that it started has ended. instance.ErrHeld means that another companion
// of the same folder runs; *PortHeldError that the address is taken and there is no menu to say so; ErrAborted that
// the grace was cut.
func Run(ctx context.Context, cfg Config) error {
	if err := cfg.Paths.Make(); err != nil {
		return err
	}
	lock, err := instance.Acquire(cfg.Paths.Lock)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Release() }() // last of all: who gets the lock finds nothing of ours left

	if err := cfg.Settings.CheckFiles(); err != nil {
		return err
	}
	level := new(slog.LevelVar)
	level.Set(cfg.Settings.LogLevel)
	logger, logFile := openLog(cfg.Paths.Log, level)
	defer func() { _ = logFile.Close() }()

	ctx, end := context.WithCancel(ctx)
	defer end()
	aborting, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	if cfg.Abort != nil {
		defer cutOn(cfg.Abort, cut)()
	}
	a, err := newApp(withDefaults(cfg), logger, event{ctx.Done(), end}, event{aborting.Done(), cut})
	if err != nil {
		return err
	}
	a.logLevel = level
	if err := a.control.Listen(); err != nil {
		return err
	}
	logger.Info("starting", "version", cfg.Version, "pid", os.Getpid(), "instance", a.instanceID)
	err = a.live(ctx)
	logger.Info("ended") // why is for the caller to say
	return err
}

// live runs the parts until the end, and ends them in order.
func (a *app) live(ctx context.Context) error {
	// The control socket outlives the rest: during the grace it is where a second stop comes in.
	controlCtx, endControl := context.WithCancel(context.WithoutCancel(ctx))
	defer endControl()
	var socket errgroup.Group
	socket.Go(func() error { return a.publisher.Run(controlCtx) }) // who asks during the grace hears what holds then
	socket.Go(func() error { return a.showSessions(controlCtx) })
	socket.Go(func() error {
		err := a.control.Serve(controlCtx)
		a.ends.cause() // a daemon that nobody can stop any more ends by itself
		return err
	})
	// So does the history, to which the last call and the last question go.
	storesCtx, endStores := context.WithCancel(context.WithoutCancel(ctx))
	defer endStores()
	var stores errgroup.Group
	stores.Go(func() error { return a.keepHistory(storesCtx) })
	stores.Go(func() error { return a.capture.Run(storesCtx) })

	// What exports calls outlives the last of them, and is done before the socket is: a second stop cuts its flush too.
	recordCtx, endRecords := context.WithCancel(context.WithoutCancel(ctx))
	defer endRecords()
	var records errgroup.Group
	records.Go(func() error { return a.telemeter.Run(recordCtx) })

	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.supervisor.Run(groupCtx) })
	group.Go(func() error { return a.keepSessions(groupCtx) })
	group.Go(func() error { return a.scout.Run(groupCtx) })
	group.Go(func() error { return a.speed.Run(groupCtx) })
	if a.models != nil {
		group.Go(func() error { return a.models.Run(groupCtx) })
	}
	if a.librarian != nil {
		group.Go(func() error { return a.librarian.Run(groupCtx) })
	}
	group.Go(func() error { return a.announce(groupCtx) })
	group.Go(func() error { return a.reload(groupCtx) })
	group.Go(func() error { return a.followParent(groupCtx) })
	group.Go(func() error { return a.watchReleases(groupCtx) })
	if len(a.cfg.Login.Command) > 0 {
		group.Go(func() error { a.mendLogin(); return nil })
	}
	if a.cfg.Notify {
		group.Go(func() error { return a.tellDesktop(groupCtx) })
	}
	if a.cfg.Screen != nil {
		group.Go(func() error { return a.show(groupCtx) })
		group.Go(func() error { return a.click(groupCtx) })
	}
	stopWatching := context.AfterFunc(groupCtx, a.beginEnd)
	defer stopWatching()
	err := group.Wait()
	a.awaitClicks()
	endRecords()
	err = errors.Join(err, records.Wait())
	a.scout.memory.Flush()
	a.withdraw()
	endControl()
	err = errors.Join(err, socket.Wait())
	endStores()
	err = errors.Join(err, stores.Wait())
	if err == nil && closed(a.aborts.happened) {
		return ErrAborted
	}
	return err
}

// DetailEnding is the detail of a status while the companion ends: it still answers, but will be gone in a moment.
const DetailEnding = "ending"

// beginEnd says everywhere that the end has begun, whatever began it.
func (a *app) beginEnd() {
	a.ends.cause()
	a.board.Update(func(p parts) parts { p.detail = DetailEnding; return p })
	if a.cfg.Stopping != nil {
		a.cfg.Stopping()
	}
}

// awaitClicks waits for what was clicked. A program of the desktop that hangs cannot keep an aborted end waiting.
func (a *app) awaitClicks() {
	done := make(chan struct{})
	go func() { defer close(done); a.work.Wait() }()
	select {
	case <-done:
	case <-a.aborts.happened:
	}
}

// parentPeriod is how often it is asked whether the parent process still runs.
const parentPeriod = time.Second

// followParent begins the end when the process that the settings name has ended.
func (a *app) followParent(ctx context.Context) error {
	parent := a.cfg.Settings.ParentPID
	if parent == 0 {
		return nil
	}
	ticker := time.NewTicker(parentPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if !server.IsProcessRunning(parent) {
				a.log.Info("the parent process has ended", "pid", parent)
				a.shutdown(nil)
				return nil
			}
		}
	}
}

// cutOn calls cut when c is closed, until the function that it returns is called.
func cutOn(c <-chan struct{}, cut func()) (stop func()) {
	stopped := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-c:
			cut()
		case <-stopped:
		}
	}()
	return func() { close(stopped); <-ended }
}
