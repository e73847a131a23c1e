package proxy

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// tellingKey is the length from which on a key is looked for: what is shorter tells nothing, and would blank out words.
const tellingKey = 8

// maskKey blanks out the key of a profile in an answer, trailers included. Callers do not know the key that goes up with
// their calls, and some servers repeat what they refuse; what is no model server may repeat the whole request. Each byte
// of a key becomes a "*", so lengths stay true. All other answers pass as they are.
func maskKey(answer *http.Response, key string) {
	if len(key) < tellingKey {
		return
	}
	maskHeader(answer.Header, key)
	answer.Body = &maskedBody{from: answer.Body, answer: answer, key: []byte(key)}
}

func maskHeader(h http.Header, key string) {
	for _, values := range h {
		for i, value := range values {
			values[i] = strings.ReplaceAll(value, key, strings.Repeat("*", len(key)))
		}
	}
}

// maskBuffer is how much of a keyed answer is read at once: as much as of any stream.
const maskBuffer = streamBuffer

// maskedBody reads an answer without the key. It holds back only what may be the beginning of one.
type maskedBody struct {
	from   io.ReadCloser
	answer *http.Response
	key    []byte

	room  []byte // what is read into
	buf   []byte // what was read and is not handed on
	ready int    // so much of it may be
	err   error  // what came behind it
}

func (m *maskedBody) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for m.ready == 0 {
		if m.err != nil {
			if len(m.buf) == 0 {
				return 0, m.err
			}
			if m.ready = len(m.buf); m.ready >= tellingKey { // cut short, a key still tells
				blank(m.buf)
			}
			break
		}
		m.fill()
	}
	n := copy(p, m.buf[:m.ready])
	m.buf, m.ready = m.buf[n:], m.ready-n
	return n, nil
}

// fill reads once, behind what is held back.
func (m *maskedBody) fill() {
	if m.room == nil {
		m.room = make([]byte, maskBuffer+len(m.key))
	}
	held := copy(m.room, m.buf)
	n, err := m.from.Read(m.room[held:])
	m.buf, m.err = m.room[:held+n], err
	if err != nil {
		maskHeader(m.answer.Trailer, string(m.key))
	}
	for rest := m.buf; ; {
		at := bytes.Index(rest, m.key)
		if at < 0 {
			break
		}
		blank(rest[at : at+len(m.key)])
		rest = rest[at+len(m.key):]
	}
	m.ready = len(m.buf) - m.begun()
}

func blank(p []byte) {
	for i := range p {
		p[i] = '*'
	}
}

// begun is how many bytes at the end may be the beginning of a key.
func (m *maskedBody) begun() int {
	for n := min(len(m.key)-1, len(m.buf)); n > 0; n-- {
		if bytes.HasSuffix(m.buf, m.key[:n]) {
			return n
		}
	}
	return 0
}

func (m *maskedBody) Close() error { return m.from.Close() }
