package cassette

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// piece is a part of a text that its events say one after the other.
type piece struct {
	start int // in the whole
	raw   []byte
	plain []byte // without the escapes of JSON
}

func newPiece(start int, raw []byte) piece { return piece{start, raw, unquoted(raw, nil)} }

// origin is where in the whole a byte of plain was.
func (p piece) origin(i int) int {
	var places []int
	unquoted(p.raw, &places)
	return p.start + places[i]
}

// inEvents finds secrets that are spread over the events of a stream, a few characters in each, as models say things: in
// what the same member of one event after the other says. The first part of each is redacted, the others go.
func inEvents(text []byte, secrets []string, cut bool) (list []edit) {
	if len(secrets) == 0 {
		return nil
	}
	said := map[string][]piece{}
	start := 0
	for line := range bytes.Lines(text) {
		if payload := payloadOf(line); len(payload) > 0 {
			collect(said, payload, start+bytes.Index(line, payload))
		}
		start += len(line)
	}
	for _, pieces := range said {
		list = append(list, spread(pieces, secrets, cut)...)
	}
	return list
}

// payloadOf is the data of a line of an event stream, or a line of JSON.
func payloadOf(line []byte) []byte {
	line = bytes.TrimSpace(line)
	if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		return bytes.TrimSpace(data)
	}
	if bytes.HasPrefix(line, []byte("{")) {
		return line
	}
	return nil
}

// collect adds the strings of an event to what the same members said before.
func collect(said map[string][]piece, payload []byte, start int) {
	if !json.Valid(payload) {
		said[""] = append(said[""], newPiece(start, payload))
		return
	}
	w := &walker{text: payload, d: json.NewDecoder(bytes.NewReader(payload))}
	w.d.UseNumber()
	w.value(&step{})
	for _, l := range w.leaves {
		place := l.under.String()
		said[place] = append(said[place], newPiece(start+l.at.start, payload[l.at.start:l.at.end]))
	}
}

// step is one on the way to a value: the name of a member, or the number of an element.
type step struct {
	up   *step
	name string
}

func (s *step) String() string {
	if s.up == nil {
		return "$"
	}
	return s.up.String() + "." + strconv.Quote(s.name)
}

// leaf is a string, without its quotation marks.
type leaf struct {
	under *step
	at    span
}

// walker notes the strings of a JSON text, and where they stand.
type walker struct {
	text   []byte
	d      *json.Decoder
	leaves []leaf
}

// value walks through the next value and returns its first token. An element that has an index of its own goes by that:
// the events of several choices come in any order, each as the first and only element of its list.
func (w *walker) value(under *step) json.Token {
	before := int(w.d.InputOffset())
	token, err := w.d.Token()
	if err != nil {
		return nil
	}
	switch token {
	case json.Delim('{'):
		for w.d.More() {
			name, _ := w.d.Token()
			member := &step{under, fmt.Sprint(name)}
			if number, ok := w.value(member).(json.Number); ok && name == "index" {
				under.name = "index " + number.String()
			}
		}
		_, _ = w.d.Token()
	case json.Delim('['):
		for i := 0; w.d.More(); i++ {
			w.value(&step{under, strconv.Itoa(i)})
		}
		_, _ = w.d.Token()
	}
	if _, ok := token.(string); ok {
		end := int(w.d.InputOffset())
		start := before + bytes.IndexByte(w.text[before:end], '"') // behind a comma or a colon
		w.leaves = append(w.leaves, leaf{under, span{start + 1, end - 1}})
	}
	return token
}

// spread finds secrets that stand in several pieces.
func spread(pieces []piece, secrets []string, cut bool) (list []edit) {
	var all []byte
	var ends []int
	for _, p := range pieces {
		all = append(all, p.plain...)
		ends = append(ends, len(all))
	}
	for _, s := range edits(search(all, secrets, cut)) {
		text := redacted
		i, _ := slices.BinarySearch(ends, s.start+1) // the first that ends behind it
		for ; i < len(pieces) && s.start < s.end; i++ {
			p, from := pieces[i], ends[i]-len(pieces[i].plain)
			to := min(s.end, ends[i])
			if to > s.start {
				list = append(list, edit{span{p.origin(s.start - from), p.origin(to - from)}, text})
				s.start, text = to, ""
			}
		}
	}
	return list
}
