package meter

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// stringRun takes the bytes of a string up to its end or the next backslash.
func (s *jsonScanner) stringRun(p []byte) int {
	i := special(p)
	if s.keep && s.length == 0 && s.highest == 0 && i < min(len(p), len(s.text)) && p[i] == '"' {
		s.endString(p[:i]) // it lies before us whole: no need to copy it
		return i + 1
	}
	if s.keep {
		s.endPair(i > 0)
		s.length += copy(s.text[s.length:], p[:i])
	}
	if i == len(p) {
		return i
	}
	if p[i] == '\\' {
		s.state = stateEscape
	} else {
		s.endPair(true)
		s.endString(s.text[:s.length])
	}
	return i + 1
}

// special is where the first quote or backslash is, or len(p). Names and words are short, so it looks at eight bytes at a
// time at first; long texts it searches in windows, so that a text full of backslashes is not searched to its end for
// each.
func special(p []byte) int {
	const short, window = 64, 512
	from := 0
	for ; from+8 <= len(p) && from < short; from += 8 {
		if found := quoteOrSlash(binary.LittleEndian.Uint64(p[from:])); found != 0 {
			return from + bits.TrailingZeros64(found)/8
		}
	}
	if len(p)-from < 8 {
		for ; from < len(p); from++ {
			if p[from] == '"' || p[from] == '\\' {
				return from
			}
		}
		return from
	}
	for ; from < len(p); from += window {
		part := p[from:min(len(p), from+window)]
		quote := bytes.IndexByte(part, '"')
		if quote >= 0 {
			part = part[:quote]
		}
		if slash := bytes.IndexByte(part, '\\'); slash >= 0 {
			return from + slash
		}
		if quote >= 0 {
			return from + quote
		}
	}
	return len(p)
}

// quoteOrSlash sets the highest bit of each byte of x that is a quote or a backslash. Bits above the lowest one that it
// sets may be wrong: a byte that becomes 0 borrows from the next.
func quoteOrSlash(x uint64) uint64 {
	const each, high = 0x0101010101010101, 0x8080808080808080
	quote, slash := x^each*'"', x^each*'\\'
	return ((quote-each)&^quote | (slash-each)&^slash) & high
}

func (s *jsonScanner) endString(text []byte) {
	switch {
	case s.skip > 0:
		s.state = stateSkip
	case s.inName:
		s.current = s.frames[s.depth-1].at.member(text)
		s.state = stateColon
	default:
		if s.keep {
			s.sink.value(s.current.field, kindString, text)
		}
		s.endValue()
	}
}

// add keeps one byte while there is room.
func (s *jsonScanner) add(c byte) {
	if s.keep && s.length < len(s.text) {
		s.text[s.length] = c
		s.length++
	}
}

func (s *jsonScanner) escape(c byte) {
	s.state = stateString
	if c == 'u' {
		s.digits, s.unit, s.state = 4, 0, stateHex
		return
	}
	s.endPair(true)
	switch c {
	case 'n':
		c = '\n'
	case 't':
		c = '\t'
	case 'r':
		c = '\r'
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	}
	s.add(c)
}

func (s *jsonScanner) hexDigit(c byte) {
	switch {
	case '0' <= c && c <= '9':
		c -= '0'
	case 'a' <= c && c <= 'f':
		c -= 'a' - 10
	case 'A' <= c && c <= 'F':
		c -= 'A' - 10
	default:
		s.state = stateBroken
		return
	}
	s.unit = s.unit<<4 | rune(c)
	if s.digits--; s.digits > 0 {
		return
	}
	s.state = stateString
	switch {
	case s.highest != 0 && 0xDC00 <= s.unit && s.unit < 0xE000:
		s.addRune(0x10000 + (s.highest-0xD800)<<10 + (s.unit - 0xDC00))
		s.highest = 0
	case 0xD800 <= s.unit && s.unit < 0xDC00:
		s.endPair(true)
		s.highest = s.unit
	default:
		s.endPair(true)
		s.addRune(s.unit) // half a pair becomes U+FFFD
	}
}

// endPair gives up on the second half of a pair when something else came.
func (s *jsonScanner) endPair(came bool) {
	if came && s.highest != 0 {
		s.highest = 0
		s.addRune(utf8.RuneError)
	}
}

func (s *jsonScanner) addRune(r rune) {
	if s.keep {
		var b [utf8.UTFMax]byte
		s.length += copy(s.text[s.length:], b[:utf8.EncodeRune(b[:], r)])
	}
}
