// Package usage asks a model server for the usage of a stream on behalf of a caller who did not, and takes the answer to
// that out of the stream again. It is the one place where the proxy changes bytes, and only where it was told to.
package usage

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

const (
	optionsName = "stream_options"
	includeName = "include_usage"
	include     = `"` + includeName + `":true`
	options     = `"` + optionsName + `":{` + include + `}`
)

// Ask returns body with stream_options.include_usage set to true, and leaves every other byte as it is. It returns false
// when there is nothing to add or no clear place for it: the body is no JSON object, asks for no stream, asks for the
// usage itself, says something about it that only the server can judge, or names one of the members twice (servers
// differ in which one they take). body is not changed.
func Ask(body []byte) ([]byte, bool) {
	if !json.Valid(body) {
		return nil, false
	}
	at := skipSpace(body, 0)
	if body[at] != '{' {
		return nil, false
	}
	stream, sure := find(body, at, "stream")
	if !sure || string(stream.of(body)) != "true" {
		return nil, false
	}
	chosen, sure := find(body, at, optionsName)
	switch {
	case !sure:
		return nil, false
	case chosen.none():
		return splice(body, span{stream.end, stream.end}, ","+options), true
	case string(chosen.of(body)) == "null": // as good as none
		return splice(body, chosen, "{"+include+"}"), true
	case body[chosen.start] != '{':
		return nil, false
	}
	included, sure := find(body, chosen.start, includeName)
	switch value := string(included.of(body)); {
	case !sure:
		return nil, false
	case value == "false", value == "null":
		return splice(body, included, "true"), true
	case !included.none(): // true, or what only the server can judge
		return nil, false
	}
	inside := chosen.start + 1
	text := include
	if body[skipSpace(body, inside)] != '}' {
		text += ","
	}
	return splice(body, span{inside, inside}, text), true
}

// span is where a value stands in a text; the zero value is nowhere.
type span struct{ start, end int }

func (s span) none() bool            { return s == span{} }
func (s span) of(text []byte) []byte { return text[s.start:s.end] }

func splice(text []byte, at span, with string) []byte {
	return slices.Concat(text[:at.start], []byte(with), text[at.end:])
}

// find returns where the value of a member of the object at start is; nowhere, when there is none. It returns false when
// it is not clear which member that is: some servers take the first of two, and some do not look at the case of names.
// The text must be valid JSON.
func find(text []byte, start int, name string) (found span, sure bool) {
	for i := skipSpace(text, start+1); text[i] != '}'; {
		end := skipValue(text, i)
		var said string
		_ = json.Unmarshal(text[i:end], &said) // a name is a valid string
		value := span{start: skipSpace(text, skipSpace(text, end)+1)}
		value.end = skipValue(text, value.start)
		if strings.EqualFold(said, name) {
			if said != name || !found.none() {
				return span{}, false
			}
			found = value
		}
		if i = skipSpace(text, value.end); text[i] == ',' {
			i = skipSpace(text, i+1)
		}
	}
	return found, true
}

func skipSpace(text []byte, i int) int {
	for i < len(text) && strings.IndexByte(" \t\r\n", text[i]) >= 0 {
		i++
	}
	return i
}

// skipValue returns where the value that begins at i ends.
func skipValue(text []byte, i int) int {
	depth := 0
	for {
		switch text[i] {
		case '"':
			i = skipString(text, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		default: // a literal, or what stands between the values of a container
			n := bytes.IndexAny(text[i+1:], "\"{}[], \t\r\n")
			if n < 0 {
				return len(text)
			}
			i += 1 + n
		}
		if depth == 0 {
			return i
		}
	}
}

func skipString(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}
