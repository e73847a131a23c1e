package cassette

import (
	"errors"
	"io"
	"maps"

	"chatwright.dev/tray/server/internal/coding"
)

// unpack takes the content coding from what was heard, so that it can be read, and searched for secrets. Each chunk then
// holds what could be unpacked once it had come. What is not known, or is no such coding, stays as it came.
func (h *Heard) unpack() {
	name := coding.Clean(h.headers["Content-Encoding"])
	if !coding.Knows(name) {
		return
	}
	from := &packed{chunks: h.chunks}
	plain, tooLarge, err := from.unpack(name, h.limit)
	if cut := !h.whole || h.AnswerCut; err != nil && (!cut || !errors.Is(err, io.ErrUnexpectedEOF)) {
		return
	}
	h.headers = maps.Clone(h.headers)
	delete(h.headers, "Content-Encoding")
	h.encoding, h.chunks, h.AnswerCut = name, plain, h.AnswerCut || tooLarge
}

// packed gives the bytes of chunks, one chunk at a time.
type packed struct {
	chunks []Chunk
	next   int    // the first that nothing was read of
	rest   []byte // of the one before that
}

func (p *packed) Read(to []byte) (int, error) {
	for len(p.rest) == 0 {
		if p.next == len(p.chunks) {
			return 0, io.EOF
		}
		p.rest = p.chunks[p.next].Bytes()
		p.next++
	}
	n := copy(to, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// unpack returns what each chunk added, and whether that was more than limit. After an error it is what came before.
func (p *packed) unpack(name string, limit int) (plain []Chunk, tooLarge bool, err error) {
	body := coding.Open(name, io.NopCloser(p))
	defer func() { _ = body.Close() }()
	added := make([][]byte, len(p.chunks))
	buffer, size := make([]byte, 8<<10), 0
	for err == nil && !tooLarge {
		var n int
		n, err = body.Read(buffer)
		if over := size + n - limit; over > 0 {
			n, tooLarge = n-over, true
		}
		size += n
		if at := max(p.next-1, 0); n > 0 {
			added[at] = append(added[at], buffer[:n]...)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	for i, c := range p.chunks {
		one := newChunk(0, added[i])
		one.AfterMs = c.AfterMs
		plain = append(plain, one)
	}
	return plain, tooLarge, err
}
