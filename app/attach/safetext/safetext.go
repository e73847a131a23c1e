// Package safetext makes text that others wrote harmless for a terminal. What a model answers, what a file is called
// and what a foreign server says may hold escape sequences that move the cursor, rename the window, write the clipboard
// or turn a line around; none of them may reach a terminal as they are.
package safetext

import (
	"strings"
	"unicode"
)

// Mark stands where something was that a terminal would obey.
const Mark = '·'

// Text returns text with nothing in it that a terminal would obey. Line breaks and tabs stay. It looks at one character
// at a time, so that text which comes in pieces can be cleaned piece by piece.
func Text(text string) string {
	return strings.Map(clean, strings.ToValidUTF8(text, "\uFFFD"))
}

// Line is Text on one line.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, Text(text))
}

func clean(r rune) rune {
	switch {
	case r == '\n', r == '\t':
		return r
	case r == '\u200c', r == '\u200d': // joiners: emoji, Persian and the scripts of India are written with them
		return r
	case r == '\u2028', r == '\u2029':
		return '\n'
	case r == '\r', isInvisible(r): // the line feed after a carriage return says all there is to say
		return -1
	case unicode.IsPrint(r):
		return r
	case unicode.Is(unicode.Zs, r): // a space of another width
		return ' '
	}
	return Mark // control, direction and private characters
}

// isInvisible reports a character that shows nothing and moves nothing: models write them by accident, and a mark in
// their place would only disturb.
func isInvisible(r rune) bool {
	switch r {
	case '\u00ad', '\u200b', '\u200e', '\u200f', '\u2060', '\ufeff':
		return true
	}
	return r >= 0xe0000 && r <= 0xe007f // tags
}
