package datastate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// plain returns v as JSON knows it (nil, bool, string, json.Number, []any, map[string]any), sharing nothing with v.
// Numbers keep their digits, times become RFC 3339 in UTC, bytes base64. What JSON cannot say (NaN, a channel)
// becomes its Go text, so that evidence can always be written.
func plain(v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case bool, string:
		return v
	case json.Number:
		if _, ok := parseDecimal(string(v)); !ok {
			return string(v)
		}
		return v
	case map[string]any:
		if v == nil {
			return nil
		}
		out := make(map[string]any, len(v))
		for name, field := range v {
			out[name] = plain(field)
		}
		return out
	case []any:
		if v == nil {
			return nil
		}
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = plain(element)
		}
		return out
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case float32:
		return plainFloat(float64(v), 32)
	case float64:
		return plainFloat(v, 64)
	}
	return plainOther(v)
}

func plainFloat(f float64, bits int) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.FormatFloat(f, 'g', -1, bits)
	}
	return json.Number(formatFloat(f, bits))
}

// plainOther handles the types that no driver of the standard library gives: through encoding/json, so that a
// type's own MarshalJSON counts.
func plainOther(v any) any {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if _, own := v.(json.Marshaler); !own {
			return json.Number(strconv.FormatInt(r.Int(), 10))
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if _, own := v.(json.Marshaler); !own {
			return json.Number(strconv.FormatUint(r.Uint(), 10))
		}
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var out any
	if err := dec.Decode(&out); err != nil {
		return fmt.Sprint(v)
	}
	return plain(out)
}

// CanonicalJSON spells v in exactly one way: names sorted, no white space, each number in its shortest form by value.
// Two values are equal when their canonical JSON is.
func CanonicalJSON(v any) string {
	var b bytes.Buffer
	writeCanonical(&b, plain(v))
	return b.String()
}

// Equal reports whether a and b are the same value. Go types do not matter; a number never equals a string.
func Equal(a, b any) bool { return CanonicalJSON(a) == CanonicalJSON(b) }

// writeCanonical wants a value that plain made.
func writeCanonical(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case string:
		writeString(b, v)
	case json.Number:
		d, _ := parseDecimal(string(v))
		b.WriteString(d.String())
	case []any:
		b.WriteByte('[')
		for i, element := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeCanonical(b, element)
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b.WriteByte(',')
			}
			writeString(b, name)
			b.WriteByte(':')
			writeCanonical(b, v[name])
		}
		b.WriteByte('}')
	}
}

func writeString(b *bytes.Buffer, s string) {
	if !utf8.ValidString(s) {
		s = string([]rune(s)) // U+FFFD for each bad byte, as evidence shows it
	}
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)       // a string always encodes
	b.Truncate(b.Len() - 1) // the newline that Encode ends with
}

// compareValues orders two values that plain made: null, false, true, numbers by value, text, lists, maps.
func compareValues(a, b any) int {
	if byKind := cmp.Compare(kind(a), kind(b)); byKind != 0 {
		return byKind
	}
	switch a := a.(type) {
	case json.Number:
		left, _ := parseDecimal(string(a))
		right, _ := parseDecimal(string(b.(json.Number)))
		return left.compare(right)
	case string:
		return strings.Compare(a, b.(string))
	}
	return strings.Compare(CanonicalJSON(a), CanonicalJSON(b))
}

func kind(v any) int {
	switch v.(type) {
	case nil:
		return 0
	case bool:
		return 1
	case json.Number:
		return 2
	case string:
		return 3
	case []any:
		return 4
	}
	return 5
}

// contains reports whether got has everything that want has: maps partially and deeply, lists element for element,
// the rest by value. Both were made by plain.
func contains(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return false
		}
		for name, wanted := range want {
			if field, has := got[name]; !has || !contains(field, wanted) {
				return false
			}
		}
		return true
	case []any:
		got, ok := got.([]any)
		return ok && slices.EqualFunc(got, want, contains)
	}
	return kind(got) == kind(want) && compareValues(got, want) == 0
}
