package history

import (
	"sync"

	"chatwright.dev/tray/server/protocol"
)

// keptStorage is how many calls' room the buffer keeps after a flood.
const keptStorage = 1024

// A buffer is where calls wait for the writer. It grows with what waits in it, up to its limit.
type buffer struct {
	limit int
	wake  chan struct{} // capacity 1: there is something to write; again when the buffer is half full

	mu      sync.Mutex
	calls   []protocol.Call
	taken   int // with the writer, and not yet in the file
	dropped int64
}

func (b *buffer) add(c protocol.Call) {
	b.mu.Lock()
	if len(b.calls)+b.taken >= b.limit {
		b.dropped++
		b.mu.Unlock()
		return
	}
	b.calls = append(b.calls, c)
	n := len(b.calls)
	b.mu.Unlock()
	if n == 1 || n == b.limit/2 {
		select {
		case b.wake <- struct{}{}:
		default: // the writer has not even heard the last one
		}
	}
}

// take adds all that waits to batch, which holds what take returned before and could not be written.
func (b *buffer) take(batch []protocol.Call) []protocol.Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(batch) == 0 { // the usual case copies nothing while callers wait
		batch, b.calls = b.calls, batch
	} else {
		batch = append(batch, b.calls...)
		clear(b.calls)
		b.calls = b.calls[:0]
	}
	b.taken = len(batch)
	return batch
}

// written gives back a batch that is in the file, and returns the empty storage.
func (b *buffer) written(batch []protocol.Call) []protocol.Call {
	b.mu.Lock()
	b.taken = 0
	b.mu.Unlock()
	if cap(batch) > keptStorage {
		return nil
	}
	clear(batch) // the strings in it are not ours to keep
	return batch[:0]
}

// lose counts a batch that will never be written.
func (b *buffer) lose(batch []protocol.Call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken = 0
	b.dropped += int64(len(batch))
}

func (b *buffer) halfFull() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.calls) >= b.limit/2
}

func (b *buffer) droppedSoFar() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dropped
}
