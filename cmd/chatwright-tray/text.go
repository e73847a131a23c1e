package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// printable replaces what a terminal would obey, or what would make a line read as another: names, errors and paths come
// from foreign servers and foreign programs. What it returns is one line.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r): // no control, format, direction or private characters
			return r
		case unicode.Is(unicode.Zs, r): // a space of another width
			return ' '
		}
		return '·'
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// sentenceOf is printable for an error that several lines were joined to.
func sentenceOf(text string) string {
	return printable(strings.ReplaceAll(strings.TrimSpace(text), "\n", "; "))
}

// escaped writes the characters that JSON lets stand, and a terminal obeys, as JSON escapes.
func escaped(json []byte) []byte {
	out := make([]byte, 0, len(json))
	for len(json) > 0 {
		r, size := utf8.DecodeRune(json)
		if r < utf8.RuneSelf && r != 0x7f || r != utf8.RuneError && unicode.IsPrint(r) {
			out = append(out, json[:size]...)
		} else {
			out = appendEscape(out, r)
		}
		json = json[size:]
	}
	return out
}

func appendEscape(out []byte, r rune) []byte {
	if r > 0xffff {
		high, low := utf16.EncodeRune(r)
		return fmt.Appendf(out, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(out, `\u%04x`, r)
}
