// Package session holds conversations with models. A session is an append-only log of events: each is numbered, written
// to the record and only then shown, under one lock. Followers read on from a cursor, out of memory or out of the
// record, so that no queue can overflow and a slow one delays nobody.
//
//	manager.go   the sessions of one daemon      record.go        the file of a session, as its writer sees it
//	session.go   the log of one                  reader.go        the same file, read whatever became of it
//	turn.go      a message and its answer        conversation.go  what a model hears, read from the record
//	resume.go    a new session from an old one   recover.go       what the last daemon left unfinished
//	summary.go   what a record says about itself prune.go         which records go
//
// What a turn asks, Model answers; this package knows of no upstream and no HTTP.
package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/policy"
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
	// Grace is how long turns may go on once Run's ctx has ended. Zero: they are interrupted at once.
	Grace time.Duration
	// Abort, once closed, ends what is left of the grace. Nil: never.
	Abort <-chan struct{}
	// Clock tells the time of events and ids. Nil: time.Now.
	Clock func() time.Time
	// Log hears of what nobody else is told of, one line each. Nil: silent.
	Log func(string)
}

// Manager holds the sessions of one daemon. It is safe for concurrent use.
type Manager struct {
	cfg     Config
	running sync.WaitGroup // turns

	mu        sync.Mutex
	live      map[string]*Session
	making    map[string]bool // ids of those whose record is being begun
	newest    time.Time       // of the ids that were given out
	ending    bool
	changed   chan struct{}      // nil while nobody waits
	summaries map[string]summary // of records that nobody writes, by id

	// disk is held while a record is written that no live session owns, and while records are removed.
	disk sync.Mutex
}

// Open returns a Manager over the records of cfg.Dir. Sessions that were running when the daemon last ended are marked
// interrupted. The caller holds the lock of the instance: nobody else writes there.
func Open(cfg Config) (*Manager, error) {
	if cfg.MaxAge == 0 {
		cfg.MaxAge = 30 * 24 * time.Hour
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 512 << 20
	}
	if cfg.Keep == 0 {
		cfg.Keep = 10
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = func(string) {}
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, hint.With(fmt.Errorf("making the folder of sessions: %w", err), "make it yourself, or name another with --state-dir")
	}
	if err := os.Chmod(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of sessions private: %w", err)
	}
	m := &Manager{cfg: cfg, live: make(map[string]*Session), making: make(map[string]bool), summaries: make(map[string]summary)}
	ids, err := m.recorded()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		// Ids go on after the newest there is, even when the clock went back.
		if at, ok := timeOfID(id); ok && at.After(m.newest) {
			m.newest = at
		}
		if err := m.recover(id); err != nil {
			cfg.Log("session " + id + ": taking up its record: " + err.Error())
		}
	}
	m.removeOrphans()
	return m, nil
}

// Run waits until ctx ends. From then on no turn begins; those that run have the grace, are interrupted at its end and
// waited for, and the records are as they stay. It returns nil.
func (m *Manager) Run(ctx context.Context) error {
	<-ctx.Done()
	m.mu.Lock()
	m.ending = true
	m.mu.Unlock()
	m.drain()
	for _, s := range m.Live() {
		s.rest()
	}
	return nil
}

// drain returns when no turn runs any more.
func (m *Manager) drain() {
	done := make(chan struct{})
	go func() { defer close(done); m.running.Wait() }()
	grace := time.NewTimer(m.cfg.Grace)
	defer grace.Stop()
	select {
	case <-done:
		return
	case <-grace.C:
	case <-m.cfg.Abort:
	}
	for _, s := range m.Live() {
		s.Interrupt()
	}
	<-done
}

// begin counts a turn that begins, unless the daemon is ending.
func (m *Manager) begin() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ending {
		return false
	}
	m.running.Add(1)
	return true
}

func (m *Manager) now() time.Time { return m.cfg.Clock().Round(0) }

func (m *Manager) path(id string) string { return filepath.Join(m.cfg.Dir, id+recordSuffix) }

// Create begins a session. With req.Resume it carries on the conversation of another, which stays as it is.
func (m *Manager) Create(req protocol.CreateSessionRequest) (*Session, error) {
	var source *source
	if req.Resume != "" {
		var err error
		if source, err = m.openSource(req.Resume); err != nil {
			return nil, err
		}
		req = source.complete(req)
	}
	if err := CheckWorkspace(req.Workspace); err != nil {
		if source != nil { // whose folder went since then
			err = hint.With(err, "name another: chatwright-tray session new FOLDER --resume "+source.id)
		}
		return nil, err
	}
	if req.SandboxMode == "" {
		req.SandboxMode = string(policy.ReadOnly)
	}
	if !policy.SandboxMode(req.SandboxMode).Valid() {
		return nil, invalid("sandbox_mode: %q is none of %q", req.SandboxMode, policy.SandboxModes())
	}
	if len(req.Model) > 256 || len(req.Upstream) > 64 || strings.ContainsFunc(req.Model+req.Upstream, unicode.IsControl) {
		return nil, invalid("the name of a model has at most 256 bytes, that of an upstream 64, and no control characters")
	}
	s := &Session{manager: m, createdAt: m.now(), about: protocol.SessionCreated{
		Workspace: filepath.Clean(req.Workspace), Model: req.Model, Upstream: req.Upstream, SandboxMode: req.SandboxMode,
	}}
	err := m.record(s, source)
	m.mu.Lock()
	delete(m.making, s.id)
	if err == nil {
		m.live[s.id] = s
	}
	m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	m.wake()
	m.prune()
	return s, nil
}

// record gives a session its id and its record, with the first events in it.
func (m *Manager) record(s *Session, source *source) (err error) {
	s.id = m.nextID(s.createdAt)
	if s.rec, err = createRecord(m.path(s.id)); err != nil {
		return fmt.Errorf("making the record of a session: %w", withoutPath(err))
	}
	drafts := []draft{{protocol.EventSessionCreated, s.createdAt, s.about}}
	if source != nil {
		drafts, err = source.drafts(s)
	}
	if err == nil {
		s.mu.Lock()
		err = s.append(drafts...)
		s.trim(idleWindow)
		s.mu.Unlock()
	}
	if err != nil {
		_ = removeRecord(s.rec.path)
	}
	return err
}

// nextID returns an id that sorts after all before it, whatever the clock does.
func (m *Manager) nextID(at time.Time) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	at = at.Truncate(time.Millisecond)
	if !at.After(m.newest) {
		at = m.newest.Add(time.Millisecond)
	}
	m.newest = at
	id := makeID(at)
	m.making[id] = true
	return id
}

// CheckWorkspace refuses what is no folder, or not always the same one.
func CheckWorkspace(path string) error {
	if !filepath.IsAbs(path) {
		return &Error{protocol.CodeWorkspace, fmt.Sprintf("workspace: %q is not an absolute path", path)}
	}
	info, err := os.Stat(path)
	if err != nil {
		return &Error{protocol.CodeWorkspace, fmt.Sprintf("workspace: %s: %v", path, withoutPath(err))}
	}
	if !info.IsDir() {
		return &Error{protocol.CodeWorkspace, fmt.Sprintf("workspace: %s is not a folder", path)}
	}
	return nil
}

// Get returns a live session, or nil.
func (m *Manager) Get(id string) *Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.live[id]
}

// owned reports whether a record has a writer: its session is live, or about to be.
func (m *Manager) owned(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.live[id] != nil || m.making[id]
}

// Live returns the live sessions in the order of their creation.
func (m *Manager) Live() []*Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	sessions := make([]*Session, 0, len(m.live))
	for _, s := range m.live {
		sessions = append(sessions, s)
	}
	slices.SortFunc(sessions, func(a, b *Session) int { return strings.Compare(a.id, b.id) })
	return sessions
}

// Changed is closed when a session next begins, ends, is renamed, or begins or ends a turn.
func (m *Manager) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changed == nil {
		m.changed = make(chan struct{})
	}
	return m.changed
}

func (m *Manager) wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

// Dir is the folder of the records.
func (m *Manager) Dir() string { return m.cfg.Dir }
