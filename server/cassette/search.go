package cassette

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// span is a part of a text.
type span struct{ start, end int }

// deepest is how many times a text is looked through for JSON that stands in a string of JSON.
const deepest = 3

// search finds secrets in a text, also where its JSON hides their characters: as "\/", as "\u0041", and in JSON within
// JSON. In a text that is cut the beginning of a secret at its end counts too.
func search(text []byte, secrets []string, cut bool) (found []span) {
	if len(secrets) == 0 {
		return nil
	}
	plain, origin := text, func(i int) int { return i }
	for level := range deepest {
		for _, at := range occurrences(plain, secrets, cut) {
			found = append(found, span{origin(at.start), origin(at.end)})
		}
		if level+1 == deepest || !bytes.ContainsRune(plain, '\\') {
			break
		}
		packed, before := plain, origin
		plain = unquoted(packed, nil)
		var places []int // made where something is found, since they take eight times the text
		origin = func(i int) int {
			if places == nil {
				places = make([]int, 0, len(packed)+1)
				unquoted(packed, &places)
			}
			return before(places[i])
		}
	}
	return found
}

// occurrences finds secrets as they are.
func occurrences(text []byte, secrets []string, cut bool) (found []span) {
	for _, secret := range secrets {
		if len(secret) < minSecret {
			continue
		}
		for from := 0; ; {
			i := bytes.Index(text[from:], []byte(secret))
			if i < 0 {
				break
			}
			found = append(found, span{from + i, from + i + len(secret)})
			from += i + len(secret)
		}
		for n := min(len(secret)-1, len(text)); cut && n >= minSecret; n-- {
			if bytes.HasSuffix(text, []byte(secret[:n])) {
				found = append(found, span{len(text) - n, len(text)})
				break
			}
		}
	}
	return found
}

// unquoted is a text without the escapes of JSON, wherever they stand. places gets where each byte of it was, and where
// the text ended; nil: nobody wants to know.
func unquoted(text []byte, places *[]int) []byte {
	plain := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		before := len(plain)
		var length int
		plain, length = appendUnquoted(plain, text[i:])
		if places != nil {
			for range len(plain) - before {
				*places = append(*places, i)
			}
		}
		i += length
	}
	if places != nil {
		*places = append(*places, len(text))
	}
	return plain
}

// appendUnquoted appends the first character of a text, or the bytes that an escape stands for, and says how much of the
// text that was.
func appendUnquoted(to, text []byte) ([]byte, int) {
	if text[0] != '\\' || len(text) < 2 {
		return append(to, text[0]), 1
	}
	switch c := text[1]; c {
	case '"', '\\', '/':
		return append(to, c), 2
	case 'n', 'r', 't', 'b', 'f':
		return append(to, '\n'), 2 // no secret has any of them
	case 'u':
		first, ok := codeUnit(text)
		if !ok {
			break
		}
		if utf16.IsSurrogate(first) && len(text) > 6 {
			if second, ok := codeUnit(text[6:]); ok {
				return utf8.AppendRune(to, utf16.DecodeRune(first, second)), 12
			}
		}
		return utf8.AppendRune(to, first), 6
	}
	return append(to, text[0]), 1
}

// codeUnit reads "\u0041" at the beginning of a text.
func codeUnit(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 32)
	return rune(n), err == nil
}

// edit is a part of a text, and what is to stand there.
type edit struct {
	span
	text string
}

// edits redact spans.
func edits(found []span) (list []edit) {
	for _, s := range found {
		list = append(list, edit{s, redacted})
	}
	return merged(list)
}

// merged puts edits in order, and makes one of those that overlap.
func merged(list []edit) (out []edit) {
	slices.SortFunc(list, func(a, b edit) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
	for _, e := range list {
		if last := len(out) - 1; last >= 0 && e.start < out[last].end {
			out[last].end, out[last].text = max(out[last].end, e.end), cmp.Or(out[last].text, e.text)
			continue
		}
		out = append(out, e)
	}
	return out
}

// replaced makes edits, which are in order and do not overlap, in what chunks hold together. What stands in several is
// replaced in the first and taken out of the others; each stays, and with it when it came.
func replaced(chunks []Chunk, list []edit) []Chunk {
	if len(list) == 0 {
		return chunks
	}
	out := make([]Chunk, len(chunks))
	start := 0
	for i, c := range chunks {
		data := c.Bytes()
		end := start + len(data)
		var kept []byte
		at := start
		for len(list) > 0 && list[0].start < end {
			e := list[0]
			kept = append(kept, data[at-start:max(e.start, at)-start]...)
			if e.start >= start {
				kept = append(kept, e.text...)
			}
			if at = min(e.end, end); e.end > end {
				break // it goes on in the next
			}
			list = list[1:]
		}
		kept = append(kept, data[at-start:]...)
		out[i] = newChunk(0, kept)
		out[i].AfterMs = c.AfterMs
		start = end
	}
	return out
}
