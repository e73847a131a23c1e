// Package capture keeps what is said in calls, for the user who wants to see it: request and answer of each, without
// their secrets, in a store that is bounded and forgets the oldest first. It is off unless somebody switches it on.
//
// In memory nothing outlives the process. On disk each call is a file in the format of package cassette, for its owner's
// eyes alone, which can be replayed. Switching it off keeps what is there; Forget removes it.
//
// A call never waits for any of this: what it said is put aside as it passes, and made into a recording afterwards, by
// Run or by whoever asks first.
package capture

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"chatwright.dev/tray/server/cassette"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

// The bounds of Config's zero value.
const (
	defaultMemory = 64 << 20
	defaultDisk   = 512 << 20
	defaultBody   = 16 << 20
)

// Config says where a Store keeps what it hears, and how much.
type Config struct {
	// Folder is for what is kept on disk; it is made 0700, its files 0600. Empty: CaptureDisk is refused.
	Folder string
	// MemoryLimit and DiskLimit bound what is kept, in bytes. Zero: 64 MiB and 512 MiB.
	MemoryLimit, DiskLimit int64
	// BodyLimit bounds what is kept of each request and of each answer. Zero: 16 MiB.
	BodyLimit int
	// Log hears what could not be kept. Nil: silent.
	Log *slog.Logger
}

// Store is what was kept. Make one with New; it is safe for concurrent use, and Run may be called once.
type Store struct {
	cfg  Config
	mode atomic.Pointer[protocol.CaptureMode]
	wake chan struct{} // capacity 1: something was heard

	taken   atomic.Int64 // by calls in flight, and by those in queue
	forgets atomic.Int64 // how often everything was forgotten: a call in flight then is not kept

	settling sync.Mutex // held while what was heard is made into recordings; before mu
	mu       sync.Mutex
	queue    []heard
	memory   shelf[cassette.Tape]
	disk     shelf[struct{}] // the files hold the rest
	loaded   bool            // disk is what was in the folder as well
}

// heard is a call that waits to be kept.
type heard struct {
	id      string
	mode    protocol.CaptureMode
	forgets int64 // when it began
	cassette.Heard
}

// New returns a Store that is off. It touches no file.
func New(cfg Config) *Store {
	if cfg.MemoryLimit <= 0 {
		cfg.MemoryLimit = defaultMemory
	}
	if cfg.DiskLimit <= 0 {
		cfg.DiskLimit = defaultDisk
	}
	if cfg.BodyLimit <= 0 {
		cfg.BodyLimit = defaultBody
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{cfg: cfg, wake: make(chan struct{}, 1)}
	s.memory.limit, s.disk.limit = cfg.MemoryLimit, cfg.DiskLimit
	s.setMode(protocol.CaptureOff)
	return s
}

func (s *Store) setMode(m protocol.CaptureMode) { s.mode.Store(&m) }

// Mode says what is done with calls that begin now.
func (s *Store) Mode() protocol.CaptureMode { return *s.mode.Load() }

// SetMode says what is to be done with calls that begin from now on. What was kept before stays.
func (s *Store) SetMode(m protocol.CaptureMode) error {
	if m == protocol.CaptureDisk {
		if err := s.makeFolder(); err != nil {
			return hint.With(err, "keep it in memory instead, or mend the folder")
		}
	}
	s.setMode(m)
	return nil
}

// Tap stands between the proxy and the transport of an upstream; while the store is off it is that transport.
func (s *Store) Tap(id string, target *upstream.Target, next http.RoundTripper) http.RoundTripper {
	mode := s.Mode()
	if mode == protocol.CaptureOff {
		return next
	}
	forgets := s.forgets.Load()
	return &cassette.Tap{
		Base: target.BaseURL.Path, Next: next, Limit: s.cfg.BodyLimit, Room: s.room,
		Done: func(h cassette.Heard) { s.hear(heard{id, mode, forgets, h}) },
	}
}

// room gives room for n bytes that were not yet put where they are kept. Half of what memory may hold is enough for
// that; beyond, calls are not heard.
func (s *Store) room(n int) bool {
	if s.taken.Add(int64(n)) <= s.cfg.MemoryLimit/2 {
		return true
	}
	s.taken.Add(int64(-n))
	return false
}

// hear puts a call aside. It runs before its caller is done, so it does no work.
func (s *Store) hear(h heard) {
	if h.Status == 0 { // there was no answer
		s.taken.Add(int64(-h.Taken))
		return
	}
	s.mu.Lock()
	s.queue = append(s.queue, h)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run keeps what is heard until ctx ends, and what was heard until then.
func (s *Store) Run(ctx context.Context) error {
	s.settle()
	for {
		select {
		case <-ctx.Done():
			s.settle()
			return nil
		case <-s.wake:
			s.settle()
		}
	}
}

// settle keeps all that was heard so far.
func (s *Store) settle() {
	s.settling.Lock()
	defer s.settling.Unlock()
	s.load()
	for {
		s.mu.Lock()
		waiting := s.queue
		s.queue = nil
		s.mu.Unlock()
		if len(waiting) == 0 {
			return
		}
		for _, h := range waiting {
			if h.forgets == s.forgets.Load() {
				s.keep(h)
			}
			s.taken.Add(int64(-h.Taken))
		}
	}
}

// keep keeps one call where its mode says; in memory where the disk does not take it.
func (s *Store) keep(h heard) {
	tape := h.Tape()
	if h.mode == protocol.CaptureDisk {
		err := s.write(h.id, tape)
		if err == nil {
			return
		}
		s.cfg.Log.Warn("what was said in a call was not written to disk; it is kept in memory", "err", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory.put(h.id, int64(tape.Size()), tape)
}

// State says how much is kept.
func (s *Store) State() protocol.CaptureState {
	s.settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	state := protocol.CaptureState{
		Mode: s.Mode(), Kept: len(s.memory.items) + len(s.disk.items), Bytes: s.memory.size + s.disk.size, LimitBytes: s.memory.limit,
	}
	if state.Mode == protocol.CaptureDisk {
		state.LimitBytes = s.disk.limit
	}
	return state
}

// Call returns what was said in a call; false when that was not kept.
func (s *Store) Call(id string) (protocol.CapturedCall, bool) {
	tape, ok := s.tape(id)
	if !ok {
		return protocol.CapturedCall{}, false
	}
	return protocol.CapturedCall{
		Request: tape.Request.Text(), Answer: strings.ToValidUTF8(string(tape.Answer.Bytes()), "\ufffd"),
		RequestTruncated: tape.Request.IsEmpty(), AnswerTruncated: tape.Answer.Truncated,
	}, true
}

// Cassette returns a call as a recording that can be replayed, with a name for its file; false when it was not kept.
func (s *Store) Cassette(id string) (name string, data []byte, ok bool, err error) {
	tape, ok := s.tape(id)
	switch {
	case !ok:
		return "", nil, false, nil
	case tape.Request.IsEmpty():
		return "", nil, true, hint.With(errors.New("the request was too large to be kept, and without it nothing can be replayed"),
			"record the call instead: chatwright-tray --record FOLDER")
	}
	data, err = cassette.Marshal(tape)
	return id + fileEnd, data, true, err
}

func (s *Store) tape(id string) (cassette.Tape, bool) {
	s.settle()
	s.mu.Lock()
	tape, ok := s.memory.get(id)
	_, onDisk := s.disk.get(id)
	s.mu.Unlock()
	if ok || !onDisk {
		return tape, ok
	}
	tape, err := s.read(id)
	if err != nil {
		s.cfg.Log.Warn("what was said in a call cannot be read", "err", err)
		return cassette.Tape{}, false
	}
	return tape, true
}

// Forget removes all that was kept, and what calls in flight have said.
func (s *Store) Forget() error {
	s.forgets.Add(1)
	s.settling.Lock()
	defer s.settling.Unlock()
	s.load()
	s.mu.Lock()
	s.memory.clear()
	gone := s.disk.clear()
	s.mu.Unlock()
	if err := s.remove(gone); err != nil {
		s.loaded = false // what could not be removed is found again, to be shown and to be removed the next time
		return err
	}
	return nil
}
