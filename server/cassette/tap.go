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

	"chatwright.dev/tray/server/internal/coding"
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
	// RequestCut says that the request was larger than what could be kept, or not read to its end, so that nothing of it
	// was kept; AnswerCut that only the beginning of the answer is there.
	RequestCut, AnswerCut bool
	// Taken is the room that was asked for.
	Taken int

	query    string
	body     []byte
	headers  map[string]string
	encoding string // that the answer came in, once it is unpacked
	chunks   []Chunk
	whole    bool
	limit    int  // of what is unpacked
	unread   bool // the answer ended before the whole request had gone up; RequestCut is true as well
	secrets  []string
}

// Tape is the call without its secrets, unpacked.
func (h Heard) Tape() Tape {
	h.unpack()
	cut := !h.whole || h.AnswerCut
	return Tape{Version: Version, Request: NewRequest(h.Method, h.Path, h.query, h.body, h.secrets...), Answer: Answer{
		Status: h.Status, Headers: h.headers, Encoding: h.encoding, Chunks: cleanChunks(h.chunks, h.secrets, cut), Truncated: cut,
	}}
}

// cleanChunks takes secrets out of an answer. One of them may stand across two chunks, or be spread over events; in an
// answer that is cut, half of one at its end is one too.
func cleanChunks(chunks []Chunk, secrets []string, cut bool) []Chunk {
	all := Answer{Chunks: chunks}.Bytes()
	return replaced(chunks, merged(append(edits(search(all, secrets, cut)), inEvents(all, secrets, cut)...)))
}

// RoundTrip sends a call and listens.
func (t *Tap) RoundTrip(in *http.Request) (*http.Response, error) {
	heard := Heard{Method: in.Method, Path: strings.TrimPrefix(in.URL.Path, strings.TrimRight(t.Base, "/")), query: in.URL.RawQuery,
		limit: t.Limit, secrets: secretsOf(in)}
	up := in.Clone(in.Context())
	up.Header.Set("Accept-Encoding", coding.None)
	asked := &copied{limit: t.Limit, room: t.Room, length: in.ContentLength}
	if in.Body != nil && in.Body != http.NoBody {
		up.Body = teeBody{in.Body, asked}
	} else {
		asked.whole = true
	}
	began := time.Now()
	answer, err := t.Next.RoundTrip(up)
	if err != nil {
		asked.take(&heard)
		t.Done(heard)
		return nil, err
	}
	heard.Status, heard.headers = answer.StatusCode, kept(answer.Header)
	answer.Body = &tapedBody{from: answer.Body, last: began, limit: t.Limit, room: t.Room, done: func(b *tapedBody) {
		asked.take(&heard)
		heard.chunks, heard.whole, heard.AnswerCut = b.chunks, b.ended, b.cut
		heard.Taken += b.taken
		t.Done(heard)
	}}
	return answer, nil
}

// copied keeps what is read of a request. It is written by the transport, which may go on after the answer has ended.
type copied struct {
	limit  int
	room   func(int) bool
	length int64 // that was announced; -1: none was

	mu    sync.Mutex
	data  []byte
	taken int
	over  bool
	whole bool // it was read to its end
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

// take ends the copying, and says what was read. Half a request is none: no other would ever match it.
func (c *copied) take(h *Heard) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	h.body, h.RequestCut, h.Taken = c.data, c.over, c.taken
	if !c.over && !c.whole && int64(len(c.data)) != c.length {
		h.body, h.RequestCut, h.unread = nil, true, true
	}
}

func (c *copied) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.whole = true
}

type teeBody struct {
	io.ReadCloser
	to *copied
}

func (b teeBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.to.add(p[:n])
	if errors.Is(err, io.EOF) {
		b.to.end()
	}
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
