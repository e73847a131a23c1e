// Package session holds conversations with models. A session is an append-only log of events, written to a record
// before anybody sees them; clients follow it from a cursor and come and go.
package session

import (
	"context"
	"time"

	"chatwright.dev/tray/server/protocol"
)

// Config is what a Manager needs. Dir and Model are required.
type Config struct {
	// Dir is the folder of the records. It is made, 0700, when it is missing.
	Dir string
	// Model answers the calls of turns.
	Model Model
	// MaxAge is how long a record is kept after its last event. Zero: 30 days.
	MaxAge time.Duration
	// MaxBytes is what all records together may take. Zero: 512 MiB.
	MaxBytes int64
	// Keep is how many of the newest records stay whatever the bounds say. Zero: 10.
	Keep int
	// Log hears of what nobody else is told of, one line each. Nil: silent.
	Log func(string)
}

// Manager holds the sessions of one daemon. It is safe for concurrent use.
type Manager struct{}

// Open returns a Manager over the records of cfg.Dir. Sessions that were running when the daemon last ended are marked
// interrupted. The caller holds the lock of the instance: nobody else writes there.
func Open(cfg Config) (*Manager, error) { panic("not yet") }

// Run waits until ctx ends, then interrupts the turns that run, waits for them, and returns nil. No turn begins after
// that.
func (m *Manager) Run(ctx context.Context) error { panic("not yet") }

// Create begins a session.
func (m *Manager) Create(req protocol.CreateSessionRequest) (*Session, error) { panic("not yet") }

// Get returns a live session, or nil.
func (m *Manager) Get(id string) *Session { panic("not yet") }

// Live returns the live sessions in the order of their creation.
func (m *Manager) Live() []*Session { panic("not yet") }

// Changed is closed when a session next begins, ends, is renamed, or begins or ends a turn.
func (m *Manager) Changed() <-chan struct{} { panic("not yet") }

// List returns the live sessions in the order of their creation; with recorded, then those that are only on disk, newest
// first. A workspace that is not "" leaves out those of others.
func (m *Manager) List(recorded bool, workspace string) ([]protocol.Session, error) { panic("not yet") }

// Info returns a session, live or recorded.
func (m *Manager) Info(id string) (protocol.Session, error) { panic("not yet") }

// After returns events of a session, live or recorded, that follow seq.
func (m *Manager) After(id string, seq uint64, limit int) (Page, error) { panic("not yet") }

// Rename names a session, live or recorded.
func (m *Manager) Rename(id, name string) error { panic("not yet") }

// Delete ends a session; with purge, its record goes too.
func (m *Manager) Delete(ctx context.Context, id string, purge bool) error { panic("not yet") }
