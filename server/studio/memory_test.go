package studio_test

import (
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"chatwright.dev/tray/server/studio"
)

// The download is streamed to the disk and never held: memory grows by at most 8 MiB for 60 MiB.
func TestAStreamedDownloadTakesNoMemory(t *testing.T) {
	const size = 60 << 20
	r := newRelease(t)
	r.serve(answer(manifest("1.0.0", strings.Repeat("ab", 32), 1)), func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "62914560")
		_, _ = io.CopyN(w, zeroes{}, size)
	})
	s, _ := open(t, r.URL, nil)
	runtime.GC()
	before := memory()
	var most atomic.Uint64
	_, err := s.Update(t.Context(), studio.UpdateOptions{Progress: func(p studio.Progress) {
		if p.Received%(1<<20) == 0 {
			most.Store(max(most.Load(), memory()))
		}
	}})
	if !errors.Is(err, studio.ErrDownload) || !strings.Contains(err.Error(), "its sha256 is") {
		t.Fatalf("got %v, want all of it to have come, and to be refused", err)
	}
	grown := float64(most.Load()-min(before, most.Load())) / (1 << 20)
	t.Logf("memory grew by %.1f MiB", grown)
	if grown > 8 {
		t.Errorf("memory grew by %.1f MiB in a download of 60 MiB, want at most 8", grown)
	}
}

// memory is what this process has in use of the system's, the garbage included.
func memory() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse + stats.StackInuse
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }
