package dtql

import (
	"math/rand/v2"
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
		sameAsTheLibrary(t, text)
	})
}

// sameAsTheLibrary reports whether text was read the short way, and fails the test when the library reads it otherwise.
func sameAsTheLibrary(t *testing.T, text []byte) bool {
	t.Helper()
	fast, ok := readFast(text)
	if !ok {
		return false
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
	return true
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

// What people write, and what Marshal writes, takes the short way; all that is rare takes the long one.
func TestWhatIsRead(t *testing.T) {
	canonical, err := os.ReadFile("testdata/everything.canonical.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		string(canonical), "from: {name: a}", "{from: {name: a}}\n", "# why\nfrom:\n  name: a # b\n\nlimit: 1\n",
		"{\n\t\"from\": {\r\n\t\t\"name\" : \"\\ud83e\\udd5a\"}}", "from: {\"name\":\"a\"}", "groupBy:\n- field: a\n- field: 'it''s'\n", "where: {isNull: {value: -1.5e-3}}",
	} {
		if _, ok := readFast([]byte(text)); !ok {
			t.Errorf("declined: %q", text)
		}
	}
	for _, text := range []string{
		"", "# nothing", "---\na: b", "%YAML 1.2\n---\na: b", "a: b\n...\n", "a: &b c", "a: *b", "a: !b c", "a: |\n  b\n", "a:\n", "a: b\n  c", "a: \"b\n  c\"", "a: 'b\n  c'",
		"a:\tb", "a: b\r\n", "\ufeffa: b", "a: b\u2028", "a: b\u0085", "a: \x7f", "a: \ufffe", "a: [b, ]", "a: [b: c]", "a: {b}", "a: {b: }", "a: [# b\nc]", "a: \"\\x41\"", "a: \"\\ud83e\"",
		"? a\n: b", "<<: a", "a: b: c", "a: {b: c\n}", "[a, b", "a: [b]: c", "a: 'b", "a: \"b", "a: -", "-", "- - \n", "a b: c", "a: b\n c: d", strings.Repeat("[", 40) + strings.Repeat("]", 40),
		"a: [b:]", "a: {b: c} d",
	} {
		if n, ok := readFast([]byte(text)); ok {
			t.Errorf("read: %q as %+v", text, n)
		}
	}
}

// Short texts of the characters that mean something, at random: what the short way reads of them, the library reads alike.
func TestShortWayAtRandom(t *testing.T) {
	tokens := []string{"a", "b: ", "c:\n", "- ", "\n", "\n  ", "\n    ", " ", "{", "}", "[", "]", ",", ", ", ": ", ":", "'", "\"", "#", " #", "0", "-", "?", "é", "'x'", "\"y\"", "''", "\\", "|", "=", "<<", "{a: b}", "[a, b]", "d: e\n", "- f\n"}
	rounds := 20_000
	if os.Getenv("CHATWRIGHT_TESTS") == "all" {
		rounds = 1_000_000
	}
	random := rand.New(rand.NewPCG(1, 2))
	read := 0
	for range rounds {
		var b strings.Builder
		for range 1 + random.IntN(12) {
			b.WriteString(tokens[random.IntN(len(tokens))])
		}
		if sameAsTheLibrary(t, []byte(b.String())) {
			read++
		}
	}
	if read < rounds/50 {
		t.Errorf("only %d of %d were read: this proves little", read, rounds)
	}
}
