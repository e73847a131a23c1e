package cassette_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"chatwright.dev/tray/server/cassette"
	"chatwright.dev/tray/server/hint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// events is an answer in pieces, some of which are no whole lines and one no whole rune.
var events = []string{"data: {\"a\":1}\n\n", "data: {\"b\":\"\xc3", "\xbc\"}\n\nda", "ta: [DONE]\n\n"}

func stream(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Set-Cookie", "session=planted-secret")
	for _, event := range events {
		_, _ = io.WriteString(w, event)
		w.(http.Flusher).Flush()
	}
}

// recorder starts h, and returns the folder into which calls are recorded that the function makes.
func recorder(t *testing.T, h http.HandlerFunc) (folder string, ask func(*http.Request) string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "recordings")
	model := httptest.NewServer(h)
	t.Cleanup(model.Close)
	r, err := cassette.NewRecorder(folder, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return folder, func(request *http.Request) string {
		request.URL.Scheme, request.URL.Host = "http", model.Listener.Addr().String()
		request.RequestURI = ""
		answer, err := r.Wrap("/v1", transport).RoundTrip(request)
		if err != nil {
			t.Error(err)
			return ""
		}
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		return string(body)
	}
}

// record sends requests through a recorder to h and returns the folder.
func record(t *testing.T, h http.HandlerFunc, requests ...*http.Request) (folder string, answers []string) {
	t.Helper()
	folder, ask := recorder(t, h)
	for _, request := range requests {
		answers = append(answers, ask(request))
	}
	return folder, answers
}

func chat(body string) *http.Request {
	return httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
}

// ask sends a request to a player; broken is true when the answer broke off.
func ask(t *testing.T, p *cassette.Player, body string) (answer *httptest.ResponseRecorder, broken bool) {
	t.Helper()
	defer func() {
		if cause := recover(); cause != nil {
			if err, ok := cause.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
				panic(cause)
			}
			broken = true
		}
	}()
	answer = httptest.NewRecorder()
	p.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/chat/completions", strings.NewReader(body)))
	return answer, false
}

func player(t *testing.T, folder string, speed float64) *cassette.Player {
	t.Helper()
	p, err := cassette.NewPlayer(folder, speed)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const hello = `{"model":"m","stream":true,"messages":[{"role":"user","content":"Hello <you> & all"}]}`

func TestWhatWasRecordedIsAnsweredByteForByte(t *testing.T) {
	folder, answers := record(t, stream, chat(hello))
	if answers[0] != strings.Join(events, "") {
		t.Fatalf("the recorder changed the answer: %q", answers[0])
	}
	p := player(t, folder, 0)
	got, broken := ask(t, p, hello)
	if broken || got.Body.String() != answers[0] || got.Code != 200 || got.Header().Get("Content-Type") != "text/event-stream" || !got.Flushed {
		t.Errorf("got %d %v %q, broken %v", got.Code, got.Header(), got.Body, broken)
	}
	// In other spacing and another order it is the same request.
	if got, _ := ask(t, p, ` { "messages" : [ {"content":"Hello <you> & all", "role":"user"} ], "stream": true, "model": "m" } `); got.Body.String() != answers[0] {
		t.Errorf("got %q", got.Body)
	}
}

func TestTheSameRequestAgainGetsTheNextRecording(t *testing.T) {
	n := 0
	counting := func(w http.ResponseWriter, _ *http.Request) { n++; fmt.Fprintf(w, `{"n":%d}`, n) }
	var requests []*http.Request
	for range 12 {
		requests = append(requests, chat(hello))
	}
	folder, _ := record(t, counting, requests...)
	p := player(t, folder, 0)
	for i := 1; i <= 14; i++ {
		want := fmt.Sprintf(`{"n":%d}`, min(i, 12))
		if got, _ := ask(t, p, hello); got.Body.String() != want {
			t.Errorf("time %d: got %s, want %s", i, got.Body, want)
		}
	}
}

func TestAnAnswerThatBrokeOffBreaksOffAgain(t *testing.T) {
	folder, _ := record(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}, chat(hello))
	got, broken := ask(t, player(t, folder, 0), hello)
	if !broken {
		t.Errorf("got a clean end after %q", got.Body)
	}
}

func TestStatusesAndErrorsAreRecordedToo(t *testing.T) {
	folder, _ := record(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	}, chat(hello))
	if got, _ := ask(t, player(t, folder, 0), hello); got.Code != 429 || got.Header().Get("Retry-After") != "7" || got.Body.Len() != 0 {
		t.Errorf("got %d %v %q", got.Code, got.Header(), got.Body)
	}
}

// Answers come as slowly as they came, or so many times faster.
func TestSpeed(t *testing.T) {
	folder := t.TempDir()
	tape := cassette.Tape{Request: cassette.NewRequest("POST", "/chat/completions", "", []byte(hello)),
		Answer: cassette.Answer{Status: 200, Chunks: []cassette.Chunk{{AfterMs: 300, Text: "a"}, {AfterMs: 100, Text: "b"}}}}
	keep(t, folder, "any-name.json", tape)
	for speed, want := range map[float64]time.Duration{1: 400 * time.Millisecond, 4: 100 * time.Millisecond, 0.5: 800 * time.Millisecond, 0: 0} {
		synctest.Test(t, func(t *testing.T) {
			p := player(t, folder, speed)
			began := time.Now()
			if got, _ := ask(t, p, hello); got.Body.String() != "ab" {
				t.Errorf("got %q", got.Body)
			}
			if took := time.Since(began); took != want {
				t.Errorf("speed %v: took %v, want %v", speed, took, want)
			}
		})
	}
}

func keep(t *testing.T, folder, name string, tape cassette.Tape) {
	t.Helper()
	data, err := cassette.Marshal(tape)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAMissNamesTheNearestRecording(t *testing.T) {
	long := strings.Repeat("You are a careful tester of shopping lists. ", 5)
	body := func(system, user string) string {
		return fmt.Sprintf(`{"model":"m","messages":[{"role":"system","content":%q},{"role":"user","content":%q}]}`, system, user)
	}
	folder, _ := record(t, stream, chat(`{"model":"other","input":1}`), chat(body(long+"Be brief.", "Add milk")))
	near := fileOf(t, folder, "Add milk")
	p := player(t, folder, 0)
	for asked, want := range map[string]string{
		body(long+"Be brief.", "Add eggs"): `the nearest is ` + near + `, which differs in messages[1].content ("Add milk", here "Add eggs")`,
		body(long+"Be long.", "Add milk"):  `which differs in messages[0].content ("… shopping lists. Be brief.", here "… shopping lists. Be long.")`,
		`{"model":"m","messages":[]}`:      `messages (2 entries, here 0)`,
		`{"model":"m","temperature":1,"messages":[{"role":"system","content":"x"},{"role":"user","content":"Add milk"}]}`: `and in temperature (which it does not have)`,
		`no JSON`: "the whole body",
	} {
		got, _ := ask(t, p, asked)
		var e struct {
			Error struct {
				Message, Type, Code string
			}
		}
		if err := json.Unmarshal(got.Body.Bytes(), &e); err != nil || got.Code != 502 || e.Error.Code != "no_recording" || !strings.Contains(e.Error.Message, want) {
			t.Errorf("got %d %s, want %s", got.Code, got.Body, want)
		}
	}
}

func fileOf(t *testing.T, folder, text string) string {
	t.Helper()
	tapes, err := cassette.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(tapes, func(n cassette.Named) bool { return bytes.Contains(n.Tape.Request.Body, []byte(text)) })
	return tapes[i].Name
}

func TestModelsAreThoseOfTheRecordings(t *testing.T) {
	folder, _ := record(t, stream, chat(hello), chat(hello), chat(`{"model":"a"}`))
	w := httptest.NewRecorder()
	player(t, folder, 0).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/models", nil))
	if got := w.Body.String(); !strings.Contains(got, `"id":"m"`) || !strings.Contains(got, `"id":"a"`) || strings.Count(got, `"id"`) != 2 {
		t.Errorf("got %s", got)
	}
}

// Secrets planted wherever they are known to stand do not reach the disk.
func TestSecretsStayOut(t *testing.T) {
	const key = "sk-planted-secret-0123456789"
	echo := func(w http.ResponseWriter, r *http.Request) { // as some servers do in their errors
		w.Header().Set("X-Request-Key", key)
		auth := r.Header.Get("Authorization")
		_, _ = io.WriteString(w, `{"error":"invalid key `+auth[:12])
		w.(http.Flusher).Flush()
		_, _ = io.WriteString(w, auth[12:]+`"}`)
	}
	r := chat(`{"model":"m","api_key":"planted-secret-1","tools":[{"headers":{"X-Api-Key":"planted-secret-2","Authorization":"Bearer planted-secret-3"}}],"user":"` + key + `",
		"schema":{"password":{"type":"string"}},"max_tokens":5}`)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Cookie", "planted-secret-4")
	r.Header.Set("X-Api-Key", "planted-secret-5")
	folder, answers := record(t, echo, r)
	if !strings.Contains(answers[0], key) {
		t.Fatal("the caller's answer was changed")
	}
	files, _ := filepath.Glob(filepath.Join(folder, "*"))
	if len(files) != 1 {
		t.Fatalf("got %v, want one file", files)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte("planted-secret")) {
		t.Errorf("a secret was kept:\n%s", data)
	}
	if !bytes.Contains(data, []byte(`"max_tokens": 5`)) || !bytes.Contains(data, []byte(`"type": "string"`)) {
		t.Errorf("more than secrets is gone:\n%s", data)
	}
	if info, _ := os.Stat(files[0]); info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v", info.Mode())
	}
}

func TestAFolderThatIsNotOfRecordings(t *testing.T) {
	folder := t.TempDir()
	if _, err := cassette.NewPlayer(folder, 1); err == nil || hint.Of(err) == "" {
		t.Errorf("an empty folder: got %v", err)
	}
	if _, err := cassette.NewPlayer(filepath.Join(folder, "nowhere"), 1); err == nil || hint.Of(err) == "" {
		t.Errorf("no folder: got %v", err)
	}
	tape := cassette.Tape{Request: cassette.NewRequest("POST", "/chat/completions", "", []byte(hello)), Answer: cassette.Answer{Status: 200}}
	good, err := cassette.Marshal(tape)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ data, want string }{
		"an edited request":   {strings.Replace(string(good), "Hello", "Hallo", 1), "its hash is not that of its request"},
		"a later version":     {strings.Replace(string(good), `"cassette": 1`, `"cassette": 2`, 1), "its version is 2"},
		"an unknown member":   {strings.Replace(string(good), `"cassette"`, `"x": 1, "cassette"`, 1), "unknown field"},
		"no JSON":             {"x", "reading a recording"},
		"a status that is no": {strings.Replace(string(good), "200", "20", 1), "status is 20"},
	} {
		if err := os.WriteFile(filepath.Join(folder, "x-1.json"), []byte(c.data), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := cassette.Load(folder); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "x-1.json") {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	// Formatted anew, as tools do with JSON, it is the same recording.
	var compact bytes.Buffer
	if err := json.Compact(&compact, good); err != nil {
		t.Fatal(err)
	}
	if _, err := cassette.Parse(compact.Bytes()); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	good, _ := cassette.Marshal(cassette.Tape{Request: cassette.NewRequest("POST", "/x", "x=1", []byte(hello)), Answer: cassette.Answer{Status: 200, Chunks: []cassette.Chunk{{Text: "x"}}}})
	f.Add(good)
	f.Add([]byte(`{"cassette":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tape, err := cassette.Parse(data)
		if err != nil {
			return
		}
		again, err := cassette.Marshal(tape)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cassette.Parse(again); err != nil {
			t.Fatalf("what was read cannot be written and read again: %v", err)
		}
	})
}

func TestSecretsStayOutInEverySpelling(t *testing.T) {
	const key = `sk/planted+<secret>&"0123"`
	quoted, _ := json.Marshal(key)
	echo := func(w http.ResponseWriter, r *http.Request) {
		for _, text := range []string{
			key, string(quoted), strings.ReplaceAll(string(quoted), "/", `\/`), r.URL.RawQuery,
			strings.NewReplacer(`"`, `\"`, "/", `\/`).Replace(key), strings.NewReplacer("u003c", "u003C", "u003e", "u003E", "+", `\u002B`).Replace(string(quoted)),
		} {
			_, _ = io.WriteString(w, text+"\n")
		}
	}
	body := `{"model":"m","openai_api_key":"planted-secret-1",` + string(quoted) + `:1}`
	for name, send := range map[string]func(*http.Request){
		"a bearer":              func(r *http.Request) { r.Header.Set("authorization", "bearer  "+key) },
		"a longer one besides":  func(r *http.Request) { r.Header.Set("Authorization", key[:12]); r.Header.Set("Api-Key", key) },
		"a provider's header":   func(r *http.Request) { r.Header.Set("X-Goog-Api-Key", key) },
		"the query":             func(r *http.Request) { r.URL.RawQuery = "key=" + url.QueryEscape(key) },
		"the query, of another": func(r *http.Request) { r.URL.RawQuery = "api_key=" + url.QueryEscape(key) },
	} {
		t.Run(name, func(t *testing.T) {
			r := chat(body)
			send(r)
			folder, _ := record(t, echo, r)
			tapes, err := cassette.Load(folder)
			if err != nil || len(tapes) != 1 {
				t.Fatalf("got %d recordings, %v", len(tapes), err)
			}
			kept := tapes[0].Tape.Request.Text() + "\n" + string(tapes[0].Tape.Answer.Bytes())
			for _, part := range []string{"planted", "0123"} {
				if strings.Contains(kept, part) {
					t.Errorf("a secret was kept:\n%s", kept)
				}
			}
			again := httptest.NewRequest(http.MethodPost, "/chat/completions", strings.NewReader(body))
			send(again)
			answer := httptest.NewRecorder()
			player(t, folder, 0).ServeHTTP(answer, again)
			if answer.Code != http.StatusOK {
				t.Errorf("got %d, want the recording, with the same key", answer.Code)
			}
		})
	}
}
