package proxy_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/timetest"
)

const (
	tokenEvent = `data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"Hi"}}]}` + "\n\n"
	usageEvent = `data: {"id":"c","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":2}}` + "\n\n"
	doneEvent  = "data: [DONE]\n\n"
)

// stepped is an upstream whose stream is sent step by step: each string that comes from steps, until it is closed.
func stepped(steps <-chan string, change ...func(http.Header)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, f := range change {
			f(w.Header())
		}
		flusher := http.NewResponseController(w)
		_ = flusher.Flush()
		for {
			select {
			case step, ok := <-steps:
				if !ok {
					return
				}
				_, _ = io.WriteString(w, step)
				_ = flusher.Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
}

// gateway.md 1: headers arrive before the first byte of the body, the first event while the upstream stays open.
func TestEventsPassAtOnce(t *testing.T) {
	for _, asked := range []string{`{"model":"m","stream":true}`, `{"model":"m"}`} {
		steps := make(chan string)
		f := behind(t, stepped(steps))
		answer, err := f.send(http.MethodPost, "/chat/completions", strings.NewReader(asked))
		if err != nil {
			t.Fatal(err) // the header has come, and nothing has been sent yet
		}
		lines := bufio.NewReader(answer.Body)
		steps <- tokenEvent
		sent := time.Now()
		line, err := lines.ReadString('\n')
		if err != nil || line != strings.SplitAfter(tokenEvent, "\n")[0] {
			t.Fatalf("first event: got %q, %v", line, err)
		}
		t.Logf("the first event took %v; the sentence asks for 20 ms", time.Since(sent))
		close(steps)
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		f.wantVerdict(200, protocol.VerdictNoDone) // gateway.md 5: it ends when the upstream closes
	}
}

// companion.md: "stream": true is relayed as it comes also when the answer is no event stream and has a length.
func TestAStreamThatIsNoEventStream(t *testing.T) {
	next := make(chan struct{})
	f := behind(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "4")
		_ = http.NewResponseController(w).Flush()
		for range 4 {
			<-next
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
		}
	})
	answer, err := f.send(http.MethodPost, "/chat/completions", strings.NewReader(`{"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	for range 4 {
		next <- struct{}{}
		if _, err := io.ReadFull(answer.Body, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	f.record()
}

// gateway.md 7: what keeps buffering proxies from holding a stream, unless the upstream says its own.
func TestHeadersOfAStream(t *testing.T) {
	for name, c := range map[string]struct {
		set           func(http.Header)
		buffer, cache string
	}{
		"none of its own": {func(http.Header) {}, "no", "no-cache, no-transform"},
		"its own": {func(h http.Header) {
			h.Set("X-Accel-Buffering", "yes")
			h.Set("Cache-Control", "private")
		}, "yes", "private"},
	} {
		t.Run(name, func(t *testing.T) {
			steps := make(chan string)
			close(steps)
			f := behind(t, stepped(steps, c.set))
			answer, _ := f.chat(`{}`)
			if got := answer.Header.Get("X-Accel-Buffering"); got != c.buffer {
				t.Errorf("X-Accel-Buffering: got %q, want %q", got, c.buffer)
			}
			if got := answer.Header.Get("Cache-Control"); got != c.cache {
				t.Errorf("Cache-Control: got %q, want %q", got, c.cache)
			}
			f.record()
		})
	}
}

// gateway.md 2: who accepts no coding gets events as they come, from a server that could compress too; compressed
// answers are relayed as they are and read all the same; companion.md "gzip answers and streams lose their counts".
func TestCompression(t *testing.T) {
	writers := map[string]func(io.Writer) interface {
		io.WriteCloser
		Flush() error
	}{
		"gzip": func(w io.Writer) interface {
			io.WriteCloser
			Flush() error
		} {
			return gzip.NewWriter(w)
		},
		"br": func(w io.Writer) interface {
			io.WriteCloser
			Flush() error
		} {
			return brotli.NewWriter(w)
		},
		"zstd": func(w io.Writer) interface {
			io.WriteCloser
			Flush() error
		} {
			z, _ := zstd.NewWriter(w)
			return z
		},
	}
	var packed bytes.Buffer
	f := behind(t, func(w http.ResponseWriter, r *http.Request) {
		packed.Reset()
		w.Header().Set("Content-Type", "text/event-stream")
		newWriter, ok := writers[r.Header.Get("Accept-Encoding")]
		if !ok {
			if got := r.Header.Get("Accept-Encoding"); got != "" {
				t.Errorf("Accept-Encoding: got %q where the caller sent none", got)
			}
			_, _ = io.WriteString(w, tokenEvent+usageEvent+doneEvent)
			return
		}
		w.Header().Set("Content-Encoding", r.Header.Get("Accept-Encoding"))
		packer := newWriter(io.MultiWriter(w, &packed))
		for _, event := range []string{tokenEvent, usageEvent, doneEvent} {
			_, _ = io.WriteString(packer, event)
			_ = packer.Flush()
			_ = http.NewResponseController(w).Flush()
		}
		_ = packer.Close()
	})
	for _, coding := range []string{"", "gzip", "br", "zstd"} {
		header := []string{}
		if coding != "" {
			header = []string{"Accept-Encoding", coding}
		}
		answer, body := f.chat(`{"stream":true}`, header...)
		if got := answer.Header.Get("Content-Encoding"); got != coding {
			t.Errorf("%q: Content-Encoding: got %q", coding, got)
		}
		if coding == "" && body != tokenEvent+usageEvent+doneEvent || coding != "" && body != packed.String() {
			t.Errorf("%q: the bytes differ", coding)
		}
		c := f.wantVerdict(200, protocol.VerdictComplete)
		if c.PromptTokens != 11 || c.CompletionTokens != 2 || c.FirstTokenMs == nil || c.Model != "m" {
			t.Errorf("%q: record: got %+v", coding, c)
		}
	}
}

// gateway.md 6: no timeout of ours cuts a silent prefill; nothing is sent into the silence.
func TestSilenceIsLeftAlone(t *testing.T) {
	steps := make(chan string)
	f := behind(t, stepped(steps))
	answer, err := f.send(http.MethodPost, "/chat/completions", strings.NewReader(`{"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got := make(chan string, 1)
	go func() {
		buf := make([]byte, 4096)
		n, _ := answer.Body.Read(buf)
		got <- string(buf[:n])
	}()
	select {
	case text := <-got:
		t.Errorf("got %q out of the silence", text)
	case <-time.After(300 * time.Millisecond): // that it is not cut after minutes is in the transport's test
	}
	steps <- tokenEvent
	if text := <-got; text != tokenEvent {
		t.Errorf("got %q, want the first event unchanged", text)
	}
	close(steps)
	_, _ = io.Copy(io.Discard, answer.Body)
	if c := f.wantVerdict(200, protocol.VerdictNoDone); c.FirstTokenMs == nil || *c.FirstTokenMs < 300 {
		t.Errorf("first token: got %v, want at least the 300 ms of silence", c.FirstTokenMs)
	}
}

// gateway.md 17: the first token is the first chunk with content, and the rate counts from it. The upstream goes on only
// once the caller has what came before, so that no stall of a busy machine can move an event in front of a pause.
func TestFirstTokenAndRate(t *testing.T) {
	const roleChunk = `data: {"choices":[{"delta":{"role":"assistant","content":""}}]}` + "\n\n"
	steps := make(chan string, 1)
	f := behind(t, stepped(steps))
	steps <- roleChunk
	answer, err := f.send(http.MethodPost, "/chat/completions", strings.NewReader(`{"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got := make([]byte, len(roleChunk))
	for _, next := range []struct {
		event string
		after time.Duration
	}{{tokenEvent, 60 * time.Millisecond}, {usageEvent + doneEvent, 100 * time.Millisecond}} {
		if _, err := io.ReadFull(answer.Body, got); err != nil {
			t.Fatal(err)
		}
		timetest.Pause(next.after, "what is measured")
		steps <- next.event
		got = make([]byte, len(next.event))
	}
	close(steps)
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		t.Fatal(err)
	}
	c := f.wantVerdict(200, protocol.VerdictComplete)
	if c.FirstTokenMs == nil {
		t.Fatalf("no first token in %+v", c)
	}
	if first := *c.FirstTokenMs; first < 60 || first > c.LatencyMs-100 {
		t.Errorf("first token: got %d of %d ms, want it between the two pauses of 60 and 100 ms", first, c.LatencyMs)
	}
	if c.TokensPerSecond <= 0 || c.TokensPerSecond > 20 {
		t.Errorf("rate: got %v, want 2 tokens in 100 ms or more", c.TokensPerSecond)
	}
	if waited := int64(160); c.OverheadUs <= 0 || c.OverheadUs > (c.LatencyMs+1-waited)*1000 {
		t.Errorf("overhead: got %d µs of %d ms, %d of which were waiting", c.OverheadUs, c.LatencyMs, waited)
	}
}

// gateway.md 8: a caller who leaves cancels the upstream within a second, whenever they leave.
func TestACallerWhoLeaves(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []string // before the caller leaves; nil: not even a header
		tokens int64
	}{
		{"before the header", nil, 0},
		{"before the first token", []string{": waiting\n\n"}, 0},
		{"in the stream", []string{tokenEvent, usageEvent, tokenEvent}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			started, cancelled := make(chan struct{}), make(chan time.Time, 1)
			f := behind(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				for _, event := range c.events {
					_, _ = io.WriteString(w, event)
					_ = http.NewResponseController(w).Flush()
				}
				close(started)
				select {
				case <-r.Context().Done():
					cancelled <- time.Now()
				case <-time.After(patience):
				}
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			passed, ended := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(ended)
				answer, err := f.sendWith(ctx, http.MethodPost, "/chat/completions", strings.NewReader(`{"model":"m","stream":true}`))
				if err == nil {
					_, _ = io.CopyN(io.Discard, answer.Body, int64(len(strings.Join(c.events, ""))))
					close(passed)
					_, _ = io.Copy(io.Discard, answer.Body)
					answer.Body.Close()
				}
			}()
			<-started
			if c.events != nil {
				<-passed // the caller has what it leaves in the middle of, and so the record has seen it
			}
			left := time.Now()
			cancel()
			<-ended
			select {
			case at := <-cancelled:
				if at.Sub(left) > time.Second {
					t.Errorf("the upstream was cancelled after %v, want within a second", at.Sub(left))
				}
			case <-time.After(patience):
				t.Fatal("the upstream was not cancelled")
			}
			r := f.wantVerdict(protocol.StatusClientClosed, protocol.VerdictCancelled)
			if r.CompletionTokens != c.tokens || r.Model != "m" {
				t.Errorf("record: got %d tokens of %q, want what was known so far: %d", r.CompletionTokens, r.Model, c.tokens)
			}
		})
	}
}

// A client that stops reading at the end marker has the whole answer: most SDKs do just that.
func TestLeavingAtTheEndMarkerIsNoCancellation(t *testing.T) {
	f := behind(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, tokenEvent+usageEvent+doneEvent)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done() // the connection stays open behind the marker
	})
	answer, err := f.send(http.MethodPost, "/chat/completions", strings.NewReader(`{"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	text := make([]byte, len(tokenEvent+usageEvent+doneEvent))
	if _, err := io.ReadFull(answer.Body, text); err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if c := f.wantVerdict(200, protocol.VerdictComplete); c.CompletionTokens != 2 {
		t.Errorf("record: got %+v", c)
	}
}
