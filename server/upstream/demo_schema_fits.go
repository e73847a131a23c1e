package upstream

import (
	"encoding/json"
	"math"
	"slices"
	"unicode/utf8"
)

// oneOf picks one of the values that a schema lists. What the schema says besides can rule some of them out: merged
// schemas do that.
func (m *schemaMaker) oneOf(values []any, s object, variant int) (any, error) {
	const looking = 10 // at a value costs as much as so many members of a schema
	if !m.spend(len(values) * (looking + patternsLength(list(s["pattern"])))) {
		return nil, errTooMuch
	}
	fitting := slices.DeleteFunc(slices.Clone(values), func(v any) bool { return !fits(v, s) })
	if len(fitting) == 0 {
		return nil, errNothing
	}
	return fitting[variant%len(fitting)], nil
}

// fits says whether a listed value has a type that the schema allows, and the size that it asks for.
func fits(value any, s object) bool {
	wanted := types(s)
	if s["type"] == nil {
		wanted = []string{""} // what the keywords imply binds only values of that type
	}
	if !slices.ContainsFunc(wanted, func(typ string) bool { return typ == "" || hasType(value, typ) }) {
		return false
	}
	switch v := value.(type) {
	case string:
		n := float64(utf8.RuneCountInString(v))
		if pattern, ok := s["pattern"]; ok && !matchesAll(list(pattern), v) {
			return false
		}
		return within(n, s, "minLength", "maxLength")
	case json.Number:
		n, err := v.Float64()
		step, stepped := number(s["multipleOf"])
		return err == nil && within(n, s, "minimum", "maximum") && inside(n, s) &&
			(!stepped || step > 0 && math.Mod(n, step) == 0)
	case []any:
		return within(float64(len(v)), s, "minItems", "maxItems")
	case object:
		required, _ := s["required"].([]any)
		for _, name := range required {
			if name, ok := name.(string); ok {
				if _, have := v[name]; !have {
					return false
				}
			}
		}
		return within(float64(len(v)), s, "minProperties", "maxProperties")
	}
	return true
}

func hasType(value any, typ string) bool {
	switch v := value.(type) {
	case nil:
		return typ == "null"
	case bool:
		return typ == "boolean"
	case string:
		return typ == "string"
	case []any:
		return typ == "array"
	case object:
		return typ == "object"
	case json.Number:
		n, err := v.Float64()
		return typ == "number" || typ == "integer" && err == nil && n == math.Trunc(n)
	default:
		return false
	}
}

// within compares with two bounds that are part of the range.
func within(n float64, s object, low, high string) bool {
	if least, ok := number(s[low]); ok && n < least {
		return false
	}
	most, ok := number(s[high])
	return !ok || n <= most
}

// inside compares with the two bounds that are not.
func inside(n float64, s object) bool {
	if least, ok := number(s["exclusiveMinimum"]); ok && n <= least {
		return false
	}
	most, ok := number(s["exclusiveMaximum"])
	return !ok || n < most
}
