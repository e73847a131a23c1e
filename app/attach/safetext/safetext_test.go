package safetext_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"chatwright.dev/tray/app/attach/safetext"
)

func TestTextKeepsWhatPeopleWrite(t *testing.T) {
	for _, text := range []string{
		"plain", "two\nlines\tand a tab", "Grüße, señor", "日本語", "שלום", "नमस्ते", "👨‍👩‍👧 🏳️‍🌈", "می\u200cخواهم", "e\u0301", "x² → ∞",
	} {
		if got := safetext.Text(text); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
}

func TestTextLeavesNothingToObey(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"colour":                    {"\x1b[31mred\x1b[0m", "·[31mred·[0m"},
		"window title":              {"\x1b]0;pwned\x07", "·]0;pwned·"},
		"clipboard":                 {"\x1b]52;c;cm0gLXJm\x1b\\", "·]52;c;cm0gLXJm·\\"},
		"a control of eight bits":   {"\u009b2J", "·2J"},
		"eight bits, as bytes":      {"\x9b2J", "\uFFFD2J"},
		"backspaces":                {"safe\b\b\b\bevil", "safe····evil"},
		"carriage return":           {"safe\revil\r\n", "safeevil\n"},
		"direction":                 {"a\u202egpj.exe\u2066", "a·gpj.exe·"},
		"null and delete":           {"\x00\x7f", "··"},
		"spaces of other widths":    {"a\u00a0b\u3000c", "a b c"},
		"line separators":           {"a\u2028b\u2029c", "a\nb\nc"},
		"what shows nothing":        {"\ufeffa\u200bb\u00adc\U000e0041", "abc"},
		"private use":               {"\ue0b0", "·"},
		"half a character":          {"\xe2\x82", "\uFFFD"},
		"a cursor that is answered": {"\x1b[6n", "·[6n"},
	} {
		if got := safetext.Text(c.text); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestLineIsOneLine(t *testing.T) {
	if got := safetext.Line("a\nb\tc\r\n\x1b"); got != "a b c ·" {
		t.Errorf("got %q", got)
	}
}

func FuzzText(f *testing.F) {
	for _, seed := range []string{"", "\x1b[2J", "a\u202eb", "👨‍👩‍👧", "\xff\xfe", "\u009b", "\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := safetext.Text(text)
		if !utf8.ValidString(got) {
			t.Errorf("%q is not UTF-8", got)
		}
		for _, r := range got {
			if r != '\n' && r != '\t' && unicode.IsControl(r) || strings.ContainsRune("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069", r) {
				t.Errorf("%q still holds %U", got, r)
			}
		}
		if again := safetext.Text(got); again != got {
			t.Errorf("cleaned twice: got %q, want %q", again, got)
		}
	})
}
