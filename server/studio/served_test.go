package studio_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/studio"
)

// served collects what a keeper says is to be served, as "version (others)".
type served struct {
	mu   sync.Mutex
	list []string
}

func (s *served) serve(c studio.Copy, others []studio.Copy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	words := []string{c.Version}
	for _, other := range others {
		words = append(words, other.Version)
	}
	s.list = append(s.list, strings.Join(words, " "))
}

func (s *served) wants(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.list, want) {
		t.Errorf("served: got %q, want %q", s.list, want)
	}
}

func keep(t *testing.T, s *studio.Store) (*studio.Keeper, *served) {
	t.Helper()
	seen := &served{}
	k := studio.NewKeeper(s, seen.serve)
	t.Cleanup(k.Close)
	k.Refresh()
	return k, seen
}

func codeOf(err error) protocol.ErrorCode {
	if coded, ok := errors.AsType[interface {
		error
		ErrorCode() protocol.ErrorCode
	}](err); ok {
		return coded.ErrorCode()
	}
	return ""
}

// until waits for a state.
func until(t *testing.T, k *studio.Keeper, what string, ok func(protocol.StudioStatus) bool) protocol.StudioStatus {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		now, changed := k.State().Watch()
		if ok(now) {
			return now
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("waited for %s, got %+v", what, now)
		}
	}
}

// stalled publishes 1.1.0 with a download that stops after 30 kB, and returns what lets it go on.
func stalled(t *testing.T, r *release) (goOn func()) {
	t.Helper()
	server, _ := resumable(t, r, "1.1.0")
	server.breaks(-1, true)
	r.serve(answer(manifest("1.1.0", hash([]byte(server.body)), 1)), nil)
	return func() { server.set(func(f *fileServer) { f.cuts = 0 }) }
}
