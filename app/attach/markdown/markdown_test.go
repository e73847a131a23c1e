package markdown_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"chatwright.dev/tray/app/attach/markdown"
)

var update = flag.Bool("update", false, "write the golden files anew")

func page(columns int) markdown.Page {
	return markdown.Page{Columns: columns, Method: ansi.GraphemeWidth}
}

// The golden files are what a person sees, without styles; TestStyles has these.
func TestAnAnswerIsLaidOutForItsPage(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("testdata", "answer.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, columns := range []int{80, 40, 18} {
		lines := markdown.Render(string(source), page(columns))
		var b strings.Builder
		for _, line := range lines {
			b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		}
		path := filepath.Join("testdata", fmt.Sprintf("answer.%d.txt", columns))
		if *update {
			if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if b.String() != string(want) {
			t.Errorf("%s: got\n%s", path, b.String())
		}
		mustFit(t, lines, columns)
	}
}

func mustFit(t *testing.T, lines []markdown.Line, columns int) {
	t.Helper()
	for _, line := range lines {
		text := line.String()
		if width := ansi.StringWidth(text); width > columns && width > 2 { // one wide character has no smaller form
			t.Errorf("%q is %d columns wide on a page of %d", text, width, columns)
		}
		if strings.ContainsAny(text, "\n\t") {
			t.Errorf("%q is not one row", text)
		}
	}
}

func TestStyles(t *testing.T) {
	for source, want := range map[string]string{
		"plain":                            "plain",
		"**bold** and *slanted*":           "{b|bold} and {e|slanted}",
		"__bold__ and _slanted_":           "{b|bold} and {e|slanted}",
		"***both***":                       "{be|both}",
		"**a *b* c**":                      "{b|a }{be|b}{b| c}",
		"~~gone~~ but ~not~":               "{s|gone} but ~not~",
		"snake_case_name and 2 * 3 * 4":    "snake_case_name and 2 * 3 * 4",
		"un*frigging*believable":           "un{e|frigging}believable",
		"**unfinished":                     "**unfinished",
		"`code *is* code` and ``a ` b``":   "{c|code *is* code} and {c|a ` b}",
		"`unfinished":                      "`unfinished",
		`\*not slanted\*`:                  "*not slanted*",
		"# A **title** #":                  "{bh|A title}",
		"#hashtag":                         "#hashtag",
		"[text](https://x.test)":           "{l|text}{f| (https://x.test)}",
		"[https://x.test](https://x.test)": "{l|https://x.test}",
		"![a picture](p.png)":              "{l|a picture}{f| (p.png)}",
		"[not a link]":                     "[not a link]",
		"<https://x.test>":                 "{l|https://x.test}",
		"a < b > c":                        "a < b > c",
		"```go\nx := 1\n```":               "  {f|go}\n  {c|x := 1}",
		"    indented":                     "  {c|indented}",
		"> quoted":                         "{f|▌ }{q|quoted}",
		"- a\n- b":                         "{f|• }a\n{f|• }b",
		"7. a\n7. b":                       "{f|7. }a\n{f|8. }b",
		"- a\n\n- b":                       "{f|• }a\n\n{f|• }b",
		"one line\nanother":                "one line\nanother",
		"a\n\n\n\nb":                       "a\n\nb",
		"":                                 "",
		"| a | b |\n|---|---|\n| 1 | 2 |":  "{b|a}  {b|b}\n{f|─}  {f|─}\n1  2",
		"| a | b |\nno table":              "| a | b |\nno table",
	} {
		got := strings.TrimSuffix(markedOf(source), "\n")
		if got != want {
			t.Errorf("%q: got\n%s\nwant\n%s", source, got, want)
		}
	}
}

// markedOf writes the styles as letters: bold, emphasis, struck, code, link, heading, faint, quote.
func markedOf(source string) string {
	var b strings.Builder
	for _, line := range markdown.Render(source, page(60)) {
		for _, s := range line {
			letters := ""
			for i, letter := range []string{"b", "e", "s", "c", "l", "h", "f", "q"} {
				if s.Style&(1<<i) != 0 {
					letters += letter
				}
			}
			if letters == "" {
				b.WriteString(s.Text)
			} else {
				b.WriteString("{" + letters + "|" + s.Text + "}")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// What is read in pieces must come to what is read at once, whatever the pieces.
func TestATextInPiecesIsTheText(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("testdata", "answer.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(source)
	want := markedLines(markdown.Render(text, page(50)))
	for _, size := range []int{1, 2, 3, 7, 64, 1000} {
		var d markdown.Document
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			for n < len(rest) && !utf8.RuneStart(rest[n]) {
				n++
			}
			d.Append(rest[:n])
			rest = rest[n:]
			d.Lines(page(50))
		}
		if got := markedLines(d.Lines(page(50))); got != want {
			t.Errorf("pieces of %d bytes: got\n%s\nwant\n%s", size, got, want)
		}
		if d.Len() > len(text) {
			t.Errorf("it holds %d bytes of %d", d.Len(), len(text))
		}
	}
}

func markedLines(lines []markdown.Line) string { return fmt.Sprint(lines) }

// A long answer that comes in small pieces, each of them shown, must not take the square of the time: what a
// piece makes the document read again is bounded.
func TestALongAnswerCostsNoMoreAPieceThanAShortOne(t *testing.T) {
	for name, c := range map[string]struct{ first, unit string }{
		"paragraphs":         {"", "Some words of a paragraph that is long enough to be broken.\nAnd more.\n\n"},
		"code":               {"```\n", "\tif err != nil { return err }\n"},
		"a list":             {"", "- an item of a list that has no end, and no empty line\n"},
		"code within a list": {"- x\n  ```\n", "  code, and more of it\n"},
		"a table":            {"| a | b |\n|---|---|\n", "| 1 | 2 |\n"},
		"one line":           {"", "word "},
		"one word":           {"", "wörd"},
		"one line of code":   {"~~~\n", "words"},
		"nonsense":           {"", "[[[[*_`<"},
	} {
		t.Run(name, func(t *testing.T) {
			var d markdown.Document
			d.Append(c.first)
			rows := 0
			for i := range (24 << 10) / len(c.unit) {
				d.Append(c.unit)
				if most := d.Rereads(); most > 2*markdown.MaxTail {
					t.Fatalf("after %d pieces it reads %d bytes again", i, most)
				}
				if i%64 == 0 {
					rows = len(d.Lines(page(80)))
				}
			}
			if got := len(d.Lines(page(80))); got <= rows || got < (24<<10)/80/2 {
				t.Errorf("it has %d rows, and had %d before the last pieces", got, rows)
			}
		})
	}
}

func FuzzDocument(f *testing.F) {
	source, err := os.ReadFile(filepath.Join("testdata", "answer.md"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(source), 40, 10)
	for _, seed := range []string{"", "- \n", "```", "~~~~\n~~~", "1. a\n\n   b\n2) c", "> > > x", "|a|\n|-|\n|", "[a](b(c)d)", "*a **b _c_ d** e*", "\t- x", "日本語", "#\n##\n"} {
		f.Add(seed, 10, 3)
	}
	f.Fuzz(func(t *testing.T, text string, columns, cut int) {
		text = strings.ToValidUTF8(text, "?") // what reaches Markdown has been made valid
		columns = max(1, columns%200)
		cut = min(max(0, cut), len(text))
		for cut < len(text) && !utf8.RuneStart(text[cut]) {
			cut++
		}
		var d markdown.Document
		d.Append(text[:cut])
		d.Lines(page(columns))
		d.Append(text[cut:])
		got := d.Lines(page(columns))
		mustFit(t, got, columns)
		if want := markdown.Render(text, page(columns)); markedLines(got) != markedLines(want) {
			t.Errorf("in two pieces: got\n%s\nwant\n%s", markedLines(got), markedLines(want))
		}
	})
}
