package httpx_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"chatwright.dev/tray/server/internal/httpx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// companion.md: JSON answers end with a newline and say their charset.
func TestWriteJSON(t *testing.T) {
	for name, c := range map[string]struct {
		value  any
		status int
		body   string
	}{
		"an object":                 {map[string]string{"error": "<a> & b"}, 404, `{"error":"<a> & b"}` + "\n"},
		"nothing":                   {nil, 200, "null\n"},
		"what cannot be marshalled": {math.NaN(), 500, `{"error":"encoding the answer failed"}` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			status := c.status
			if status == 500 {
				status = 200
			}
			httpx.WriteJSON(w, status, c.value)
			if w.Code != c.status || w.Body.String() != c.body {
				t.Errorf("got %d %q, want %d %q", w.Code, w.Body, c.status, c.body)
			}
			for name, want := range map[string]string{
				"Content-Type":           "application/json; charset=utf-8",
				"Content-Length":         fmt.Sprint(len(c.body)),
				"X-Content-Type-Options": "nosniff",
			} {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s: got %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestFormatSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 300: "300 bytes", 1023: "1023 bytes", 1 << 10: "1 KiB", 1536: "1.5 KiB", 64 << 10: "64 KiB",
		1 << 20: "1 MiB", 64 << 20: "64 MiB", 3 << 29: "1.5 GiB", 1<<20 + 1: "1 MiB",
	} {
		if got := httpx.FormatSize(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

// security.md 5: over the cap the error names it, whether the length was announced or not.
func TestReadBody(t *testing.T) {
	for name, c := range map[string]struct {
		body     io.Reader
		announce int64
		over     bool
		broken   bool
	}{
		"empty":                    {strings.NewReader(""), 0, false, false},
		"exactly the cap":          {strings.NewReader("12345678"), 8, false, false},
		"one byte over, announced": {strings.NewReader("123456789"), 9, true, false},
		"one byte over, chunked":   {strings.NewReader("123456789"), -1, true, false},
		"broken off":               {io.MultiReader(strings.NewReader("12"), brokenReader{}), -1, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/", c.body)
			r.ContentLength = c.announce
			body, err := httpx.ReadBody(httptest.NewRecorder(), r, 8)
			tooLarge, over := errors.AsType[*httpx.TooLargeError](err)
			switch {
			case over != c.over:
				t.Fatalf("too large: got %v (%v), want %v", over, err, c.over)
			case over:
				if want := "request body is over the cap of 8 bytes"; tooLarge.Error() != want {
					t.Errorf("got %q, want %q", tooLarge, want)
				}
			case c.broken:
				if !errors.Is(err, errBroken) || !strings.HasPrefix(err.Error(), "reading request body: ") {
					t.Errorf("got %v, want the cause and what was done", err)
				}
			case err != nil || int64(len(body)) != c.announce:
				t.Errorf("got %d bytes, %v; want %d", len(body), err, c.announce)
			}
		})
	}
}

var errBroken = errors.New("broken off")

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }

func TestDecodeJSON(t *testing.T) {
	type target struct {
		A any `json:"a"`
	}
	for name, c := range map[string]struct {
		text    string
		unknown httpx.Strictness
		want    string // of A; "!" and a part of the error
	}{
		"a value":                      {`{"a":"x"}`, httpx.RefuseUnknown, "x"},
		"white space around":           {" \n{\"a\":\"x\"}\n ", httpx.RefuseUnknown, "x"},
		"numbers keep their digits":    {`{"a":12345678901234567890}`, httpx.RefuseUnknown, "12345678901234567890"},
		"an unknown member is ignored": {`{"a":"x","b":1}`, httpx.IgnoreUnknown, "x"},
		"an unknown member is refused": {`{"a":"x","b":1}`, httpx.RefuseUnknown, `!unknown field "b"`},
		"nothing":                      {"", httpx.IgnoreUnknown, "!the body is empty"},
		"white space alone":            {" \n", httpx.IgnoreUnknown, "!the body is empty"},
		"text after the value":         {`{"a":1} x`, httpx.IgnoreUnknown, "!unexpected text after the JSON value"},
		"a second value":               {`{"a":1}{"a":2}`, httpx.IgnoreUnknown, "!unexpected text after the JSON value"},
		"cut short":                    {`{"a":`, httpx.IgnoreUnknown, "!unexpected EOF"},
		"of another type":              {`[1]`, httpx.IgnoreUnknown, "!cannot unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			var got target
			err := httpx.DecodeJSON([]byte(c.text), &got, c.unknown)
			if part, wrong := strings.CutPrefix(c.want, "!"); wrong {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("got %v, want an error that says %q", err, part)
				}
				return
			}
			if err != nil || fmt.Sprint(got.A) != c.want {
				t.Errorf("got %v, %v; want %s", got.A, err, c.want)
			}
		})
	}
}

func FuzzDecodeJSON(f *testing.F) {
	for _, seed := range []string{`{}`, `null`, `{"a":1}x`, "\x00", `{"a":[[[]]]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var loose, strict any
		okLoose := httpx.DecodeJSON(text, &loose, httpx.IgnoreUnknown) == nil
		okStrict := httpx.DecodeJSON(text, &strict, httpx.RefuseUnknown) == nil
		if okLoose != okStrict { // an any has no unknown members
			t.Errorf("loose %v, strict %v", okLoose, okStrict)
		}
	})
}

// An event stream over a real socket: its header at once, each event as it is sent, one line of data each.
func TestEventStream(t *testing.T) {
	next := make(chan func(*httpx.EventStream) error)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s, err := httpx.StartEvents(w, 1500*time.Millisecond, time.Second)
		if err != nil {
			t.Error(err)
			return
		}
		defer s.Close()
		for send := range next {
			if err := send(s); err != nil {
				t.Error(err)
			}
		}
	}))
	defer server.Close()
	answer, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no",
		"X-Content-Type-Options": "nosniff",
	} {
		if got := answer.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	lines := bufio.NewReader(answer.Body)
	event := func() string {
		text := ""
		for {
			line, err := lines.ReadString('\n')
			if text += line; err != nil || line == "\n" {
				return text
			}
		}
	}
	if got, want := event(), "retry: 1500\n\n"; got != want {
		t.Errorf("first: got %q, want %q", got, want)
	}
	for _, c := range []struct {
		send func(*httpx.EventStream) error
		want string
	}{
		{func(s *httpx.EventStream) error { return s.Send("", "", 1) }, "data: 1\n\n"},
		{func(s *httpx.EventStream) error { return s.Send("7", "call", map[string]string{"a": "<\n>"}) },
			"id: 7\nevent: call\ndata: {\"a\":\"<\\n>\"}\n\n"},
		{func(s *httpx.EventStream) error { return s.Ping() }, ": ping\n\n"},
		{func(s *httpx.EventStream) error {
			s.Add(8, []byte(`{"a":1}`))
			s.Add(18446744073709551615, []byte(`{}`))
			return s.Flush()
		}, "id: 8\ndata: {\"a\":1}\n\n"},
		{func(*httpx.EventStream) error { return nil }, "id: 18446744073709551615\ndata: {}\n\n"}, // which came along
		{func(s *httpx.EventStream) error {
			if s.Send("9", "lost", math.NaN()) == nil {
				t.Error("what cannot be marshalled was sent")
			}
			return s.Send("8", "", "whole")
		}, "id: 8\ndata: \"whole\"\n\n"},
	} {
		next <- c.send
		if got := event(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	close(next)
	if rest, err := io.ReadAll(lines); err != nil || len(rest) != 0 {
		t.Errorf("the end: got %q, %v; want a clean one", rest, err)
	}
}

// A client that stops reading costs no more than the deadline of one write.
func TestAClientThatStopsReading(t *testing.T) {
	ended := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s, err := httpx.StartEvents(w, time.Second, 50*time.Millisecond)
		for err == nil {
			err = s.Send("", "", strings.Repeat("x", 1<<20))
		}
		ended <- err
	}))
	defer server.Close()
	answer, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the stream still waits for a client that does not read")
	}
}
