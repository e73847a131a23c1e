package cassette

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"unicode/utf8"
)

// mostDifferences is how many differences a message names.
const mostDifferences = 3

// nearest finds the recording of the same path that differs from what is asked in the fewest places, and names
// the first of these; "" when nothing of that path was recorded.
func nearest(asked Request, tapes []Named) (name string, where []string) {
	best := -1
	wanted := decoded(asked.Body)
	for _, n := range tapes {
		if n.Tape.Request.Method != asked.Method || n.Tape.Request.Path != asked.Path {
			continue
		}
		found := append(differences("query", inQuery(n.Tape.Request.Query), inQuery(asked.Query)),
			differences("", decoded(n.Tape.Request.Body), wanted)...)
		if best < 0 || len(found) < best {
			best, name, where = len(found), n.Name, found
		}
	}
	if name != "" && len(where) == 0 { // neither is JSON
		where = []string{"its body"}
	}
	if len(where) > mostDifferences {
		where = append(slices.Clone(where[:mostDifferences-1]), fmt.Sprintf("%d more places", len(where)-mostDifferences+1))
	}
	return name, where
}

// inQuery is what a query says, as differences takes it.
func inQuery(query string) any {
	said := map[string]any{}
	for _, p := range parameters(query) {
		if before, ok := said[p.name].(string); ok {
			p.value = before + ", " + p.value
		}
		said[p.name] = p.value
	}
	return said
}

func decoded(body json.RawMessage) (value any) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	_ = d.Decode(&value)
	return value
}

// differences names the places where two JSON values differ, deepest first named: "messages[1].content ("a", here "b")".
func differences(place string, there, here any) (found []string) {
	switch x := there.(type) {
	case map[string]any:
		y, ok := here.(map[string]any)
		if !ok {
			break
		}
		names := maps.Clone(x)
		maps.Copy(names, y)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			inner := name
			if place != "" {
				inner = place + "." + name
			}
			a, hasA := x[name]
			b, hasB := y[name]
			switch {
			case !hasA:
				found = append(found, inner+" (which it does not have)")
			case !hasB:
				found = append(found, inner+" (which is missing here)")
			default:
				found = append(found, differences(inner, a, b)...)
			}
		}
		return found
	case []any:
		y, ok := here.([]any)
		if !ok {
			break
		}
		for i := range min(len(x), len(y)) {
			found = append(found, differences(fmt.Sprintf("%s[%d]", place, i), x[i], y[i])...)
		}
		if len(x) != len(y) {
			found = append(found, fmt.Sprintf("%s (%d entries, here %d)", place, len(x), len(y)))
		}
		return found
	}
	if reflect.DeepEqual(there, here) {
		return nil
	}
	if place == "" {
		place = "the whole body"
	}
	if a, ok := there.(string); ok {
		if b, ok := here.(string); ok {
			there, here = fromDifference(a, b)
		}
	}
	return []string{fmt.Sprintf("%s (%s, here %s)", place, short(there), short(here))}
}

// fromDifference leaves out what two texts begin with in common, but for a few words.
func fromDifference(a, b string) (string, string) {
	x, y := []rune(a), []rune(b)
	same := 0
	for same < min(len(x), len(y)) && x[same] == y[same] {
		same++
	}
	const context = 20
	if same <= 2*context {
		return a, b
	}
	return "…" + string(x[same-context:]), "…" + string(y[same-context:])
}

// short is a value as a message can hold it.
func short(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return "?"
	}
	text := []rune(string(data))
	if !utf8.Valid(data) || len(text) <= 60 {
		return string(text)
	}
	return string(text[:59]) + "…"
}
