package upstream

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
)

// merge returns a schema that asks for what a and b ask for together; false when they exclude each other. It is what
// allOf, a reference with members beside it, and an alternative with members beside it come down to.
func (m *schemaMaker) merge(a object, b any) (object, bool) {
	other, ok := b.(object)
	if !ok {
		return a, b != false
	}
	if !m.spend(weight(a) + weight(other)) {
		return nil, false // schemaExample says why
	}
	a, other = besides(a, other), besides(other, a)
	out := maps.Clone(a)
	for keyword, want := range other {
		have, both := out[keyword]
		if keyword == "$ref" && both {
			keyword, want = "allOf", []any{object{"$ref": want}} // one is followed, then the other
			have, both = out[keyword]
		}
		if !both {
			out[keyword] = want
			continue
		}
		if !m.spend(len(list(have)) * len(list(want))) { // lists are compared each with each
			return nil, false
		}
		merged, ok := mergeKeyword(keyword, have, want)
		if !ok {
			return nil, false
		}
		out[keyword] = merged
	}
	return out, true
}

// weight is how much there is to copy of a schema, one level down.
func weight(s object) int {
	n := 1
	for _, value := range s {
		n++
		switch value := value.(type) {
		case object:
			n += len(value)
		case []any:
			n += len(value)
		}
	}
	return n
}

func mergeKeyword(keyword string, a, b any) (any, bool) {
	switch keyword {
	case "required":
		return union(a, b), true
	case "properties", "$defs", "definitions", "patternProperties":
		return mergeMembers(a, b), true
	case "prefixItems":
		return mergeLists(a, b), true
	case "pattern":
		return union(a, b), true
	case "multipleOf":
		return commonMultiple(a, b)
	case "uniqueItems":
		return a == true || b == true, true
	case "nullable":
		return a == true && b == true, true
	case "type":
		return intersectTypes(a, b)
	case "enum":
		both := intersect(a, b)
		return both, len(both) > 0
	case "const":
		return a, reflect.DeepEqual(a, b)
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		return extreme(a, b, 1), true
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		return extreme(a, b, -1), true
	case "items", "additionalProperties", "contains":
		return object{"allOf": []any{a, b}}, true
	case "allOf":
		return union(a, b), true
	case "anyOf", "oneOf":
		var out []any // each of the one set, with all of the other set below it
		for _, alternative := range list(a) {
			out = append(out, object{"allOf": []any{alternative, object{keyword: b}}})
		}
		return out, true
	default:
		return b, true
	}
}

// mergeMembers joins two maps of schemas; a name in both must meet both.
func mergeMembers(a, b any) any {
	left, _ := a.(object)
	right, _ := b.(object)
	out := maps.Clone(left)
	if out == nil {
		out = object{}
	}
	for name, schema := range right {
		if have, both := out[name]; both {
			schema = object{"allOf": []any{have, schema}}
		}
		out[name] = schema
	}
	return out
}

// besides spells out what s says, by its keyword for all other members and items, about those that other names and s
// does not: once the two are merged nobody could tell them apart from the rest.
func besides(s, other object) object {
	out := s
	set := func(keyword string, value any) {
		out = maps.Clone(out)
		out[keyword] = value
	}
	if rest, ok := s["additionalProperties"]; ok {
		named, _ := other["properties"].(object)
		own, _ := s["properties"].(object)
		spelt := maps.Clone(own)
		for name := range named {
			if _, known := own[name]; !known {
				if spelt == nil {
					spelt = object{}
				}
				spelt[name] = additional(s, name)
			}
		}
		if len(spelt) > len(own) && rest != true {
			set("properties", spelt)
		}
	}
	if rest, ok := s["items"]; ok {
		more, _ := other["prefixItems"].([]any)
		own, _ := s["prefixItems"].([]any)
		if len(more) > len(own) {
			spelt := slices.Clone(own)
			for range len(more) - len(own) {
				spelt = append(spelt, rest)
			}
			set("prefixItems", spelt)
		}
	}
	return out
}

// mergeLists joins two lists of schemas; a place in both must meet both.
func mergeLists(a, b any) any {
	short, long := list(a), list(b)
	if len(short) > len(long) {
		short, long = long, short
	}
	out := slices.Clone(long)
	for i, schema := range short {
		out[i] = object{"allOf": []any{schema, long[i]}}
	}
	return out
}

// commonMultiple is the least number that is a multiple of both.
func commonMultiple(a, b any) (any, bool) {
	left, okA := number(a)
	right, okB := number(b)
	if !okA || !okB || left <= 0 || right <= 0 {
		return b, true
	}
	const tries = 1000
	for i := 1.0; i <= tries; i++ {
		if math.Mod(left*i, right) == 0 {
			return json.Number(strconv.FormatFloat(left*i, 'g', -1, 64)), true
		}
	}
	return nil, false
}

func list(v any) []any {
	if values, ok := v.([]any); ok {
		return values
	}
	return []any{v}
}

func union(a, b any) []any {
	out := slices.Clone(list(a))
	for _, v := range list(b) {
		if !contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func intersect(a, b any) []any {
	var out []any
	for _, v := range list(a) {
		if contains(list(b), v) {
			out = append(out, v)
		}
	}
	return out
}

func contains(values []any, v any) bool {
	return slices.ContainsFunc(values, func(have any) bool { return reflect.DeepEqual(have, v) })
}

// intersectTypes knows, besides equal names, that every integer is a number.
func intersectTypes(a, b any) (any, bool) {
	both := intersect(a, b)
	for _, pair := range [][2]any{{a, b}, {b, a}} {
		if contains(list(pair[0]), "integer") && contains(list(pair[1]), "number") && !contains(both, "integer") {
			both = append(both, "integer")
		}
	}
	return both, len(both) > 0
}

// extreme returns the larger of two numbers, or the smaller with sign -1. What is no number loses.
func extreme(a, b any, sign float64) any {
	left, okA := number(a)
	right, okB := number(b)
	if !okA || okB && sign*right > sign*left {
		return b
	}
	return a
}

func number(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}
