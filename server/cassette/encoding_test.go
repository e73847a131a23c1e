package cassette_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"chatwright.dev/tray/server/cassette"
	"chatwright.dev/tray/server/servertest/timetest"
)

// packer packs what is written, up to each Flush.
type packer interface {
	io.WriteCloser
	Flush() error
}

func packers(w io.Writer) map[string]packer {
	z, _ := zstd.NewWriter(w)
	return map[string]packer{"gzip": gzip.NewWriter(w), "deflate": zlib.NewWriter(w), "br": brotli.NewWriter(w), "zstd": z}
}

// packing answers with the events in a coding, though nobody asked for it.
func packing(name string, end func(packer)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", name)
		p := packers(w)[name]
		for _, event := range append(slices.Clone(events), r.Header.Get("Authorization")) {
			_, _ = io.WriteString(p, event)
			_ = p.Flush()
			w.(http.Flusher).Flush()
		}
		end(p)
	}
}

// A server that compresses though nobody asked is recorded so that it can be read, and replayed so that everybody can.
func TestAnswersThatCameCompressedAreRecordedUnpacked(t *testing.T) {
	for name := range packers(io.Discard) {
		t.Run(name, func(t *testing.T) {
			asked := chat(hello)
			asked.Header.Set("Accept-Encoding", "gzip, br")
			asked.Header.Set("Authorization", "Bearer "+planted)
			model := packing(name, func(p packer) { _ = p.Close() })
			folder, _ := record(t, func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Accept-Encoding"); got != "identity" {
					t.Errorf("asked for %q, want identity", got)
				}
				model(w, r)
			}, asked)
			tape := onlyOne(t, folder)
			want := strings.Join(events, "") + "Bearer «redacted»"
			if got := string(tape.Answer.Bytes()); got != want || tape.Answer.Encoding != name || tape.Answer.Headers["Content-Encoding"] != "" || tape.Answer.Truncated {
				t.Errorf("got %q and %+v, want %q", got, tape.Answer, want)
			}
			got, broken := ask(t, player(t, folder, 0), hello)
			if broken || got.Body.String() != want || got.Header().Get("Content-Encoding") != "" {
				t.Errorf("replayed as %v %q", got.Header(), got.Body)
			}
		})
	}
}

// What broke off is recorded as far as it came.
func TestACompressedAnswerThatBrokeOffIsRecordedAsFarAsItCame(t *testing.T) {
	tape := tapeOf(t, packing("gzip", func(packer) { panic(http.ErrAbortHandler) }))
	if got, want := string(tape.Answer.Bytes()), strings.Join(events, "")+"Bearer «redacted»"; got != want || !tape.Answer.Truncated {
		t.Errorf("got %q, truncated %v; want %q", got, tape.Answer.Truncated, want)
	}
}

// What cannot be unpacked is kept and replayed byte for byte.
func TestWhatCannotBeUnpackedIsKeptAsItCame(t *testing.T) {
	for coding, bytesOf := range map[string][]byte{"x-secret": {0xff, 0, 1, 2}, "gzip": {0x1f, 0x8b, 8, 0, 0xff}} {
		folder, _ := record(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", coding)
			_, _ = w.Write(bytesOf)
		}, chat(hello))
		files, _ := filepath.Glob(filepath.Join(folder, "*.json"))
		text, _ := os.ReadFile(files[0])
		if !bytes.Contains(text, []byte(`"base64": "`+base64.StdEncoding.EncodeToString(bytesOf))) || onlyOne(t, folder).Answer.Encoding != "" {
			t.Errorf("%s: recorded as %s", coding, text)
		}
		got, _ := ask(t, player(t, folder, 0), hello)
		if !bytes.Equal(got.Body.Bytes(), bytesOf) || got.Header().Get("Content-Encoding") != coding {
			t.Errorf("%s: replayed as %v %q", coding, got.Header(), got.Body)
		}
	}
}

// Each piece holds what could be unpacked when it had come.
func TestUnpackedAnswersKeepTheirTimings(t *testing.T) {
	for name := range packers(io.Discard) {
		var sent bytes.Buffer
		var pieces []string
		p := packers(&sent)[name]
		for _, event := range events {
			_, _ = io.WriteString(p, event)
			_ = p.Flush()
			pieces = append(pieces, sent.String())
			sent.Reset()
		}
		_ = p.Close()
		tape := heard(t, 1<<20, http.Header{"Content-Encoding": {name}}, append(pieces, sent.String())...)
		for i, c := range tape.Answer.Chunks {
			if want := append(slices.Clone(events), "")[i]; string(c.Bytes()) != want || c.AfterMs != 100 {
				t.Errorf("%s: piece %d is %q after %d ms, want %q", name, i, c.Bytes(), c.AfterMs, want)
			}
		}
		if len(tape.Answer.Chunks) != len(events)+1 || tape.Answer.Truncated {
			t.Errorf("%s: got %+v", name, tape.Answer)
		}
	}
}

// What unpacks to very much is as much too large as it would be without its coding.
func TestAnAnswerThatUnpacksToVeryMuchIsCut(t *testing.T) {
	var packed bytes.Buffer
	p := gzip.NewWriter(&packed)
	_, _ = p.Write(bytes.Repeat([]byte("x"), 1<<20))
	_ = p.Close()
	tape := heard(t, 2000, http.Header{"Content-Encoding": {"gzip"}}, packed.String())
	if got := tape.Answer.Bytes(); packed.Len() > 2000 || len(got) != 2000 || !tape.Answer.Truncated {
		t.Errorf("got %d bytes, truncated %v; want the first 2000", len(got), tape.Answer.Truncated)
	}
}

// heard is a call with the planted key whose answer comes in pieces, one each 100 ms.
func heard(t *testing.T, limit int, header http.Header, pieces ...string) (tape cassette.Tape) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := chat(hello)
		r.Header.Set("Authorization", "Bearer "+planted)
		next := roundTripper(func(r *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, r.Body)
			return &http.Response{StatusCode: 200, Header: header, Body: io.NopCloser(&piecewise{pieces, 100 * time.Millisecond})}, nil
		})
		tap := &cassette.Tap{Next: next, Limit: limit, Done: func(h cassette.Heard) { tape = h.Tape() }}
		answer, err := tap.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	})
	return tape
}

// piecewise gives a piece a read, each after a pause.
type piecewise struct {
	pieces []string
	pause  time.Duration
}

func (p *piecewise) Read(to []byte) (int, error) {
	if len(p.pieces) == 0 {
		return 0, io.EOF
	}
	timetest.Pause(p.pause, "a server that takes its time between two pieces")
	n := copy(to, p.pieces[0])
	if p.pieces[0] = p.pieces[0][n:]; p.pieces[0] == "" {
		p.pieces = p.pieces[1:]
	}
	return n, nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A model server that answers before it has read the request leaves half of one, which nothing would ever match.
func TestAHalfReadRequestIsNotRecorded(t *testing.T) {
	heard := make(chan cassette.Heard, 1)
	tapped := &cassette.Tap{Limit: 1000, Done: func(h cassette.Heard) { heard <- h }, Next: roundTripper(func(r *http.Request) (*http.Response, error) {
		_, _ = io.ReadFull(r.Body, make([]byte, 10))
		return &http.Response{StatusCode: 413, Body: http.NoBody}, nil
	})}
	answer, err := tapped.RoundTrip(chat(hello))
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if h := <-heard; !h.RequestCut || !h.Tape().Request.IsEmpty() {
		t.Errorf("got %+v", h)
	}
}
