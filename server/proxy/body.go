package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"chatwright.dev/tray/server/internal/httpx"
	"chatwright.dev/tray/server/proxy/internal/meter"
)

// keepBody is how much of a request body is read before it goes up. A body within it is known whole: its model before
// the call begins, and its bytes should they have to be sent once more.
const keepBody = 1 << 20

// requestBody is the body of a call: it counts, caps and reads what passes. After readHead the transport reads it, from
// a goroutine of its own that may outlive the call.
type requestBody struct {
	from    io.Reader
	limit   int64
	request *meter.Request

	head  []byte // what readHead has read
	whole bool   // that is all of it
	asks  []byte // goes up in its place: it asks for the usage; nil: the body goes up as it came

	mu     sync.Mutex
	n      int64
	read   time.Time // when the last bytes came; at first, when the call did
	waited time.Duration
	err    error // the caller's body could not be read
	closed bool  // the call is over: what still reads gets nothing
}

var errBodyClosed = errors.New("the call is over")

// readHead reads the first part of the body: all of it, or more than keepBody.
func (b *requestBody) readHead(length int64) error {
	size := int64(4 << 10)
	if 0 <= length && length < 64<<10 {
		size = length + 1 // room to see the end without growing
	}
	buf := make([]byte, 0, size)
	for {
		n, err := b.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case errors.Is(err, io.EOF):
			b.head, b.whole = buf, true
			return nil
		case err != nil:
			return err
		case len(buf) > keepBody:
			b.head = buf
			return nil
		case len(buf) == cap(buf):
			grown := make([]byte, len(buf), min(2*cap(buf), keepBody+1))
			copy(grown, buf)
			buf = grown
		}
	}
}

// kept is what goes up of what readHead has read.
func (b *requestBody) kept() []byte {
	if b.asks != nil {
		return b.asks
	}
	return b.head
}

// reader returns what the caller said: the head and, if that is not all, the rest as rest gives it.
func (b *requestBody) reader(rest io.ReadCloser) io.ReadCloser {
	head := bytes.NewReader(b.head)
	if b.whole {
		return io.NopCloser(head) // the transport knows what is in memory, and sends it in one piece
	}
	b.from = rest
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(head, b), rest}
}

// Read reads from the caller.
func (b *requestBody) Read(p []byte) (int, error) {
	start := b.lastRead()
	n, err := b.from.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, errBodyClosed
	}
	b.read = time.Now()
	b.waited += b.read.Sub(start)
	b.n += int64(n)
	if b.n > b.limit {
		b.err = &httpx.TooLargeError{Limit: b.limit}
		return 0, b.err
	}
	b.request.Write(p[:n])
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = fmt.Errorf("reading request body: %w", err)
		return n, b.err
	}
	return n, err
}

// lastRead is when waiting for the next bytes begins. For the first ones that is when the call came, which saves looking
// at the clock: clocks are dear in some virtual machines, and most bodies come in one read.
func (b *requestBody) lastRead() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n == 0 {
		return b.read
	}
	return time.Now()
}

// streamed says whether the caller asked for a stream, as far as the body has passed.
func (b *requestBody) streamed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.request.Stream
}

// failure is what went wrong on the caller's side, if anything did.
func (b *requestBody) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// waitedFor is how long the caller's bytes were waited for.
func (b *requestBody) waitedFor() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waited
}

// close ends the body. Nothing is written to it or its request any more.
func (b *requestBody) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}
