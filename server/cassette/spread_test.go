package cassette_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"chatwright.dev/tray/server/cassette"
)

const planted = "sk/planted-Secret+0123456789"

// the only recording of a call with the planted key, whose answer h writes.
func tapeOf(t *testing.T, h http.HandlerFunc) cassette.Tape {
	t.Helper()
	r := chat(hello)
	r.Header.Set("Authorization", "Bearer "+planted)
	folder, _ := record(t, h, r)
	return onlyOne(t, folder)
}

func onlyOne(t *testing.T, folder string) cassette.Tape {
	t.Helper()
	tapes, err := cassette.Load(folder)
	if err != nil || len(tapes) != 1 {
		t.Fatalf("got %d recordings, %v; want one", len(tapes), err)
	}
	return tapes[0].Tape
}

// inPieces answers with pieces, each flushed.
func inPieces(kind string, pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		for _, piece := range pieces {
			_, _ = io.WriteString(w, piece)
			w.(http.Flusher).Flush()
		}
	}
}

// split cuts a text into pieces of n bytes.
func split(text string, n int) (pieces []string) {
	for piece := range slices.Chunk([]byte(text), n) {
		pieces = append(pieces, string(piece))
	}
	return pieces
}

func delta(choice int, text string) string {
	return fmt.Sprintf(`{"choices":[{"delta":{"content":%q},"index":%d}]}`, text, choice)
}

// said is what the events of a recording say, by their choice.
func said(t *testing.T, answer string) map[int]string {
	t.Helper()
	all := map[int]string{}
	for line := range strings.Lines(answer) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data:")
		if !ok || strings.TrimSpace(data) == "[DONE]" {
			continue
		}
		var event struct {
			Choices []struct {
				Index int
				Delta struct{ Content string }
			}
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			t.Fatalf("an event is broken: %v in %s", err, line)
		}
		for _, c := range event.Choices {
			all[c.Index] += c.Delta.Content
		}
	}
	return all
}

// A model that repeats the key says it in many events, a few characters in each, and other choices between them.
func TestAKeyThatIsSpreadOverEventsStaysOut(t *testing.T) {
	for _, size := range []int{1, 3, 11, 100} {
		var events []string
		for _, piece := range split("My key is "+planted+", and that is "+planted+".", size) {
			events = append(events, "data: "+delta(0, piece)+"\n\n", "data: "+delta(1, "x")+"\n\n")
		}
		tape := tapeOf(t, inPieces("text/event-stream", append(events, "data: [DONE]\n\n")...))
		got := said(t, string(tape.Answer.Bytes()))
		if want := "My key is «redacted», and that is «redacted»."; got[0] != want || got[1] != strings.Repeat("x", len(events)/2) {
			t.Errorf("pieces of %d: got %q, want %q", size, got[0], want)
		}
	}
}

func TestAKeyThatIsSpreadStaysOut(t *testing.T) {
	lines := func(format, text string, size int) (out []string) {
		for _, piece := range split(text, size) {
			out = append(out, fmt.Sprintf(format, piece))
		}
		return out
	}
	hidden := func(text string) (out string) {
		for _, r := range text {
			out += fmt.Sprintf(`\u%04X`, r)
		}
		return out
	}
	quoted := func(text string) string { q, _ := json.Marshal(text); return string(q) }
	slashed := strings.ReplaceAll(planted, "/", `\/`)
	for name, c := range map[string]struct {
		pieces []string
		want   string // what the recording holds, in one
	}{
		"over chunks":                {split("a "+planted+" b", 7), "a «redacted» b"},
		"over chunks, one by one":    {split(planted+planted, 1), "«redacted»«redacted»"},
		"as JSON may write it":       {split(`{"error":"no `+slashed+`!"}`, 9), `{"error":"no «redacted»!"}`},
		"as code units":              {split(`{"error":"no `+hidden(planted)+`!"}`, 4), `{"error":"no «redacted»!"}`},
		"in JSON within JSON":        {split(`{"arguments":`+quoted(`{"key":"`+slashed+`"}`)+`}`, 5), `{"arguments":"{\"key\":\"«redacted»\"}"}`},
		"hidden in JSON within JSON": {[]string{`{"arguments":` + quoted(`{"key":"`+hidden(planted)+`"}`) + `}`}, `{"arguments":"{\"key\":\"«redacted»\"}"}`},
		"in lines of JSON":           {lines(`{"message":{"content":"%s"},"done":false}`+"\n", planted, 14), `{"message":{"content":"«redacted»"},"done":false}` + "\n" + `{"message":{"content":""},"done":false}` + "\n"},
		"in events of plain text":    {lines("data: %s\n\n", planted, 14), "data: «redacted»\n\ndata: \n\n"},
		"hidden in events": {[]string{`data: {"a":"` + hidden(planted[:9]) + `"}` + "\n\n", `data: {"a":"` + planted[9:] + ` ü"}` + "\n\n"},
			`data: {"a":"«redacted»"}` + "\n\n" + `data: {"a":" ü"}` + "\n\n"},
		"beside other escapes": {[]string{`{"a":"\ud83d\ude00\n\"` + slashed + `\\ \u00fc \x \u12"}`}, `{"a":"\ud83d\ude00\n\"«redacted»\\ \u00fc \x \u12"}`},
		"in a URL":             {[]string{"https://x/?k=sk%2Fplanted-Secret%2B0123456789&b"}, "https://x/?k=«redacted»&b"},
		"not at all":           {[]string{`data: {"a":"sk/planted"}` + "\n\n", `data: {"b":"-Secret+0123456789"}` + "\n\n"}, `data: {"a":"sk/planted"}` + "\n\n" + `data: {"b":"-Secret+0123456789"}` + "\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			tape := tapeOf(t, inPieces("text/plain", c.pieces...))
			if got := string(tape.Answer.Bytes()); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// What is redacted leaves the chunks as they were, and when they came.
func TestRedactedAnswersKeepTheirTimings(t *testing.T) {
	tape := heard(t, 1<<20, nil, "before ", "sk/plan", "ted-Secret+", "0123456789", " after")
	var texts []string
	for i, c := range tape.Answer.Chunks {
		if texts = append(texts, c.Text); c.AfterMs != 100 {
			t.Errorf("chunk %d came after %d ms, want 100", i, c.AfterMs)
		}
	}
	if want := []string{"before ", "«redacted»", "", "", " after"}; !slices.Equal(texts, want) {
		t.Errorf("got %q, want %q", texts, want)
	}
}

// Half a key at the end of an answer that broke off tells as well.
func TestHalfAKeyAtTheEndOfABrokenAnswerStaysOut(t *testing.T) {
	for name, c := range map[string]struct{ sent, want string }{
		"as it is":     {"key: " + planted[:len(planted)-1], "key: «redacted»"},
		"in an event":  {`data: {"a":"key: ` + planted[:12] + `"}` + "\n\n", `data: {"a":"key: «redacted»"}` + "\n\n"},
		"no half":      {"key: sk/pla", "key: sk/pla"}, // too little to tell, or to be told from a word
		"nothing else": {"key: other", "key: other"},
	} {
		tape := tapeOf(t, func(w http.ResponseWriter, r *http.Request) {
			inPieces("text/event-stream", c.sent)(w, r)
			panic(http.ErrAbortHandler)
		})
		if got := string(tape.Answer.Bytes()); got != c.want || !tape.Answer.Truncated {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// Whatever an answer is and in whatever pieces it comes, the key is not in its recording, and nothing else is gone from
// an answer that never held it.
func FuzzRedaction(f *testing.F) {
	for _, seed := range []string{planted, `data: ` + delta(0, planted[:7]) + "\n\ndata: " + delta(0, planted[7:]) + "\n\n", `{"a":"\u0073k\/planted"}`, "data: [\xff\n{\"", "\\", `\ud83d\u`} {
		f.Add(seed, uint8(3), true)
	}
	f.Fuzz(func(t *testing.T, text string, size uint8, whole bool) {
		tap := &cassette.Tap{Limit: 1 << 20, Next: roundTripper(func(*http.Request) (*http.Response, error) {
			from := io.Reader(&piecewise{pieces: split(text, int(size)+1)})
			if !whole {
				from = io.MultiReader(from, iotest.ErrReader(io.ErrUnexpectedEOF))
			}
			return &http.Response{StatusCode: 200, Body: io.NopCloser(from)}, nil
		})}
		var tape cassette.Tape
		tap.Done = func(h cassette.Heard) { tape = h.Tape() }
		r := httptest.NewRequest(http.MethodGet, "/models", nil)
		r.Header.Set("Authorization", "Bearer "+planted)
		answer, err := tap.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		got := string(tape.Answer.Bytes())
		if strings.Contains(got, planted) {
			t.Errorf("%q is recorded as %q", text, got)
		}
		if !strings.Contains(got, "«redacted»") && got != text {
			t.Errorf("%q is recorded as %q", text, got)
		}
		if data, err := cassette.Marshal(tape); err != nil {
			t.Error(err)
		} else if _, err := cassette.Parse(data); err != nil {
			t.Error(err)
		}
	})
}

// Requests with another query are other requests; a key in it is no part of them, and not in the file.
func TestQueriesAreTheRequests(t *testing.T) {
	get := func(target string) *http.Request { return httptest.NewRequest(http.MethodGet, target, nil) }
	byQuery := func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "x="+r.URL.Query().Get("x")) }
	folder, _ := record(t, byQuery, get("/v1/models?x=1&b=%2F&key=planted-1"), get("/v1/models?token=planted-2&x=2;api_key=planted-3"))
	tapes, err := cassette.Load(folder)
	if err != nil || len(tapes) != 2 {
		t.Fatalf("got %d recordings, %v", len(tapes), err)
	}
	for _, n := range tapes {
		if text := fmt.Sprintf("%+v", n); strings.Contains(text, "planted") {
			t.Errorf("a key was kept: %s", text)
		}
	}
	p := player(t, folder, 0)
	for target, want := range map[string]string{
		"/models?b=%2f&x=1":                "x=1",
		"/models?x=1&b=/&API-Key=other-89": "x=1",
		"/models?x=1&b=/&k=2":              `-1.json, which differs in query.k (which it does not have)`,
		"/models?x=3":                      `query.x ("2", here "3")`,
		"/models":                          `{"object":"list","data":[]}`,
	} {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, get(target))
		var e struct{ Error struct{ Message string } }
		_ = json.Unmarshal(w.Body.Bytes(), &e)
		if got := strings.TrimSpace(w.Body.String()); got != want && !strings.Contains(e.Error.Message, want) {
			t.Errorf("%s: got %s, want %s", target, got, want)
		}
	}
}

// Equal requests at the same time are recorded each, in the order in which their answers ended, and replayed in it.
func TestEqualRequestsAtTheSameTime(t *testing.T) {
	arrived, last := make(chan struct{}), make(chan struct{})
	model := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Slow") == "" {
			_, _ = io.WriteString(w, "quick")
			return
		}
		close(arrived)
		<-last
		_, _ = io.WriteString(w, "slow")
	}
	folder, ask := recorder(t, model)
	slow := chat(hello)
	slow.Header.Set("X-Slow", "1")
	ended := make(chan string)
	go func() { ended <- ask(slow) }()
	<-arrived
	if got := ask(chat(hello)); got != "quick" {
		t.Errorf("got %q", got)
	}
	close(last)
	if got := <-ended; got != "slow" {
		t.Errorf("got %q", got)
	}
	p := player(t, folder, 0)
	for _, want := range []string{"quick", "slow", "slow"} {
		if got := again(t, p); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	// Asked at the same time, each of two gets another.
	p = player(t, folder, 0)
	both := make(chan string)
	for range 2 {
		go func() { both <- again(t, p) }()
	}
	if got := []string{<-both, <-both}; !slices.Contains(got, "quick") || !slices.Contains(got, "slow") {
		t.Errorf("got %q, want one of each", got)
	}
}

func again(t *testing.T, p *cassette.Player) string {
	got, _ := ask(t, p, hello)
	return got.Body.String()
}
