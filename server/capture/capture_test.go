package capture_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"chatwright.dev/tray/server/capture"
	"chatwright.dev/tray/server/cassette"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model is a model server that says what it is given.
type model struct {
	t      *testing.T
	target *upstream.Target
}

func serve(t *testing.T, h http.HandlerFunc) model {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	target, err := upstream.Parse(s.URL + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	return model{t, target}
}

// echo answers with the request, in two pieces.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, _ = io.WriteString(w, "you said ")
	w.(http.Flusher).Flush()
	_, _ = w.Write(body)
}

// say makes one call through the tap of a store and returns the answer, which nothing may change.
func (m model) say(s *capture.Store, id, body string, headers ...string) string {
	m.t.Helper()
	r, err := http.NewRequestWithContext(m.t.Context(), http.MethodPost, m.target.String()+"/chat/completions", strings.NewReader(body))
	if err != nil {
		m.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := s.Tap(id, m.target, m.target.Transport).RoundTrip(r)
	if err != nil {
		m.t.Fatal(err)
	}
	all, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil {
		m.t.Fatal(err)
	}
	return string(all)
}

func store(t *testing.T, mode protocol.CaptureMode, change ...func(*capture.Config)) (*capture.Store, string) {
	t.Helper()
	cfg := capture.Config{Folder: filepath.Join(t.TempDir(), "state", "capture")}
	for _, c := range change {
		c(&cfg)
	}
	s := capture.New(cfg)
	if err := s.SetMode(mode); err != nil {
		t.Fatal(err)
	}
	return s, cfg.Folder
}

func TestOffKeepsNothingAndStandsNowhere(t *testing.T) {
	s, folder := store(t, protocol.CaptureOff)
	m := serve(t, echo)
	if got := s.Tap("call_1", m.target, m.target.Transport); got != m.target.Transport {
		t.Errorf("something stands between: %T", got)
	}
	if n := testing.AllocsPerRun(100, func() { s.Tap("call_1", m.target, m.target.Transport) }); n != 0 {
		t.Errorf("a call pays %v allocations for nothing", n)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder was made: %v", err)
	}
	if got := s.State(); got.Mode != protocol.CaptureOff || got.Kept != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestWhatIsSaidIsKeptWhereTheUserWantsIt(t *testing.T) {
	for _, mode := range []protocol.CaptureMode{protocol.CaptureMemory, protocol.CaptureDisk} {
		s, folder := store(t, mode)
		m := serve(t, echo)
		if got := m.say(s, "call_1", `{"model":"m", "text":"hi"}`); got != `you said {"model":"m", "text":"hi"}` {
			t.Errorf("%s: the answer was changed: %s", mode, got)
		}
		got, ok := s.Call("call_1")
		want := protocol.CapturedCall{Request: `{"model":"m","text":"hi"}`, Answer: `you said {"model":"m", "text":"hi"}`}
		if !ok || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", mode, got, ok, want)
		}
		name, data, ok, err := s.Cassette("call_1")
		tape, parseErr := cassette.Parse(data)
		if !ok || err != nil || name != "call_1.json" || parseErr != nil || tape.Request.Path != "/chat/completions" || tape.Answer.Status != 200 {
			t.Errorf("%s: got %s, %v, %v, %v", mode, name, ok, err, parseErr)
		}
		if state := s.State(); state.Mode != mode || state.Kept != 1 || state.Bytes == 0 || state.LimitBytes < 64<<20 {
			t.Errorf("%s: got %+v", mode, state)
		}
		if _, ok := s.Call("call_2"); ok {
			t.Errorf("%s: a call that nobody made is there", mode)
		}
		files, _ := filepath.Glob(filepath.Join(folder, "*"))
		if want := map[protocol.CaptureMode]int{protocol.CaptureMemory: 0, protocol.CaptureDisk: 1}[mode]; len(files) != want {
			t.Errorf("%s: got files %v, want %d", mode, files, want)
		}
		for path, mode := range map[string]os.FileMode{folder: 0o700, filepath.Join(folder, "call_1.json"): 0o600} {
			if info, err := os.Stat(path); err == nil && info.Mode().Perm() != mode && runtime.GOOS != "windows" {
				t.Errorf("%s: got mode %v, want %v", path, info.Mode().Perm(), mode)
			}
		}
	}
}

// Switched off, new calls pass unheard; what was kept stays until it is forgotten.
func TestOffAgainAndForgotten(t *testing.T) {
	s, folder := store(t, protocol.CaptureMemory)
	m := serve(t, echo)
	m.say(s, "call_1", "1")
	if err := s.SetMode(protocol.CaptureDisk); err != nil {
		t.Fatal(err)
	}
	m.say(s, "call_2", "2")
	if err := s.SetMode(protocol.CaptureOff); err != nil {
		t.Fatal(err)
	}
	m.say(s, "call_3", "3")
	if got := s.State(); got.Kept != 2 {
		t.Errorf("got %+v, want 2 kept", got)
	}
	other := filepath.Join(folder, "notes.txt")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Forget(); err != nil {
		t.Fatal(err)
	}
	if got := s.State(); got.Kept != 0 || got.Bytes != 0 {
		t.Errorf("got %+v, want nothing", got)
	}
	if files, _ := filepath.Glob(filepath.Join(folder, "*")); len(files) != 1 || files[0] != other {
		t.Errorf("got %v, want what is not ours and nothing else", files)
	}
}

func TestWhatIsOnDiskOutlivesTheProcess(t *testing.T) {
	s, folder := store(t, protocol.CaptureDisk)
	serve(t, echo).say(s, "call_1", "hello")
	s.State()
	for name, data := range map[string]string{"call_0.json.123.tmp": "half", "other.json": "{}", "call_2.json": "broken"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	again := capture.New(capture.Config{Folder: folder})
	if got, ok := again.Call("call_1"); !ok || got.Request != "hello" || got.Answer != "you said hello" {
		t.Errorf("got %+v, %v", got, ok)
	}
	if got := again.State(); got.Mode != protocol.CaptureOff || got.Kept != 2 {
		t.Errorf("got %+v", got)
	}
	if _, ok := again.Call("call_2"); ok {
		t.Error("a broken file was read")
	}
	if _, ok := again.Call("other"); ok {
		t.Error("what is not ours was read")
	}
	if _, err := os.Stat(filepath.Join(folder, "call_0.json.123.tmp")); !os.IsNotExist(err) {
		t.Errorf("half a file is left: %v", err)
	}
}

// The id of a call comes out of a URL: it names no file but its own.
func TestNoIDLeadsOutOfTheFolder(t *testing.T) {
	s, folder := store(t, protocol.CaptureDisk)
	outside := filepath.Join(filepath.Dir(folder), "call_9.json")
	if err := os.WriteFile(outside, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"../call_9", "..", "", "/etc/passwd", "call_9/../../call_9"} {
		if got, ok := s.Call(id); ok {
			t.Errorf("%q: got %+v", id, got)
		}
		serve(t, echo).say(s, id, "x") // and if a call had such an id, it were kept in memory
		if files, _ := filepath.Glob(filepath.Join(folder, "*")); len(files) != 0 {
			t.Errorf("%q: got %v", id, files)
		}
	}
}

func TestTheOldestGoFirst(t *testing.T) {
	for _, mode := range []protocol.CaptureMode{protocol.CaptureMemory, protocol.CaptureDisk} {
		s, folder := store(t, mode, func(c *capture.Config) { c.MemoryLimit, c.DiskLimit = 40_000, 40_000 })
		m := serve(t, echo)
		for i := range 20 {
			m.say(s, fmt.Sprintf("call_%02d", i), strings.Repeat("x", 2000))
			s.State() // as the goroutine does that keeps them
		}
		state := s.State()
		if state.Bytes > 40_000 || state.Kept < 5 || state.Kept > 10 {
			t.Errorf("%s: got %+v", mode, state)
		}
		for i := range 20 {
			if _, ok := s.Call(fmt.Sprintf("call_%02d", i)); ok != (i >= 20-state.Kept) {
				t.Errorf("%s: call %d of 20 is there: %v, %d are kept", mode, i, ok, state.Kept)
			}
		}
		if files, _ := filepath.Glob(filepath.Join(folder, "*")); mode == protocol.CaptureDisk && len(files) != state.Kept {
			t.Errorf("got %d files, want %d", len(files), state.Kept)
		}
		// Less room than before, after a restart.
		if mode == protocol.CaptureDisk {
			if got := capture.New(capture.Config{Folder: folder, DiskLimit: 5000}).State(); got.Kept != 1 {
				t.Errorf("got %+v, want one kept", got)
			}
		}
	}
}

// Of what is larger than the bound the request is left out, since half of one cannot be cleaned of secrets, and of the
// answer the beginning is kept. What passes is whole.
func TestEachCallIsBounded(t *testing.T) {
	s, _ := store(t, protocol.CaptureMemory, func(c *capture.Config) { c.BodyLimit = 100 })
	m := serve(t, echo)
	long := `{"password":"hunter2-hunter2","x":"` + strings.Repeat("y", 200) + `"}`
	if got := m.say(s, "call_1", long); got != "you said "+long {
		t.Errorf("the answer was changed: %s", got)
	}
	got, ok := s.Call("call_1")
	if !ok || got.Request != "" || !got.RequestTruncated || !got.AnswerTruncated || len(got.Answer) != 100 {
		t.Errorf("got %+v, %v", got, ok)
	}
	if _, _, ok, err := s.Cassette("call_1"); !ok || err == nil || hint.Of(err) == "" {
		t.Errorf("half a call as a cassette: %v, %v", ok, err)
	}
}

// Calls in flight have room together, and a call that gets none passes all the same.
func TestCallsInFlightAreBoundedTogether(t *testing.T) {
	s, _ := store(t, protocol.CaptureMemory, func(c *capture.Config) { c.MemoryLimit = 2000 })
	m := serve(t, echo)
	body := strings.Repeat("x", 900)
	for i := range 3 { // nobody keeps them meanwhile
		if got := m.say(s, fmt.Sprint("call_", i), body); got != "you said "+body {
			t.Errorf("the answer was changed: %s", got)
		}
	}
	first, _ := s.Call("call_0")
	last, _ := s.Call("call_2")
	if first.Request != body || last.Request != "" || !last.RequestTruncated {
		t.Errorf("got %d and %d bytes of requests, want 900 and none", len(first.Request), len(last.Request))
	}
	m.say(s, "call_4", body)
	if got, _ := s.Call("call_4"); got.Request != body {
		t.Errorf("the room was not given back: %+v", got)
	}
}

// Secrets planted wherever they are known to stand reach neither memory's answers nor the disk.
func TestSecretsStayOut(t *testing.T) {
	const key = "sk-planted-secret-0123456789"
	for _, limit := range []int{0, 120} { // the second cuts the answer, in the key even
		s, folder := store(t, protocol.CaptureDisk, func(c *capture.Config) { c.BodyLimit = limit })
		m := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Set-Cookie", "planted-secret-1")
			auth := r.Header.Get("Authorization")
			for i := range auth { // across pieces
				_, _ = io.WriteString(w, auth[i:i+1])
				w.(http.Flusher).Flush()
			}
			_, _ = io.WriteString(w, strings.Repeat(" ", 60)+auth)
		})
		m.say(s, "call_1", `{"api_key":"planted-secret-2","text":"`+key+`"}`, "Authorization", "Bearer "+key, "Cookie", "planted-secret-3")
		got, ok := s.Call("call_1")
		_, tape, _, _ := s.Cassette("call_1")
		file, err := os.ReadFile(filepath.Join(folder, "call_1.json"))
		if err != nil || !ok {
			t.Fatal(err, ok)
		}
		for _, text := range []string{got.Request + got.Answer, string(tape), string(file)} {
			if strings.Contains(text, "planted") || strings.Contains(text, "sk-") {
				t.Errorf("limit %d: a secret was kept: %s", limit, text)
			}
		}
		if limit > 0 != got.AnswerTruncated {
			t.Errorf("limit %d: got %+v", limit, got)
		}
	}
}

// A folder that cannot be is said to whoever switches it on, and changes nothing.
func TestAFolderThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), elsewhere); err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	for _, folder := range []string{"", file, filepath.Join(file, "below"), elsewhere} {
		s := capture.New(capture.Config{Folder: folder})
		if err := s.SetMode(protocol.CaptureDisk); err == nil || hint.Of(err) == "" {
			t.Errorf("%s: got %v, want an error with a way out", folder, err)
		}
		if s.Mode() != protocol.CaptureOff {
			t.Errorf("%s: it is on", folder)
		}
	}
}

// A disk that takes nothing more costs no call: what was said is kept in memory.
func TestADiskThatFails(t *testing.T) {
	s, folder := store(t, protocol.CaptureDisk)
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	serve(t, echo).say(s, "call_1", "hello")
	if got, ok := s.Call("call_1"); !ok || got.Request != "hello" {
		t.Errorf("got %+v, %v", got, ok)
	}
}

// Run keeps what is heard without anybody asking, to the last call.
func TestRunKeepsToTheLast(t *testing.T) {
	s, folder := store(t, protocol.CaptureDisk)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	m := serve(t, echo)
	for i := range 20 {
		m.say(s, fmt.Sprintf("call_%02d", i), "x")
	}
	end()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(folder, "*.json"))
	if len(files) != 20 {
		t.Errorf("got %d files, want 20", len(files))
	}
}

func TestAnUpstreamThatDoesNotAnswerTakesNoRoom(t *testing.T) {
	s, _ := store(t, protocol.CaptureMemory, func(c *capture.Config) { c.MemoryLimit = 4000 })
	dead := serve(t, echo)
	failing := roundTrip(func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		return nil, io.ErrUnexpectedEOF
	})
	for range 10 {
		r := httptest.NewRequest(http.MethodPost, "http://h/v1/chat/completions", bytes.NewReader(make([]byte, 1500)))
		if _, err := s.Tap("call_1", dead.target, failing).RoundTrip(r); err == nil {
			t.Fatal("it answered")
		}
	}
	dead.say(s, "call_2", strings.Repeat("x", 500))
	if got, ok := s.Call("call_2"); !ok || len(got.Request) != 500 {
		t.Errorf("got %+v, %v", got, ok)
	}
	if got := s.State(); got.Kept != 1 {
		t.Errorf("got %+v, want one", got)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
