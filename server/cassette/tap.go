package cassette

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Tap is a RoundTripper that listens to the calls that go through it. What passes is not changed, but that the answer
// is asked for as it is, not compressed, so that it can be read. Next, Limit and Done are required.
type Tap struct {
	// Base is the path of the upstream's base URL.
	Base string
	Next http.RoundTripper
	// Limit bounds each of the two bodies.
	Limit int
	// Room is asked for room before bytes are kept, of one call or of all of them: without it they are not. Nil: there
	// always is room.
	Room func(n int) bool
	// Done gets the call when its answer was closed, or there was none. It runs before the caller is done.
	Done func(Heard)
}

// Heard is a call that has passed, with its secrets.
type Heard struct {
	Method, Path string
	Status       int // 0: there was no answer
	// RequestCut says that the request was larger than what could be kept, so that nothing of it was; AnswerCut that
	// only the beginning of the answer is there.
	RequestCut, AnswerCut bool
	// Taken is the room that was asked for.
	Taken int

	body    []byte
	headers map[string]string
	chunks  []Chunk
	whole   bool
	secrets []string
}

// Tape is the call without its secrets.
func (h Heard) Tape() Tape {
	answer := Answer{Status: h.Status, Headers: h.headers, Chunks: h.chunks, Truncated: !h.whole || h.AnswerCut}
	if h.AnswerCut {
		answer.Chunks = withoutTail(answer, h.secrets)
	}
	answer.Chunks = cleanChunks(answer.Chunks, h.secrets)
	return Tape{Version: Version, Request: NewRequest(h.Method, h.Path, h.body, h.secrets...), Answer: answer}
}

// withoutTail takes away from the end of an answer that was cut what may be half a secret, which no search would find.
func withoutTail(a Answer, secrets []string) []Chunk {
	longest := 0
	for _, secret := range secrets {
		longest = max(longest, len(secret))
	}
	if longest < minSecret {
		return a.Chunks
	}
	all := a.Bytes()
	return []Chunk{newChunk(a.Duration(), all[:max(0, len(all)-longest+1)])}
}

// RoundTrip sends a call and listens.
func (t *Tap) RoundTrip(in *http.Request) (*http.Response, error) {
	heard := Heard{Method: in.Method, Path: strings.TrimPrefix(in.URL.Path, strings.TrimRight(t.Base, "/")), secrets: secretsOf(in)}
	up := in.Clone(in.Context())
	up.Header.Del("Accept-Encoding")
	asked := &copied{limit: t.Limit, room: t.Room}
	if in.Body != nil && in.Body != http.NoBody {
		up.Body = teeBody{in.Body, asked}
	}
	began := time.Now()
	answer, err := t.Next.RoundTrip(up)
	if err != nil {
		_, _, heard.Taken = asked.take()
		t.Done(heard)
		return nil, err
	}
	heard.Status, heard.headers = answer.StatusCode, kept(answer.Header)
	answer.Body = &tapedBody{from: answer.Body, last: began, limit: t.Limit, room: t.Room, done: func(b *tapedBody) {
		var taken int
		heard.body, heard.RequestCut, taken = asked.take()
		heard.chunks, heard.whole, heard.AnswerCut, heard.Taken = b.chunks, b.ended, b.cut, taken+b.taken
		t.Done(heard)
	}}
	return answer, nil
}

// CloseIdleConnections lets whoever holds the tap empty the pool behind it.
func (t *Tap) CloseIdleConnections() {
	if pool, ok := t.Next.(interface{ CloseIdleConnections() }); ok {
		pool.CloseIdleConnections()
	}
}

// copied keeps what is read of a request. It is written by the transport, which may go on after the answer has ended.
type copied struct {
	limit int
	room  func(int) bool

	mu    sync.Mutex
	data  []byte
	taken int
	over  bool
	ended bool // nobody looks any more
}

func (c *copied) add(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.ended || len(p) == 0 {
		return
	}
	if len(c.data)+len(p) > c.limit || c.room != nil && !c.room(len(p)) {
		c.over, c.data = true, nil
		return
	}
	c.taken += len(p)
	c.data = append(c.data, p...)
}

// take ends the copying.
func (c *copied) take() (data []byte, over bool, taken int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	return c.data, c.over, c.taken
}

type teeBody struct {
	io.ReadCloser
	to *copied
}

func (b teeBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.to.add(p[:n])
	return n, err
}

// chunkRoom is what a chunk takes besides its bytes.
const chunkRoom = 64

// tapedBody notes what is read of an answer and when.
type tapedBody struct {
	from   io.ReadCloser
	last   time.Time
	limit  int
	room   func(int) bool
	chunks []Chunk
	size   int
	taken  int
	cut    bool
	ended  bool // by its own end
	once   sync.Once
	done   func(*tapedBody)
}

func (b *tapedBody) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if n > 0 && !b.cut {
		b.keep(p[:n])
	}
	if errors.Is(err, io.EOF) {
		b.ended = true
	}
	return n, err
}

// keep keeps a chunk, or as much of it as the limit leaves.
func (b *tapedBody) keep(p []byte) {
	if over := b.size + len(p) - b.limit; over > 0 {
		p, b.cut = p[:len(p)-over], true
	}
	if b.room != nil && !b.room(len(p)+chunkRoom) {
		b.cut = true
		return
	}
	now := time.Now()
	b.chunks = append(b.chunks, newChunk(now.Sub(b.last), p))
	b.last, b.size, b.taken = now, b.size+len(p), b.taken+len(p)+chunkRoom
}

func (b *tapedBody) Close() error {
	err := b.from.Close()
	b.once.Do(func() { b.done(b) })
	return err
}

// Size is about what the tape takes in memory.
func (t Tape) Size() int {
	size := len(t.Request.Body) + len(t.Request.BodyText) + len(t.Request.BodyBase64)
	for _, c := range t.Answer.Chunks {
		size += len(c.Text) + len(c.Base64) + chunkRoom
	}
	return size
}

// Text is the body of a request, JSON in its canonical form.
func (r Request) Text() string {
	var compact bytes.Buffer
	if r.Body != nil && json.Compact(&compact, r.Body) == nil { // a file has it indented
		return compact.String()
	}
	return r.BodyText + strings.ToValidUTF8(string(r.BodyBase64), "\ufffd")
}

// IsEmpty says that a request has no body, or that it could not be kept.
func (r Request) IsEmpty() bool {
	return len(r.Body)+len(r.BodyText)+len(r.BodyBase64) == 0
}
