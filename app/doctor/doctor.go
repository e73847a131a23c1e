// Package doctor looks at everything that a companion needs of its machine, and says of each what it found and what to
// do about it. It changes nothing, and it claims nothing that it did not see: what could not be found out is unknown.
package doctor

import (
	"context"
	"sync"
	"time"

	"chatwright.dev/tray/app/autostart"
	"chatwright.dev/tray/app/paths"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
	"chatwright.dev/tray/server/upstream/detect"
)

// patience is how long one check may take.
const patience = 5 * time.Second

// Config says what is looked at. Addr, Paths and Upstream are required.
type Config struct {
	// Addr is the address that is served, or would be, and Running whether a companion of these settings runs.
	Addr    string
	Running bool
	Paths   paths.Paths
	// Upstream is where calls go.
	Upstream *upstream.Target
	// Holder says who listens on an address: the program, as a person reads it, and whether that is a companion. Nil: it
	// is not asked.
	Holder func(ctx context.Context, addr string) (program string, companion bool)
	// Find looks for the model servers of this machine. Nil: detect.Find.
	Find func(ctx context.Context) []protocol.FoundServer
	// Opener says whether there is a program that opens a browser. Nil: it is not asked.
	Opener func() error
	// Studio says which Studio is served: "0.4.1 (offline copy)", or "" for none; an error when a copy is damaged. Nil:
	// it is not asked.
	Studio func() (string, error)
	// Holders says how each configured database is. Nil: none is configured.
	Holders func(ctx context.Context) []protocol.Check
	// Login is the entry that starts the tray at login. Its zero value: it is not looked at.
	Login autostart.Config
	// Getenv reads the environment. Nil: an empty one.
	Getenv func(string) string
	// Headless says that no tray is wanted: what only a tray needs is skipped.
	Headless bool
}

// Run looks at everything, side by side, and returns the checks in their order.
func Run(ctx context.Context, cfg Config) []protocol.Check {
	if cfg.Getenv == nil {
		cfg.Getenv = func(string) string { return "" }
	}
	if cfg.Find == nil {
		cfg.Find = func(ctx context.Context) []protocol.FoundServer { return detect.Find(ctx, detect.Config{}) }
	}
	looks := []func(context.Context, Config) []protocol.Check{
		port, names, otherFamily, reach, fingerprint, families, proxies, folders, opener, studio, holders, screen, login,
	}
	found := make([][]protocol.Check, len(looks))
	var all sync.WaitGroup
	for i, look := range looks {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			found[i] = look(ctx, cfg)
		})
	}
	all.Wait()
	var checks []protocol.Check
	for _, some := range found {
		checks = append(checks, some...)
	}
	return checks
}

// Failed says whether anything keeps the companion from its work.
func Failed(checks []protocol.Check) bool {
	for _, c := range checks {
		if c.State == protocol.CheckFailed {
			return true
		}
	}
	return false
}

// finding is a check that has not been named yet.
type finding struct {
	state       protocol.CheckState
	detail, fix string
}

func ok(detail string) finding           { return finding{protocol.CheckOK, detail, ""} }
func warning(detail, fix string) finding { return finding{protocol.CheckWarning, detail, fix} }
func failed(detail, fix string) finding  { return finding{protocol.CheckFailed, detail, fix} }
func skipped(detail string) finding      { return finding{protocol.CheckSkipped, detail, ""} }
func unknown(detail string) finding      { return finding{protocol.CheckUnknown, detail, ""} }

func (f finding) as(id, name string) []protocol.Check {
	return []protocol.Check{{ID: id, Name: name, State: f.state, Detail: f.detail, Fix: f.fix}}
}
