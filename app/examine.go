package app

import (
	"context"
	"errors"
	"os"

	"chatwright.dev/tray/app/autostart"
	"chatwright.dev/tray/app/doctor"
	"chatwright.dev/tray/app/paths"
	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/studio"
	"chatwright.dev/tray/server/upstream"
)

// Examination says what the doctor is to look at. Settings and Paths are required.
type Examination struct {
	Settings settings.Settings
	Paths    paths.Paths
	// Addr is where the companion that runs serves. Empty: none runs, and that of the settings is looked at.
	Addr string
	// Upstream is the base URL that calls go to, or the name of a named upstream. Empty: that of the settings.
	Upstream string
	// Studio is the copy that the companion keeps. Nil: none runs, or keeps one; the folder is looked into.
	Studio *protocol.StudioStatus
	// Opener says whether a program opens a browser. Nil: it is not asked.
	Opener func() error
	// Login is the entry that starts the tray at login. Its zero value: it is not looked at.
	Login    autostart.Config
	Headless bool
	// Find looks for the model servers of this machine. Nil: on their usual ports.
	Find func(context.Context) []protocol.FoundServer
}

// Examine looks at everything that a companion needs of its machine.
func Examine(ctx context.Context, e Examination) ([]protocol.Check, error) {
	target, err := e.target()
	if err != nil {
		return nil, err
	}
	return doctor.Run(ctx, e.config(target)), nil
}

// config wires the doctor.
func (e Examination) config(target *upstream.Target) doctor.Config {
	cfg := doctor.Config{
		Addr: e.Settings.Addr, Running: e.Addr != "", Paths: e.Paths, Upstream: target, Holder: holderFor,
		Find: e.Find, Opener: e.Opener, Studio: e.studio, Login: e.Login, Getenv: os.Getenv, Headless: e.Headless,
	}
	if e.Addr != "" {
		cfg.Addr = reachable(e.Addr)
	}
	if len(e.Settings.Datastate) > 0 {
		cfg.Holders = e.databases
	}
	return cfg
}

// target is where calls go, with the key of a named upstream: without it some servers answer nothing.
func (e Examination) target() (*upstream.Target, error) {
	base := e.Upstream
	if base == "" {
		base = e.Settings.Upstream
	}
	profiles, _, err := upstream.OpenProfiles(e.Paths.Upstreams)
	if err == nil {
		if _, target, err := profiles.Get(base); err == nil {
			return target, nil
		}
	}
	return upstream.Parse(base)
}

func holderFor(ctx context.Context, addr string) (program string, companion bool) {
	held := WhoHolds(ctx, addr)
	if held == nil {
		return "", false
	}
	if held.Holder == "" {
		return "another program", held.Ours
	}
	return held.Holder, held.Ours
}

// studio says which Studio is served, or would be.
func (e Examination) studio() (string, error) {
	switch {
	case e.Settings.UIDir != "":
		return "from the folder " + e.Settings.UIDir, nil
	case e.Studio != nil:
		return describeCopy(e.Studio.Version), studioTrouble(e.Studio.Error)
	}
	store, err := studio.Open(studio.Config{
		CacheDir: e.Paths.UI, LegacyDir: e.Paths.LegacyUI, BaseURL: e.Settings.UIURL, PublicKey: e.Settings.UIKey,
	})
	if err != nil {
		return "", err
	}
	if found, ok := store.Current(); ok {
		return describeCopy(found.Version), nil
	}
	return "", nil
}

func describeCopy(version string) string {
	if version == "" {
		return ""
	}
	return version + " (offline copy)"
}

func studioTrouble(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}

// databases has a check for each database.
func (e Examination) databases(ctx context.Context) []protocol.Check {
	found, err := CheckDatabases(ctx, e.Settings)
	if err != nil && len(found) == 0 {
		return []protocol.Check{{ID: "datastate", Name: "Databases", State: protocol.CheckFailed, Detail: err.Error(), Fix: hint.Of(err)}}
	}
	var checks []protocol.Check
	for _, h := range found {
		check := protocol.Check{ID: "datastate." + h.Name, Name: "Database " + h.Name, State: protocol.CheckOK, Detail: string(h.Kind) + ", answers"}
		if h.Reach != protocol.ReachOK {
			check.State, check.Detail = protocol.CheckFailed, string(h.Kind)+": "+h.Detail
			check.Fix = "start the database, or correct its DSN"
		}
		checks = append(checks, check)
	}
	return checks
}

// examine is Examine for the console of the app that runs.
func (a *app) examine(ctx context.Context) []protocol.Check {
	now := a.board.Get()
	e := Examination{
		Settings: *a.settings.Load(), Paths: a.cfg.Paths, Addr: now.addr, Studio: now.studio,
		Opener: a.cfg.Opener, Login: a.cfg.Login, Headless: a.cfg.Screen == nil, Find: a.console.foundServers,
	}
	return doctor.Run(ctx, e.config(a.selector.Load()))
}
