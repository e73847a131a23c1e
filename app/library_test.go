package app

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/watch"
)

// shelf stands for the copies on disk and the release: what is there, and what an update comes to.
type shelf struct {
	state  *watch.Value[protocol.StudioStatus]
	onDisk string

	mu     sync.Mutex
	update func(ctx context.Context) error
	looks  []time.Time
	closed bool
}

// will says what an update comes to from now on.
func (s *shelf) will(update func(ctx context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.update = update
}

func (s *shelf) looked() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.looks)
}

func (s *shelf) State() *watch.Value[protocol.StudioStatus] { return s.state }
func (s *shelf) Status() protocol.StudioStatus              { return s.state.Get() }
func (s *shelf) Cancel()                                    {}
func (s *shelf) Close()                                     { s.closed = true }
func (s *shelf) Rollback(context.Context) error             { s.serve("0.4.0"); return nil }
func (s *shelf) Refresh()                                   { s.serve(s.onDisk) }

func (s *shelf) Damaged() bool {
	was := s.Status().Version
	s.Refresh()
	if s.Status().Version == was {
		return false
	}
	s.state.Update(func(st protocol.StudioStatus) protocol.StudioStatus {
		st.Error, st.Hint = "Studio "+was+" was changed", "install it again"
		return st
	})
	return true
}

func (s *shelf) serve(version string) {
	s.state.Update(func(st protocol.StudioStatus) protocol.StudioStatus { st.Version = version; return st })
}

func (s *shelf) Update(ctx context.Context, _ bool) error {
	s.mu.Lock()
	s.looks = append(s.looks, time.Now())
	update := s.update
	s.mu.Unlock()
	return update(ctx)
}

func (s *shelf) Prune(context.Context) (protocol.StudioPruned, error) {
	return protocol.StudioPruned{}, nil
}

// A library is a librarian at work in a bubble of fake time.
type library struct {
	*librarian
	shelf  *shelf
	warned []string
	end    func()
}

// open lets a librarian work with a copy of that version on disk ("" for none) and an update that does nothing.
func open(t *testing.T, onDisk string, every time.Duration, change func(*library)) *library {
	t.Helper()
	lib := &library{shelf: &shelf{
		state: watch.New(protocol.StudioStatus{Stage: protocol.StudioIdle}), onDisk: onDisk,
		update: func(context.Context) error { return nil },
	}}
	lib.librarian = &librarian{
		copies: lib.shelf, board: newBoard(parts{phase: protocol.PhaseRunning}), log: slog.New(slog.DiscardHandler), every: every,
		rand: func() float64 { return 0.5 }, warn: func(text string) { lib.warned = append(lib.warned, text) },
		woke: make(chan struct{}, 1), looked: make(chan struct{}),
	}
	if change != nil {
		change(lib)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- lib.Run(ctx) }()
	lib.end = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
	synctest.Wait()
	return lib
}

func (l *library) notices() []protocol.Notice { return l.board.Get().notices }

// pauses are the times between the looks.
func (l *library) pauses() (all []time.Duration) {
	looks := l.shelf.looked()
	for i := 1; i < len(looks); i++ {
		all = append(all, looks[i].Sub(looks[i-1]))
	}
	return all
}

const day = 24 * time.Hour

func nothing(context.Context) error { return nil }
