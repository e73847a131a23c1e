package upstream

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxSchemaItems bounds the items, members and characters that a schema can ask for.
const maxSchemaItems = 1000

// least reads a keyword such as minItems.
func least(s object, keyword string) (int, error) {
	n, _ := number(s[keyword])
	if n > maxSchemaItems {
		return 0, fmt.Errorf("%s %v is over what the demo makes, %d", keyword, n, maxSchemaItems)
	}
	return int(max(0, math.Ceil(n))), nil
}

// object has the required members, and more only where minProperties asks for them.
func (m *schemaMaker) object(s object, variant int) (any, error) {
	properties, _ := s["properties"].(object)
	out := object{}
	add := func(name string) (err error) {
		schema, known := properties[name]
		if !known {
			schema = additional(s, name)
		}
		if out[name], err = m.make(schema, variant); err != nil {
			return fmt.Errorf("%s: %w", shorten(name, 80), err)
		}
		return nil
	}
	required, _ := s["required"].([]any)
	for _, name := range required {
		if name, ok := name.(string); ok {
			if err := add(name); err != nil {
				return nil, err
			}
		}
	}
	fewest, err := least(s, "minProperties")
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if _, have := out[name]; !have && len(out) < fewest && add(name) != nil {
			delete(out, name) // an optional member that cannot be met stays away
		}
	}
	for i := 1; len(out) < fewest; i++ {
		if err := add(fmt.Sprintf("demo%d", i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// additional is the schema of a member that properties does not name.
func additional(s object, name string) any {
	patterns, _ := s["patternProperties"].(object)
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		if re, err := regexp.Compile(pattern); err == nil && re.MatchString(name) {
			return patterns[pattern]
		}
	}
	if schema, ok := s["additionalProperties"]; ok {
		return schema
	}
	return true
}

// array has the fewest items that are allowed.
func (m *schemaMaker) array(s object, variant int) (any, error) {
	fewest, err := least(s, "minItems")
	if err != nil {
		return nil, err
	}
	prefix, _ := s["prefixItems"].([]any)
	rest, ok := s["items"]
	if tuple, isTuple := rest.([]any); isTuple { // before 2020-12 a tuple stood in items
		prefix, rest, ok = tuple, s["additionalItems"], s["additionalItems"] != nil
	}
	if !ok {
		rest = true
	}
	out := []any{}
	if wanted, ok := s["contains"]; ok && s["minContains"] != json.Number("0") && len(prefix) == 0 {
		if rest, ok = m.merge(object{"allOf": []any{rest}}, wanted); !ok {
			return nil, errNothing
		}
		fewest = max(fewest, 1)
	}
	for i := range fewest {
		schema := rest
		if i < len(prefix) {
			schema = prefix[i]
		}
		shift := variant
		if s["uniqueItems"] == true {
			shift += i
		}
		item, err := m.make(schema, shift)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		if s["uniqueItems"] == true && contains(out, item) {
			return nil, errNothing
		}
		out = append(out, item)
	}
	return out, nil
}

// stringExample meets pattern, or else format, and the bounds on the length.
func (m *schemaMaker) stringExample(s object, variant int) (any, error) {
	fewest, err := least(s, "minLength")
	if err != nil {
		return nil, err
	}
	most, bounded := number(s["maxLength"])
	fits := func(text string) bool {
		n := utf8.RuneCountInString(text)
		return n >= fewest && (!bounded || n <= int(most))
	}
	if pattern, ok := s["pattern"]; ok {
		return m.patternsExample(list(pattern), fits, variant, fewest)
	}
	if format, _ := s["format"].(string); format != "" {
		if text := formatExample(format, variant); text != "" {
			if !fits(text) {
				return nil, errNothing
			}
			return text, nil
		}
	}
	text := anyText(variant)
	text += strings.Repeat(".", max(0, fewest-len(text)))
	if bounded && len(text) > int(most) {
		text = text[len(text)-int(max(0, most)):] // the end differs between variants
	}
	if !fits(text) {
		return nil, errNothing
	}
	return text, nil
}

func formatExample(format string, variant int) string {
	n := variant % 60
	switch format {
	case "date-time":
		return fmt.Sprintf("2026-01-01T00:00:%02dZ", n)
	case "date":
		return fmt.Sprintf("20%02d-01-01", 26+n)
	case "time":
		return fmt.Sprintf("00:00:%02dZ", n)
	case "duration":
		return fmt.Sprintf("PT%dS", n+1)
	case "email", "idn-email":
		return fmt.Sprintf("demo%d@example.com", n+1)
	case "hostname", "idn-hostname":
		return fmt.Sprintf("demo%d.example.com", n+1)
	case "ipv4":
		return fmt.Sprintf("192.0.2.%d", n+1)
	case "ipv6":
		return fmt.Sprintf("2001:db8::%x", n+1)
	case "uri", "iri", "uri-reference", "iri-reference":
		return fmt.Sprintf("https://example.com/%d", n+1)
	case "uuid":
		return fmt.Sprintf("00000000-0000-4000-8000-%012x", n+1)
	case "json-pointer":
		return fmt.Sprintf("/demo%d", n+1)
	default:
		return ""
	}
}

// numberExample is 0 where that is allowed, else what is nearest to it.
func numberExample(s object, integer bool, variant int) (any, error) {
	low, high := math.Inf(-1), math.Inf(1)
	lowOpen, highOpen := s["exclusiveMinimum"] == true, s["exclusiveMaximum"] == true // booleans, before draft 6
	if n, ok := number(s["minimum"]); ok {
		low = n
	}
	if n, ok := number(s["maximum"]); ok {
		high = n
	}
	if n, ok := number(s["exclusiveMinimum"]); ok && n >= low {
		low, lowOpen = n, true
	}
	if n, ok := number(s["exclusiveMaximum"]); ok && n <= high {
		high, highOpen = n, true
	}
	inside := func(n float64) bool {
		return (n > low || n == low && !lowOpen) && (n < high || n == high && !highOpen)
	}
	step, _ := number(s["multipleOf"])
	switch {
	case integer:
		step = max(step, 1) // a multipleOf below 1 leaves integers as they are
	case step <= 0 && !math.IsInf(high-low, 0):
		step = cmp.Or((high-low)/128, 1) // no grid is asked for: any point between the bounds will do
	case step <= 0:
		step = 1
	}
	first := 0.0
	switch {
	case low > 0 || low == 0 && lowOpen:
		first = math.Ceil(low/step) * step
	case high < 0 || high == 0 && highOpen:
		first, step = math.Floor(high/step)*step, -step
	}
	if low == high && !integer && s["multipleOf"] == nil {
		first = low
	}
	if !inside(first) {
		first += step
	}
	shifted := first + float64(variant)*step
	if inside(shifted) {
		first = shifted
	}
	if !inside(first) || math.IsInf(first, 0) || math.IsNaN(first) {
		return nil, errNothing
	}
	first += 0 // no -0
	if first == math.Trunc(first) {
		return json.Number(strconv.FormatFloat(first, 'f', -1, 64)), nil
	}
	return json.Number(strconv.FormatFloat(first, 'g', 12, 64)), nil // 0.3 and not 0.30000000000000004, no multiple of 0.1
}
