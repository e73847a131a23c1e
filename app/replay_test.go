package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"chatwright.dev/tray/server/cassette"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/timetest"
)

const callersKey = "sk-planted-0123456789"

// taped is the transport of a bot's client that keeps the bytes of the last answer, how long it took, and when what
// came with each read did.
type taped struct {
	answer bytes.Buffer
	took   time.Duration
	came   []time.Duration
}

func (t *taped) Do(r *http.Request) (*http.Response, error) {
	began := time.Now()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	t.answer.Reset()
	t.came = nil
	buffer := make([]byte, 64<<10)
	for err == nil {
		var n int
		if n, err = answer.Body.Read(buffer); n > 0 {
			t.answer.Write(buffer[:n])
			t.came = append(t.came, time.Since(began))
		}
	}
	_ = answer.Body.Close()
	t.took = time.Since(began)
	answer.Body = io.NopCloser(bytes.NewReader(t.answer.Bytes()))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return answer, err
}

// stream asks a companion with the official SDK and returns the text of the answer.
func (l *living) stream(tape *taped, question string) (string, error) {
	l.t.Helper()
	sdk := openai.NewClient(option.WithBaseURL("http://"+l.discovery().Addr+"/v1"), option.WithAPIKey(callersKey), option.WithMaxRetries(0),
		option.WithHTTPClient(&http.Client{Transport: roundTripper(tape.Do)}))
	stream := sdk.Chat.Completions.NewStreaming(l.t.Context(), openai.ChatCompletionNewParams{
		Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(question)},
	})
	defer func() { _ = stream.Close() }()
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		all.AddChunk(stream.Current())
	}
	if len(all.Choices) == 0 {
		return "", stream.Err()
	}
	return all.Choices[0].Message.Content, stream.Err()
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// slowModel streams two words with a pause between them; one that parrots repeats the key that it was sent.
func slowModel(t *testing.T, pause time.Duration, parrots bool) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/chat/completions" {
			_, _ = w.Write([]byte(`{"data":[{"id":"m"}]}`))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i, word := range []string{"Hello ", "again"} {
			if i > 0 {
				timetest.Pause(pause, "what is to be recorded")
			}
			_, _ = io.WriteString(w, `data: {"id":"x","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"`+word+`"}}]}`+"\n\n")
			_ = http.NewResponseController(w).Flush()
		}
		if parrots {
			_, _ = io.WriteString(w, ": "+r.Header.Get("Authorization")+"\n\n")
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// recorded lets a companion record one call and returns the folder, and what the caller got.
func recorded(t *testing.T, pause time.Duration, parrots bool) (folder string, tape *taped) {
	t.Helper()
	folder, tape = filepath.Join(t.TempDir(), "cassettes"), &taped{}
	l := live(t, func(c *Config) {
		c.Settings = settingsWith(t, "upstream="+slowModel(t, pause, parrots), "record="+folder)
	})
	l.awaitMenu("Recording calls in cassettes")
	if text, err := l.stream(tape, "hello"); err != nil || text != "Hello again" {
		t.Fatalf("got %q, %v", text, err)
	}
	l.end()
	if err := <-l.ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	l.ended <- nil
	return folder, tape
}

func replaying(t *testing.T, folder, speed string) *living {
	t.Helper()
	return live(t, func(c *Config) { c.Settings = settingsWith(t, "replay="+folder, "replay-speed="+speed) })
}

func TestWhatWasRecordedIsReplayedByteForByte(t *testing.T) {
	const pause = 300 * time.Millisecond
	folder, first := recorded(t, pause, false)
	tapes, err := cassette.Load(folder)
	if err != nil || len(tapes) != 1 {
		t.Fatalf("%d recordings, %v; want the call alone, and no probe", len(tapes), err)
	}
	l := replaying(t, folder, "1")
	again := &taped{}
	if text, err := l.stream(again, "hello"); err != nil || text != "Hello again" {
		t.Fatalf("got %q, %v", text, err)
	}
	if !bytes.Equal(again.answer.Bytes(), first.answer.Bytes()) {
		t.Errorf("got\n%s\nwant\n%s", &again.answer, &first.answer)
	}
	for name, tape := range map[string]*taped{"recorded": first, "replayed": again} {
		gap := tape.came[len(tape.came)-1] - tape.came[0]
		if tape.came[0] > gap+patience || gap < pause-50*time.Millisecond || gap > pause+patience {
			t.Errorf("%s: the pieces came after %v, want %s between the first and the last", name, tape.came, pause)
		}
	}
	l.awaitMenu("· Replay of cassettes")
	l.awaitMenu("    m  ") // the models of the recordings
	if call := l.lastCall(); call.Upstream != "Replay of cassettes" || call.Verdict != protocol.VerdictComplete {
		t.Errorf("recorded as %+v", call)
	}
}

func TestReplayAtOnce(t *testing.T) {
	const pause = 3 * time.Second
	folder, _ := recorded(t, pause, false)
	tape := &taped{}
	if _, err := replaying(t, folder, "0").stream(tape, "hello"); err != nil || tape.took >= pause {
		t.Errorf("it took %s, %v", tape.took, err)
	}
}

func TestAChangedRequestMissesAndNamesTheNearest(t *testing.T) {
	folder, _ := recorded(t, 0, false)
	l := replaying(t, folder, "0")
	_, err := l.stream(&taped{}, "hullo")
	answer, ok := errors.AsType[*openai.Error](err)
	if !ok || answer.StatusCode != http.StatusBadGateway || answer.Code != cassette.CodeMissing {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"no recording answers this request", "-1.json", `messages[0].content ("hello", here "hullo")`} {
		if !strings.Contains(answer.Message, want) {
			t.Errorf("the message lacks %q: %s", want, answer.Message)
		}
	}
	if call := l.lastCall(); call.Verdict != protocol.VerdictUpstreamError || call.Status != http.StatusBadGateway {
		t.Errorf("recorded as %+v", call)
	}
}

// lastCall is the newest call in the books, once there is one.
func (l *living) lastCall() (last protocol.Call) {
	l.t.Helper()
	l.awaitStatus("a call", func(s protocol.Status) bool {
		if len(s.Metrics.Recent) == 0 {
			return false
		}
		last = s.Metrics.Recent[0]
		return true
	})
	return last
}

func TestKeysAreNotOnTheDisk(t *testing.T) {
	folder, _ := recorded(t, 0, true)
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte("planted")) {
			t.Errorf("%s holds the key:\n%s", path, data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// With recordings there is nothing else: no upstream can be chosen, none is asked, and turns of sessions are answered too.
func TestReplayIsTheOnlyUpstream(t *testing.T) {
	folder, _ := recorded(t, 0, false)
	where, knocked := pathsIn(t), &atomic.Bool{}
	l := live(t, func(c *Config) {
		c.Paths, c.Settings = where, settingsWith(t, "replay="+folder)
		c.Detect.Address = func(int) string { knocked.Store(true); return "" }
	})
	putUpstream(t, l.client(), "work", "http://localhost:1/v1", nil)
	list, err := l.client().Upstreams(t.Context(), true)
	if err != nil || len(list.Upstreams) != 1 || list.Upstreams[0].BaseURL != replayWord || list.Upstreams[0].Reach != protocol.ReachOK {
		t.Errorf("got %+v, %v", list, err)
	}
	if err := l.client().UseUpstream(t.Context(), "work"); err == nil || !strings.Contains(err.Error(), "answered from recordings") {
		t.Errorf("got %v", err)
	}
	if knocked.Load() {
		t.Error("somebody looked for model servers")
	}
}

// What cannot be written costs the call nothing, and is said until a call is recorded again.
func TestACallThatCannotBeRecordedIsAnsweredAllTheSame(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "cassettes")
	l := live(t, func(c *Config) { c.Settings = settingsWith(t, "upstream="+slowModel(t, 0, false), "record="+folder) })
	if err := os.Remove(folder); err != nil { // as a disk that is full, for whoever writes
		t.Fatal(err)
	}
	if text, err := l.stream(&taped{}, "hello"); err != nil || text != "Hello again" {
		t.Errorf("got %q, %v", text, err)
	}
	l.awaitMenu("A call was not recorded")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := l.stream(&taped{}, "hello"); err != nil {
		t.Error(err)
	}
	l.awaitView("no notice", func(menu string) bool { return !strings.Contains(menu, "A call was not recorded") })
}

func TestFoldersOfRecordingsThatCannotBeUsedFailAtStart(t *testing.T) {
	empty, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
	broken := t.TempDir()
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.WriteFile(filepath.Join(broken, "x.json"), []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]string{
		"replay=" + empty: "there are no recordings", "replay=" + file: "is not a folder", "replay=" + broken: "x.json: reading a recording",
		"record=" + filepath.Join(file, "below"): "making the folder of recordings",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := Run(ctx, Config{Settings: settingsWith(t, flag), Paths: pathsIn(t), Version: "test"})
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "flag --re") {
			t.Errorf("%s: got %v, want %q", flag, err, want)
		}
	}
}
