package usage_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"chatwright.dev/tray/server/proxy/internal/usage"
)

const (
	token = `data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hi"}}],"usage":null}` + "\n\n"
	extra = `data: {"id":"c","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":2}}` + "\n\n"
	done  = "data: [DONE]\n\n"
)

// gateway.md 18: the extra chunk is taken out, and nothing else is.
func TestWhatIsTakenOut(t *testing.T) {
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	cr := func(s string) string { return strings.ReplaceAll(s, "\n", "\r") }
	long := `data: {"choices":[],"usage":{"x":"` + strings.Repeat("x", 4<<20) + `"}}` + "\n\n"
	for name, c := range map[string]struct{ stream, want string }{
		"before the end marker":           {token + extra + done, token + done},
		"alone":                           {extra, ""},
		"more than one":                   {extra + token + extra + extra + done, token + done},
		"with CR LF":                      {crlf(token + extra + done), crlf(token + done)},
		"with CR":                         {cr(token + extra + done), cr(token + done)},
		"with CR, then LF":                {cr(extra) + "\n" + token, token}, // the LF ends the blank line
		"without a space":                 {strings.Replace(extra, ": {", ":{", 1) + done, done},
		"with white space in it":          {`data: { "usage" : {} , "choices" : [ ] }` + "\n\n" + done, done},
		"in lines":                        {"data: {\"choices\":[],\ndata: \"usage\":{}}\n\n" + done, done},
		"with an id and a name":           {"id: 7\nevent: message\n" + extra + done, done},
		"at the end without a blank line": {token + strings.TrimRight(extra, "\n"), token},
		"behind a comment":                {": waiting\n" + extra + done, ": waiting\n" + done},

		"a choice beside it":            {strings.Replace(token, "null", `{"prompt_tokens":1}`, 1) + done, ""},
		"a choice behind it":            {`data: {"usage":{},"choices":[ {} ]}` + "\n\n", ""},
		"null for usage":                {`data: {"choices":[],"usage":null}` + "\n\n", ""},
		"no usage":                      {`data: {"choices":[],"prompt_filter_results":[]}` + "\n\n", ""},
		"no choices":                    {`data: {"usage":{}}` + "\n\n", ""},
		"null for choices":              {`data: {"choices":null,"usage":{}}` + "\n\n", ""},
		"names in other letters":        {`data: {"Choices":[],"Usage":{}}` + "\n\n", ""},
		"in a field that is not data":   {`date: {"choices":[],"usage":{}}` + "\n\n", ""},
		"no JSON":                       {"data: {\"choices\":[],\"usage\":{}\n\n", ""},
		"longer than usage can be":      {long + done, ""},
		"comments, blank lines, fields": {":\n\n\n: usage\r\n\r\nretry: 1\n\nid\n\nx\n\n\r\r", ""},
		"a byte order mark":             {"\uFEFF" + token + done, ""},
		"a broken end":                  {token + `data: {"choices":[],"usage":{"pro`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			want := c.want
			if want == "" && name != "alone" {
				want = c.stream
			}
			readers := map[string]io.Reader{
				"whole":      strings.NewReader(c.stream),
				"with EOF":   iotest.DataErrReader(strings.NewReader(c.stream)),
				"in halves":  iotest.HalfReader(strings.NewReader(c.stream)),
				"one by one": iotest.OneByteReader(strings.NewReader(c.stream)),
			}
			for how, reader := range readers {
				got, err := io.ReadAll(usage.NewReader(io.NopCloser(reader)))
				if err != nil || string(got) != want {
					t.Errorf("%s: got %.200q, %v; want %.200q", how, got, err, want)
				}
			}
		})
	}
}

// gateway.md 1: what is not held back goes on at once.
func TestWhatPassesAtOnce(t *testing.T) {
	for name, piece := range map[string]string{
		"an event":                        token,
		"an event without its blank line": strings.TrimRight(token, "\n"),
		"a choice that has begun":         `data: {"choices":[{"del`,
		"the end marker's line":           "data: [DONE]\n",
		"a comment that has begun":        ": wai",
		"what is too long":                "data: {" + strings.Repeat(" ", 64<<10),
		"an event of something else":      "data: {}\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			pieces := make(chan string, 1)
			pieces <- piece
			r := usage.NewReader(io.NopCloser(&channelReader{from: pieces})) // which fails where it would wait
			got, err := io.ReadAll(r)
			if !errors.Is(err, errWaits) || len(got) != len(piece) {
				t.Errorf("got %d bytes, %v; want all %d", len(got), err, len(piece))
			}
		})
	}
}

var errWaits = errors.New("nothing more has come")

type channelReader struct {
	from <-chan string
	rest string
}

func (r *channelReader) Read(p []byte) (int, error) {
	if r.rest == "" {
		select {
		case r.rest = <-r.from:
		default:
			return 0, errWaits
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// FuzzReader: whatever the stream is and however it is cut, the same is taken out, and it is whole events of usage.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		token + extra + done, strings.ReplaceAll(token+extra+done, "\n", "\r\n"), extra, ":\n" + extra,
		"\uFEFFdata:[DONE]\r\rdata", "data: {\"choices\":[],\ndata: \"usage\":{}}\n\nid\n\n", "\r\n\n\r" + extra + "\r" + extra,
	} {
		f.Add([]byte(seed), []byte{0, 3, 2})
		f.Add([]byte(seed), []byte{})
	}
	f.Fuzz(func(t *testing.T, stream, cuts []byte) {
		whole, err := io.ReadAll(usage.NewReader(io.NopCloser(bytes.NewReader(stream))))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(usage.NewReader(io.NopCloser(&cutReader{stream, cuts, 0})))
		if err != nil || !bytes.Equal(got, whole) {
			t.Errorf("cut: got %q, %v; want %q", got, err, whole)
		}
		if !bytes.Contains(stream, []byte("usage")) && !bytes.Equal(whole, stream) {
			t.Errorf("got %q, want %q unchanged", whole, stream)
		}
		// Nothing is made up: what came out is what went in with pieces left out.
		rest := stream
		for _, c := range whole {
			i := bytes.IndexByte(rest, c)
			if i < 0 {
				t.Fatalf("got %q out of %q", whole, stream)
			}
			rest = rest[i+1:]
		}
		// A stream of such events between others loses just those.
		if bytes.ContainsAny(stream, "\r\n") || len(stream) == 0 {
			return
		}
		event := "data: " + string(stream) + "\n\n"
		own, _ := io.ReadAll(usage.NewReader(io.NopCloser(strings.NewReader(event))))
		mixed, _ := io.ReadAll(usage.NewReader(io.NopCloser(&cutReader{[]byte(token + event + extra + event + done), cuts, 0})))
		if want := token + string(own) + string(own) + done; string(mixed) != want {
			t.Errorf("got %q, want %q", mixed, want)
		}
	})
}

// cutReader gives its text in pieces.
type cutReader struct {
	text, cuts []byte
	n          int
}

func (r *cutReader) Read(p []byte) (int, error) {
	if len(r.text) == 0 {
		return 0, io.EOF
	}
	size := 1
	if len(r.cuts) > 0 {
		size += int(r.cuts[r.n%len(r.cuts)])
	}
	r.n++
	n := copy(p, r.text[:min(size, len(r.text))])
	r.text = r.text[n:]
	return n, nil
}
