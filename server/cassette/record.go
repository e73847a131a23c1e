package cassette

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/wholefile"
)

// maxRecorded bounds each body that is recorded. A call with a larger one passes and is not recorded.
const maxRecorded = 32 << 20

var errTooLarge = fmt.Errorf("it is larger than %d MiB", maxRecorded>>20)

// Recorder writes calls into a folder.
type Recorder struct {
	folder string
	log    *slog.Logger
	mu     sync.Mutex // one file name is looked for at a time

	// Done is told of each call that ended, with nil when it was recorded and else with what kept it from being. It is
	// set before the first call; NewRecorder has it tell nobody.
	Done func(error)
}

// NewRecorder returns a recorder that writes into folder, which it makes where it is missing.
func NewRecorder(folder string, log *slog.Logger) (*Recorder, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, hint.With(fmt.Errorf("making the folder of recordings: %w", err), "name another with --record")
	}
	try, err := os.CreateTemp(folder, ".try-*") // now, and not when the first call has been made
	if err != nil {
		return nil, hint.With(fmt.Errorf("writing into the folder of recordings: %w", err), "name another with --record")
	}
	_ = try.Close()
	if err := os.Remove(try.Name()); err != nil {
		return nil, fmt.Errorf("writing into the folder of recordings: %w", err)
	}
	return &Recorder{folder: folder, log: log, Done: func(error) {}}, nil
}

// Wrap returns a RoundTripper that sends calls through next and records them. base is the path of the upstream's base
// URL. The answer is asked for as it is, not compressed, so that the file can be read.
func (r *Recorder) Wrap(base string, next http.RoundTripper) http.RoundTripper {
	return recording{r, strings.TrimRight(base, "/"), next}
}

type recording struct {
	recorder *Recorder
	base     string
	next     http.RoundTripper
}

func (r recording) RoundTrip(in *http.Request) (*http.Response, error) {
	up := in.Clone(in.Context())
	up.Header.Del("Accept-Encoding")
	asked := &copied{}
	if in.Body != nil && in.Body != http.NoBody {
		up.Body = teeBody{in.Body, asked}
	}
	began := time.Now()
	answer, err := r.next.RoundTrip(up)
	if err != nil {
		return nil, err
	}
	method, path := in.Method, strings.TrimPrefix(in.URL.Path, r.base)
	secrets := secretsOf(in.Header)
	answer.Body = &tapedBody{from: answer.Body, last: began, done: func(chunks []Chunk, whole, fits bool) {
		body, ok := asked.whole()
		if !ok || !fits {
			r.recorder.log.Warn("a call is too large to be recorded", "path", path)
			r.recorder.Done(errTooLarge)
			return
		}
		t := Tape{Request: NewRequest(method, path, body, secrets...), Answer: Answer{
			Status: answer.StatusCode, Headers: kept(answer.Header), Chunks: cleanChunks(chunks, secrets), Truncated: !whole,
		}}
		err := r.recorder.write(t)
		if err != nil {
			r.recorder.log.Error("a call was not recorded", "err", err)
		}
		r.recorder.Done(err)
	}}
	return answer, nil
}

// secretsOf are the keys that a request was sent with.
func secretsOf(h http.Header) (secrets []string) {
	for name, values := range h {
		if !isSecret(name) {
			continue
		}
		for _, value := range values {
			if _, key, ok := strings.Cut(value, " "); ok && strings.EqualFold(name, "Authorization") {
				value = key
			}
			secrets = append(secrets, value)
		}
	}
	return secrets
}

// kept are the headers of an answer that tell of its content.
func kept(h http.Header) map[string]string {
	headers := map[string]string{}
	for _, name := range []string{"Content-Type", "Content-Language", "Retry-After"} {
		if value := h.Get(name); value != "" {
			headers[name] = value
		}
	}
	return headers
}

// cleanChunks takes secrets out of an answer. One that holds any becomes a single chunk, since a secret may stand across
// two.
func cleanChunks(chunks []Chunk, secrets []string) []Chunk {
	a := Answer{Chunks: chunks}
	all := a.Bytes()
	if cleaned := withoutSecrets(all, secrets); !bytes.Equal(all, cleaned) {
		return []Chunk{newChunk(a.Duration(), cleaned)}
	}
	return chunks
}

// write finds the next name that is free, so that two programs may record into one folder.
func (r *Recorder) write(t Tape) error {
	data, err := Marshal(t)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := 1; ; n++ {
		path := filepath.Join(r.folder, fileName(t.Request.Hash, n))
		claim, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("writing a recording: %w", err)
		}
		_ = claim.Close()
		return wholefile.Write(path, data, 0o600)
	}
}

// hashDigits is how much of the hash names a file.
const hashDigits = 12

func fileName(hash string, n int) string {
	return fmt.Sprintf("%s-%d.json", strings.TrimPrefix(hash, "sha256:")[:hashDigits], n)
}

// copied keeps what is read of a request. It is written by the transport and read when the answer has ended, which may
// be earlier.
type copied struct {
	mu   sync.Mutex
	data []byte
	over bool
}

func (c *copied) add(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over = c.over || len(c.data)+len(p) > maxRecorded; c.over {
		c.data = nil
		return
	}
	c.data = append(c.data, p...)
}

func (c *copied) whole() ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.data, !c.over
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

// tapedBody notes what is read of an answer and when.
type tapedBody struct {
	from   io.ReadCloser
	last   time.Time
	chunks []Chunk
	size   int
	ended  bool // by its own end
	once   sync.Once
	done   func(chunks []Chunk, whole, fits bool)
}

func (b *tapedBody) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if n > 0 {
		now := time.Now()
		if b.size += n; b.size > maxRecorded {
			b.chunks = nil
		} else {
			b.chunks = append(b.chunks, newChunk(now.Sub(b.last), p[:n]))
		}
		b.last = now
	}
	if errors.Is(err, io.EOF) {
		b.ended = true
	}
	return n, err
}

func (b *tapedBody) Close() error {
	err := b.from.Close()
	b.once.Do(func() { b.done(b.chunks, b.ended, b.size <= maxRecorded) })
	return err
}
