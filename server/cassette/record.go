package cassette

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/wholefile"
)

// maxRecorded bounds each body that is recorded. A call with a larger one passes and is not recorded.
const maxRecorded = 32 << 20

var (
	errTooLarge = fmt.Errorf("it is larger than %d MiB", maxRecorded>>20)
	errUnread   = errors.New("the model server answered before it had read the whole request")
)

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
// URL.
func (r *Recorder) Wrap(base string, next http.RoundTripper) http.RoundTripper {
	return &Tap{Base: base, Next: next, Limit: maxRecorded, Done: func(h Heard) {
		h.unpack()
		switch {
		case h.Status == 0: // nothing was answered
			return
		case h.unread:
			r.log.Warn("a call whose request was not read to its end cannot be recorded", "path", h.Path)
			r.Done(errUnread)
			return
		case h.RequestCut || h.AnswerCut:
			r.log.Warn("a call is too large to be recorded", "path", h.Path)
			r.Done(errTooLarge)
			return
		}
		err := r.write(h.Tape())
		if err != nil {
			r.log.Error("a call was not recorded", "err", err)
		}
		r.Done(err)
	}}
}

// kept are the headers of an answer that tell of its content.
func kept(h http.Header) map[string]string {
	headers := map[string]string{}
	for _, name := range []string{"Content-Type", "Content-Language", "Content-Encoding", "Retry-After"} {
		if value := h.Get(name); value != "" {
			headers[name] = value
		}
	}
	return headers
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
		if err := wholefile.Write(path, data, 0o600); err != nil {
			_ = os.Remove(path) // an empty file would be a broken recording, and none of the folder would be replayed
			return err
		}
		return nil
	}
}

// hashDigits is how much of the hash names a file.
const hashDigits = 12

func fileName(hash string, n int) string {
	return fmt.Sprintf("%s-%d.json", strings.TrimPrefix(hash, "sha256:")[:hashDigits], n)
}
