package dtql

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// The short way reads what the library reads, or declines.
func FuzzFast(f *testing.F) {
	for _, file := range []string{"testdata/everything.yaml", "testdata/everything.canonical.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, seed := range fastSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 4<<10 || !utf8.Valid(text) || strings.Contains(string(text), `\u`) {
			return
		}
		fast, ok := readFast(text)
		if !ok {
			return
		}
		slow, err := readYAML(text)
		if err != nil {
			t.Fatalf("%q is accepted: %v\n%+v", text, err, fast)
		}
		trim(fast)
		trim(slow)
		if !reflect.DeepEqual(fast, slow) {
			t.Fatalf("%q\ngot  %+v\nwant %+v", text, fast, slow)
		}
	})
}

// trim makes an empty list of items the same whoever made it.
func trim(n *node) {
	if n.kind != scalar {
		n.value = ""
	}
	if len(n.items) == 0 {
		n.items = nil
	}
	for i := range n.items {
		trim(&n.items[i])
	}
}

var fastSeeds = []string{
	"a: b\nc: {d: e, f: [g, 'h''i', \"j\\nk\"]}\n", "- a\n- - b\n  - c\n- d: e\n  f: g\n", "a:\n- b\n- c\nd:\n  - e\n", "a: b # c\n# d\n\ne: f#g\n",
	"{\"a\": [1, 2, {\"b\": null}],\n\t\"c\":\"d\"}", "a: b\n  c\n", "a: http://b:c\n", "[a:b, c d ]", "{a: b\n}", "a: {b: c\n}", "a: -1\nb: - c\n", "? a\n: b\n", "a: 'b' c\n", "a:\n    b: c\n  d: e\n",
	"ä: ö\nü: {ß: é}\n", "- a: b\n- c: d\nx: y\n", "a: [b, c,]\n", "{a, b: c}", "a: b: c\n", "\"a\": b\n", "a: *b\n", "=: a\n", "a: =\n",
}
