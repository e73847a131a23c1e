package upstream

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// merge returns a schema that asks for what a and b ask for together; false when they exclude each other. It is what
// allOf, a reference with members beside it, and an alternative with members beside it come down to.
func (m *schemaMaker) merge(a object, b any) (object, bool) {
	other, ok := b.(object)
	if !ok {
		return a, b != false
	}
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
		merged, ok := mergeKeyword(keyword, have, want)
		if !ok {
			return nil, false
		}
		out[keyword] = merged
	}
	return out, true
}

func mergeKeyword(keyword string, a, b any) (any, bool) {
	switch keyword {
	case "required":
		return union(a, b), true
	case "properties", "$defs", "definitions", "patternProperties":
		return mergeMembers(a, b), true
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
