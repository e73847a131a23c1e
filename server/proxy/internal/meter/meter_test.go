package meter_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"chatwright.dev/tray/server/proxy/internal/meter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// read gives the bytes to a meter in pieces of a size, and returns what it read.
func read(format meter.Format, coding, text string, size int) meter.Reading {
	m := meter.NewReader().Answer(format, coding)
	for rest := []byte(text); len(rest) > 0; {
		n := min(size, len(rest))
		m.Write(rest[:n])
		rest = rest[n:]
	}
	return m.Close()
}

func TestEventStreamsAreUnderstoodHoweverTheyAreWritten(t *testing.T) { // gateway.md 4
	const chunk = `{"model":"m","choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`
	for name, stream := range map[string]string{
		"LF":                           "data: " + chunk + "\n\ndata: [DONE]\n\n",
		"CR LF":                        "data: " + chunk + "\r\n\r\ndata: [DONE]\r\n\r\n",
		"CR":                           "data: " + chunk + "\r\rdata: [DONE]\r\r",
		"no space":                     "data:" + chunk + "\n\ndata:[DONE]\n\n",
		"comments":                     ": ping\n\n:\ndata: " + chunk + "\n: more\n\ndata: [DONE]\n\n",
		"other fields":                 "id: 1\nretry: 5\nevent: message\ndata: " + chunk + "\n\ndata: [DONE]\n\n",
		"data over several lines":      "data: " + strings.ReplaceAll(chunk, ",", "\ndata: ,\ndata:") + "\n\ndata: [DONE]\n\n",
		"no newline at the end":        "data: " + chunk + "\n\ndata: [DONE]",
		"one newline at the end":       "data: " + chunk + "\n\ndata: [DONE]\n",
		"a byte order mark":            "\uFEFFdata: " + chunk + "\n\ndata: [DONE]\n\n",
		"space around the marker":      "data: " + chunk + "\n\ndata:   [DONE] \n\n",
		"longer names that look alike": "database: [DONE]\ndat: x\ndata: " + chunk + "\n\ndata: [DONE]\n\n",
	} {
		for _, size := range []int{1, 2, 3, 1 << 20} {
			t.Run(fmt.Sprintf("%s in pieces of %d", name, size), func(t *testing.T) {
				got := read(meter.EventStream, "", stream, size)
				if got.FirstToken.IsZero() {
					t.Error("the token was not seen")
				}
				if got.Model != "m" || got.FinishReason != "stop" || got.Prompt != 3 || got.Completion != 4 ||
					!got.UsageKnown || got.Events != 1 || !got.Done || got.Failed {
					t.Errorf("got %+v", got)
				}
			})
		}
	}
}

func TestWhatIsNoEndMarker(t *testing.T) {
	for _, data := range []string{"[DONE]x", "[DONE] x", "x [DONE]", "[DON", "DONE", `{"a":"[DONE]"}`, "[DONE"} {
		if got := read(meter.EventStream, "", "data: "+data+"\n\n", 64); got.Done || got.Events != 1 {
			t.Errorf("%q: got done %v, %d events; want false, 1", data, got.Done, got.Events)
		}
	}
}

func TestTheFirstTokenIsTheFirstThatAModelSays(t *testing.T) { // gateway.md 17
	event := func(delta string) string { return `data: {"choices":[{"delta":` + delta + `}]}` + "\n\n" }
	for delta, want := range map[string]bool{
		`{"role":"assistant"}`:                false,
		`{"role":"assistant","content":""}`:   false,
		`{"role":"assistant","content":null}`: false,
		`{"tool_calls":[]}`:                   false,
		`{"tool_calls":null}`:                 false,
		`{}`:                                  false,
		`{"content":"x"}`:                     true,
		`{"content":" "}`:                     true,
		`{"content":[{"type":"text"}]}`:       true,
		`{"reasoning_content":"x"}`:           true,
		`{"reasoning":"x"}`:                   true,
		`{"tool_calls":[{"index":0}]}`:        true,
		`{"function_call":{"name":"f"}}`:      true,
		`{"refusal":"no"}`:                    true,
		`{"unknown":{"content":"x","delta":{"content":"x"}}}`: false,
	} {
		if got := read(meter.EventStream, "", event(delta), 5); got.FirstToken.IsZero() == want {
			t.Errorf("%s: got a token: %v, want %v", delta, !want, want)
		}
	}
}

func TestUsageFromWhateverCarriesIt(t *testing.T) { // gateway.md 18
	for name, c := range map[string]struct {
		text               string
		prompt, completion int64
		known              bool
		rate               float64
	}{
		"OpenAI":                        {`{"usage":{"prompt_tokens":3,"completion_tokens":4}}`, 3, 4, true, 0},
		"OpenAI with no choices":        {`{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}`, 3, 4, true, 0},
		"zero is known":                 {`{"usage":{"prompt_tokens":0,"completion_tokens":0}}`, 0, 0, true, 0},
		"only one of them":              {`{"usage":{"prompt_tokens":3}}`, 3, 0, true, 0},
		"null":                          {`{"usage":null}`, 0, 0, false, 0},
		"null counts":                   {`{"usage":{"prompt_tokens":null}}`, 0, 0, false, 0},
		"nothing":                       {`{"choices":[]}`, 0, 0, false, 0},
		"no numbers":                    {`{"usage":{"prompt_tokens":"3","completion_tokens":[4]}}`, 0, 0, false, 0},
		"not to be believed":            {`{"usage":{"prompt_tokens":-1,"completion_tokens":1e300}}`, 0, 0, false, 0},
		"beyond what a float can hold":  {`{"timings":{"predicted_per_second":1e999}}`, 0, 0, false, 0},
		"written as a fraction":         {`{"usage":{"prompt_tokens":3.0,"completion_tokens":4e0}}`, 3, 4, true, 0},
		"in another place":              {`{"x":{"usage":{"prompt_tokens":3}}}`, 0, 0, false, 0},
		"details do not count":          {`{"usage":{"prompt_tokens_details":{"prompt_tokens":9}}}`, 0, 0, false, 0},
		"llama.cpp":                     {`{"timings":{"prompt_n":3,"predicted_n":4,"predicted_per_second":38.5}}`, 3, 4, true, 38.5},
		"llama.cpp with a cached part":  {`{"timings":{"cache_n":10,"prompt_n":3,"predicted_n":4}}`, 13, 4, true, 0},
		"llama.cpp with usage too":      {`{"usage":{"prompt_tokens":13,"completion_tokens":5},"timings":{"cache_n":1,"prompt_n":3,"predicted_n":4,"predicted_per_second":9}}`, 13, 5, true, 9},
		"Ollama":                        {`{"prompt_eval_count":3,"eval_count":4,"eval_duration":2000000000}`, 3, 4, true, 2},
		"Groq":                          {`{"x_groq":{"usage":{"prompt_tokens":3,"completion_tokens":4}}}`, 3, 4, true, 0},
		"a list around it":              {`[{"usage":{"prompt_tokens":3,"completion_tokens":4}}]`, 3, 4, true, 0},
		"white space everywhere":        {" {\n\t\"usage\" : { \"prompt_tokens\" : 3 , \"completion_tokens\" : 4 } } ", 3, 4, true, 0},
		"escapes in a name":             {`{"us\u0061ge":{"prompt_tokens":3}}`, 3, 0, true, 0},
		"behind what hides its bracket": {`{"a":"}]\"","b":[{"c":"]"}],"usage":{"prompt_tokens":3}}`, 3, 0, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, format := range []meter.Format{meter.JSON, meter.EventStream, meter.JSONLines} {
				text := c.text
				switch format {
				case meter.EventStream:
					text = "data: " + strings.ReplaceAll(text, "\n", "\ndata: ") + "\n\n"
				case meter.JSONLines:
					text = strings.ReplaceAll(text, "\n", " ") + "\n"
				}
				got := read(format, "", text, 3)
				if got.Prompt != c.prompt || got.Completion != c.completion || got.UsageKnown != c.known || got.Rate != c.rate {
					t.Errorf("format %d: got %d, %d, %v, %v; want %d, %d, %v, %v", format,
						got.Prompt, got.Completion, got.UsageKnown, got.Rate, c.prompt, c.completion, c.known, c.rate)
				}
			}
		})
	}
}

func TestErrorsInWhateverWords(t *testing.T) {
	for text, want := range map[string]string{
		`{"error":{"message":"stopped","type":"x"}}`: "stopped",
		`{"error":"stopped"}`:                        "stopped",
		`[{"error":{"message":"stopped"}}]`:          "stopped",
		`{"object":"error","message":"stopped"}`:     "stopped",
		`{"error":{"code":5}}`:                       "",
	} {
		got := read(meter.EventStream, "", "data: "+text+"\n\n", 4)
		if !got.Failed || got.Error != want {
			t.Errorf("%s: got failed %v, %q; want true, %q", text, got.Failed, got.Error, want)
		}
	}
	for _, text := range []string{`{"error":null,"choices":[{}]}`, `{"error":"","choices":[]}`, `{"error":false}`, `{"choices":[{"error":{}}]}`} {
		if got := read(meter.EventStream, "", "data: "+text+"\n\n", 4); got.Failed {
			t.Errorf("%s: taken for an error", text)
		}
	}
	if got := read(meter.EventStream, "", "event: error\ndata: out of memory\n\n", 4); !got.Failed {
		t.Error("an event named error: not taken for one")
	}
	if got := read(meter.JSON, "", `{"detail":"Not authenticated"}`, 4); got.Error != "Not authenticated" || got.Failed {
		t.Errorf("detail: got %q, failed %v; want the text for an answer whose status says error", got.Error, got.Failed)
	}
}

func TestJSONLinesAreEvents(t *testing.T) {
	got := read(meter.JSONLines, "", `{"model":"m","message":{"role":"assistant","content":"Hi"},"done":false}`+"\n"+
		`{"model":"m","message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":4}`, 5)
	if got.Events != 2 || !got.Done || got.FinishReason != "stop" || got.FirstToken.IsZero() || got.Completion != 4 {
		t.Errorf("got %+v", got)
	}
}

func TestForeignTextIsBoundedAndValid(t *testing.T) {
	for name, c := range map[string]struct{ written, want string }{
		"a megabyte":             {strings.Repeat("m", 1<<20), strings.Repeat("m", 200)},
		"cut through a letter":   {strings.Repeat("m", 199) + "é" + "x", strings.Repeat("m", 199)},
		"escaped letters":        {strings.Repeat(`\u00e9`, 300), strings.Repeat("é", 100)},
		"a pair of surrogates":   {`\ud83d\ude00`, "😀"},
		"half a pair":            {`a\ud83dz`, "a\uFFFDz"},
		"the second half alone":  {`a\ude00z`, "a\uFFFDz"},
		"two first halves":       {`\ud83d\ud83d\ude00`, "\uFFFD😀"},
		"half a pair at the end": {`a\ud83d`, "a\uFFFD"},
		"half a pair, escape":    {`\ud83d\n.`, "\uFFFD ."},
		"invalid UTF-8":          {"a\xffb", "a\uFFFDb"},
		"control characters":     {`a\u001b[31m\nb`, "a [31m b"},
		"quotes and backslashes": {`\"\\\/`, `"\/`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 4096} {
				got := read(meter.JSON, "", `{"model":"`+c.written+`"}`, size).Model
				if got != c.want {
					t.Errorf("in pieces of %d: got %q, want %q", size, got, c.want)
				}
				if !utf8.ValidString(got) || len(got) > 200 {
					t.Errorf("in pieces of %d: %d bytes, valid %v", size, len(got), utf8.ValidString(got))
				}
			}
		})
	}
}

func TestRequest(t *testing.T) {
	for text, want := range map[string][3]string{
		`{"model":"m","stream":true,"response_format":{"type":"json_schema","json_schema":{"type":"x"}}}`: {"m", "true", "json_schema"},
		`{"messages":[{"model":"no","stream":true}],"model":"m"}`:                                         {"m", "false", ""},
		`{"model":"a","model":"b","stream":true,"stream":false}`:                                          {"b", "false", ""},
		`{"model":5,"stream":"true","response_format":"x"}`:                                               {"", "false", ""},
		`{"model":"m","stream":true`:                                                                      {"m", "true", ""},
		`not json, "model":"m"`:                                                                           {"", "false", ""},
		``:                                                                                                {"", "false", ""},
	} {
		for _, size := range []int{1, 100} {
			q := meter.NewReader().Request()
			for rest := []byte(text + " "); len(rest) > 0; rest = rest[min(size, len(rest)):] {
				q.Write(rest[:min(size, len(rest))])
			}
			if got := [3]string{q.Model, fmt.Sprint(q.Stream), q.ResponseFormat}; got != want {
				t.Errorf("%s: got %v, want %v", text, got, want)
			}
		}
	}
}

// compress packs text as a content coding does.
func compress(t testing.TB, coding, text string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "bare deflate":
		w, _ = flate.NewWriter(&b, flate.DefaultCompression)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		w, _ = zstd.NewWriter(&b)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCompressedAnswersAreRead(t *testing.T) { // gateway.md 2
	const text = `{"model":"m","usage":{"prompt_tokens":3,"completion_tokens":4}}`
	for _, coding := range []string{"gzip", "deflate", "bare deflate", "br", "zstd"} {
		t.Run(coding, func(t *testing.T) {
			packed := compress(t, coding, text)
			header := strings.TrimPrefix(coding, "bare ")
			for _, size := range []int{1, 1 << 20} {
				if got := read(meter.JSON, header, packed, size); got.Completion != 4 || got.Model != "m" {
					t.Errorf("in pieces of %d: got %+v", size, got)
				}
			}
			if got := read(meter.JSON, header, packed[:len(packed)/2], 8); got.Failed {
				t.Errorf("cut short: got %+v", got)
			}
			if got := read(meter.JSON, header, "this is not "+coding, 8); got.UsageKnown {
				t.Errorf("garbage: got %+v", got)
			}
		})
	}
	if got := read(meter.JSON, "unheard-of", text, 8); got.UsageKnown {
		t.Errorf("an unknown coding was read: %+v", got)
	}
	if got := read(meter.JSON, "Identity", text, 8); !got.UsageKnown {
		t.Error("identity was not read")
	}
}

func TestASmallAnswerThatUnpacksToVeryMuchIsGivenUp(t *testing.T) {
	// What is packed in parts is one text when unpacked.
	bomb := compress(t, "gzip", `{"a":"`) + strings.Repeat(compress(t, "gzip", strings.Repeat(" ", 1<<20)), 65) +
		compress(t, "gzip", `","usage":{"prompt_tokens":3}}`)
	if got := read(meter.JSON, "gzip", bomb, 4096); got.UsageKnown {
		t.Error("what is behind 64 MiB was read")
	}
}

func TestMemoryDoesNotGrowWithTheAnswer(t *testing.T) { // gateway.md 4, 9
	piece := bytes.Repeat([]byte("x"), 64<<10)
	grew := func(format meter.Format, before, after string, pieces int) (meter.Reading, uint64) {
		m := meter.NewReader().Answer(format, "")
		var start, end runtime.MemStats
		runtime.ReadMemStats(&start)
		m.Write([]byte(before))
		for range pieces {
			m.Write(piece)
		}
		m.Write([]byte(after))
		runtime.ReadMemStats(&end)
		return m.Close(), end.TotalAlloc - start.TotalAlloc
	}
	const usage = `"usage":{"prompt_tokens":3,"completion_tokens":4}}`
	got, bytes := grew(meter.JSON, `{"choices":[{"message":{"content":"`, `"}}],`+usage, 1600)
	if got.Completion != 4 || bytes > 64<<10 {
		t.Errorf("100 MiB of JSON: got %d tokens and %d bytes allocated; want 4 and next to none", got.Completion, bytes)
	}
	got, bytes = grew(meter.EventStream, `data: {"choices":[{"delta":{"content":"`, `"}}],`+usage+"\n\n", 64)
	if got.Completion != 4 || got.FirstToken.IsZero() || bytes > 64<<10 {
		t.Errorf("a data line of 4 MiB: got %d tokens and %d bytes allocated; want 4 and next to none", got.Completion, bytes)
	}
}

// An event that breaks off inside a surrogate pair does not reach into the next.
func TestHalfAPairAtTheEndOfAnEvent(t *testing.T) {
	m := meter.NewReader().Answer(meter.EventStream, "")
	m.Write([]byte("data: {\"model\":\"\\ud83d\n\ndata: {\"model\":\"m\",\"choices\":[]}\n\n"))
	if got := m.Close(); got.Model != "m" {
		t.Errorf("model: got %q, want %q", got.Model, "m")
	}
}
