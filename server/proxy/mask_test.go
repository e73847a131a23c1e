package proxy

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

func TestKeyIsBlankedOutWhereverItStands(t *testing.T) {
	const key = "sk-s-sk-secret"
	blanked := strings.Repeat("*", len(key))
	for name, c := range map[string]struct{ in, want string }{
		"nothing":              {"", ""},
		"no key":               {`{"choices":[]}`, `{"choices":[]}`},
		"alone":                {key, blanked},
		"within words":         {`{"error":"bad key sk-s-sk-secret given"}`, `{"error":"bad key ` + blanked + ` given"}`},
		"twice, side by side":  {key + key, blanked + blanked},
		"after a false start":  {"sk-s-sk-s-sk-secret!", "sk-s-" + blanked + "!"},
		"a beginning of it":    {"data: sk-s\n\n", "data: sk-s\n\n"},
		"a short one at last":  {"what ends in sk-s", "what ends in sk-s"},
		"cut short by the end": {"what ends in sk-s-sk-sec", "what ends in ***********"},
		"much before it":       {strings.Repeat("x", maskBuffer-3) + key + "y", strings.Repeat("x", maskBuffer-3) + blanked + "y"},
	} {
		for way, read := range map[string]func(io.Reader) io.Reader{
			"whole":      func(r io.Reader) io.Reader { return r },
			"in bytes":   iotest.OneByteReader,
			"in halves":  iotest.HalfReader,
			"end with":   iotest.DataErrReader,
			"out bytes":  func(r io.Reader) io.Reader { return r },
			"both bytes": iotest.OneByteReader,
		} {
			answer := &http.Response{Header: http.Header{"X-Echo": {"Bearer " + key}}, Trailer: http.Header{"X-End": {key}},
				Body: io.NopCloser(read(strings.NewReader(c.in)))}
			maskKey(answer, key)
			var out io.Reader = answer.Body
			if strings.HasSuffix(way, "bytes") {
				out = iotest.OneByteReader(out)
			}
			got, err := io.ReadAll(out)
			if err != nil || string(got) != c.want {
				t.Errorf("%s, %s: got %q, %v, want %q", name, way, got, err, c.want)
			}
			if got := answer.Header.Get("X-Echo") + answer.Trailer.Get("X-End"); strings.Contains(got, key) {
				t.Errorf("%s, %s: the headers say %q", name, way, got)
			}
		}
	}
}

func TestBrokenAnswerStaysBrokenBehindTheMask(t *testing.T) {
	broken := errors.New("reset")
	answer := &http.Response{Body: io.NopCloser(io.MultiReader(strings.NewReader("so far sk"), iotest.ErrReader(broken)))}
	maskKey(answer, "sk-secret-key")
	got, err := io.ReadAll(answer.Body)
	if string(got) != "so far sk" || !errors.Is(err, broken) {
		t.Errorf("got %q, %v, want all that came and the cause", got, err)
	}
}

// What a server answers may be anything; what a caller gets is that, with a key blanked out.
func FuzzMask(f *testing.F) {
	f.Add("a sk-secret-key b", 3)
	f.Add("sk-sk-secret-keysk-secret-ke", 1)
	f.Fuzz(func(t *testing.T, in string, size int) {
		const key = "sk-secret-key"
		answer := &http.Response{Body: io.NopCloser(&pieces{strings.NewReader(in), max(size, 1)})}
		maskKey(answer, key)
		got, err := io.ReadAll(answer.Body)
		if err != nil || len(got) != len(in) || strings.Contains(string(got), key) {
			t.Fatalf("got %q, %v of %q", got, err, in)
		}
		want := strings.ReplaceAll(in, key, strings.Repeat("*", len(key)))
		end := len(want) // where the end may be the beginning of a key
		for n := len(key) - 1; n >= tellingKey; n-- {
			if strings.HasSuffix(want, key[:n]) {
				end -= n
				break
			}
		}
		if string(got[:end]) != want[:end] {
			t.Errorf("got %q of %q, want %q", got, in, want)
		}
	})
}

// pieces reads at most so many bytes at once.
type pieces struct {
	from io.Reader
	size int
}

func (p *pieces) Read(b []byte) (int, error) { return p.from.Read(b[:min(len(b), p.size)]) }
