package server

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"
)

func hashOf(code string) string {
	sum := sha256.Sum256([]byte(code))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// security.md 7: the policy of Studio, word for word.
func TestStudioPolicy(t *testing.T) {
	page := `<!doctype html><head><script>let a = 1 < 2;</script>
<link rel="stylesheet" href="styles.css" media="print" onload="this.media=&#39;all&#39;">
<script src="main.js">ignored</script></head><body></body>`
	want := "script-src 'self' 'unsafe-hashes' " + hashOf("let a = 1 < 2;") + " " + hashOf("this.media='all'") + "; " +
		"style-src 'self' 'unsafe-inline'; connect-src 'self' http://127.0.0.1:* http://localhost:* https:; " +
		"frame-src https: http://127.0.0.1:* http://localhost:*; img-src 'self' data: https:; object-src 'none'; base-uri 'self'"
	if got := studioPolicy([]byte(page)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestInlineHashes(t *testing.T) {
	for name, c := range map[string]struct {
		page string
		want []string
	}{
		"nothing inline":             {`<script src=a.js></script><p>text</p>`, nil},
		"each once":                  {`<script>a</script><script>a</script><b onclick="a">`, []string{"a"}},
		"modules and import maps":    {`<script type=module>m</script><script type=IMPORTMAP>{}</script>`, []string{"m", "{}"}},
		"old names of the language":  {`<script type="text/javascript">a</script><script type="application/ecmascript">b</script>`, []string{"a", "b"}},
		"data is not code":           {`<script type="application/json">{"a":1}</script><script type="text/template">t</script>`, nil},
		"an src that is empty":       {`<script src>a</script>`, nil},
		"entities in handlers":       {`<img onerror="f(&quot;x&quot;, 1 &amp;&amp; 2)">`, []string{`f("x", 1 && 2)`}},
		"no entities in scripts":     {`<script>a &amp;&amp; b</script>`, []string{"a &amp;&amp; b"}},
		"line endings as browsers":   {"<script>a\r\nb\rc</script>", []string{"a\nb\nc"}},
		"white space counts":         {"<script>\n  a\n</script>", []string{"\n  a\n"}},
		"capitals":                   {`<BODY ONLOAD="b"><SCRIPT>a</SCRIPT>`, []string{"b", "a"}},
		"comments that hold scripts": {`<!-- <script>a</script> -->`, nil},
		"a script within a drawing":  {`<svg><script>a</script><circle onclick="b"/></svg>`, []string{"a", "b"}},
		"an empty script":            {`<script></script>`, []string{""}},
		"not closed":                 {`<script>a`, []string{"a"}},
		"no page at all":             {"\x00\xff<", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, want := strings.Join(inlineHashes([]byte(c.page)), " "), make([]string, len(c.want))
			for i, code := range c.want {
				want[i] = hashOf(code)
			}
			if got != strings.Join(want, " ") {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// FuzzPolicy: no page can put anything into the header but hashes.
func FuzzPolicy(f *testing.F) {
	for _, seed := range []string{"<script>a</script>", "<b onclick=\"'; script-src *\">", "<svg><script>a", "\x00"} {
		f.Add(seed)
	}
	empty := studioPolicy(nil)
	f.Fuzz(func(t *testing.T, page string) {
		got := studioPolicy([]byte(page))
		for _, hash := range inlineHashes([]byte(page)) {
			got = strings.Replace(got, " "+hash, "", 1)
		}
		if got != empty {
			t.Errorf("got %q", got)
		}
	})
}
