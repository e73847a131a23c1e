package datastate_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/datastate"
)

type num = json.Number

// datastate.md: "Numbers compare by value, not by Go type".
func TestEqualIsByValue(t *testing.T) {
	tests := []struct {
		name string
		a, b any
		want bool
	}{
		{"JSON's 5 is SQL's int64 5", num("5"), int64(5), true},
		{"int64 5 is 5.0", int64(5), 5.0, true},
		{"JSON's 5.0 is JSON's 5", num("5.0"), num("5"), true},
		{"5e0 and 0.5e1 are 5", num("5e0"), num("0.5e1"), true},
		{"500 is 5E+2", num("500"), num("5E+2"), true},
		{"uint8 is a number", uint8(200), 200, true},
		{"a float64 0.1 is JSON's 0.1", 0.1, num("0.1"), true},
		{"a float32 0.1 is JSON's 0.1", float32(0.1), num("0.10"), true},
		{"minus zero is zero", num("-0"), math.Copysign(0, -1), true},
		{"zero is zero at any exponent", num("0e999999999999"), 0, true},
		{"2^53+1 is exact as JSON and int64", num("9007199254740993"), int64(9007199254740993), true},
		{"2^53+1 is not 2^53", num("9007199254740993"), int64(9007199254740992), false},
		{"2^53+1 is not the float next to it", num("9007199254740993"), float64(1 << 53), false},
		{"a whole float64 is the int64 it equals", float64(1 << 62), int64(1 << 62), true},
		{"the largest uint64", uint64(math.MaxUint64), num("18446744073709551615"), true},
		{"a big.Int is a number", new(big.Int).Lsh(big.NewInt(1), 70), num("1180591620717411303424"), true},
		{"JSON's 1e400 is no infinity", num("1e400"), num("1e401"), false},
		{"an exponent longer than an int64", num("1e99999999999999999999"), num("10e99999999999999999998"), true},
		{"an exponent with zeros before it", num("1e+0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000005"), num("1e5"), true},
		{"a number whose exponent nobody can compute is text", num("1e" + strings.Repeat("9", 1<<20)), "1e" + strings.Repeat("9", 1<<20), true},
		{"a tiny number is not zero", num("1e-999999999"), 0, false},
		{"a number is not its text", 5, "5", false},
		{"a decimal kept as text keeps its digits", "12.50", "12.5", false},
		{"a decimal kept as text is that text", "12.50", "12.50", true},
		{"true is not 1", true, 1, false},
		{"null is not false", nil, false, false},
		{"null is not an empty text", nil, "", false},
		{"an empty list is not null", []any{}, nil, false},
		{"lists keep their order", []any{1, 2}, []any{2, 1}, false},
		{"numbers in lists and maps", map[string]any{"a": []any{1, 2.0}}, map[string]any{"a": []any{num("1.0"), uint(2)}}, true},
		{"a typed list is a list", []string{"a"}, []any{"a"}, true},
		{"a typed map is a map", map[string]int{"a": 1}, map[string]any{"a": 1.0}, true},
		{"times compare as instants", time.Date(2026, 1, 2, 3, 0, 0, 0, time.FixedZone("", 3600)), "2026-01-02T02:00:00Z", true},
		{"bytes are base64", []byte("hi"), "aGk=", true},
		{"not a number equals itself", math.NaN(), math.NaN(), true},
		{"a duration is its nanoseconds", time.Second, 1_000_000_000, true},
		{"a json.Number that is none is text", num("0x10"), "0x10", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := datastate.Equal(tt.a, tt.b); got != tt.want {
				t.Errorf("Equal(%.40v, %.40v): got %t, want %t", tt.a, tt.b, got, tt.want)
			}
			if got := datastate.Equal(tt.b, tt.a); got != tt.want {
				t.Errorf("the other way round: got %t, want %t", got, tt.want)
			}
		})
	}
}

func TestCanonicalJSON(t *testing.T) {
	tests := []struct {
		name string
		in   any
		want string
	}{
		{"names are sorted, white space is gone", map[string]any{"b": nil, "a": []any{true, "x"}}, `{"a":[true,"x"],"b":null}`},
		{"HTML characters stay", "<a&b>", `"<a&b>"`},
		{"trailing zeros go", num("1.500"), "1.5"},
		{"zeros before the digits", num("0.00120"), "0.0012"},
		{"zeros after the digits", num("12e3"), "12000"},
		{"negative", num("-0.5"), "-0.5"},
		{"a long exponent stays one", num("12e400"), "12e400"},
		{"a long negative exponent too", num("1.2e-400"), "12e-401"},
		{"a huge exponent costs nothing", num("1e999999999"), "1e999999999"},
		{"invalid UTF-8 is what the evidence shows", "a\xff", "\"a\ufffd\""},
		{"an infinity is text", math.Inf(1), `"+Inf"`},
		{"what JSON cannot say is its Go text", complex(1, 2), `"(1+2i)"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := datastate.CanonicalJSON(tt.in); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestSortKeysOrderNumbersByValue(t *testing.T) {
	ascending := []any{nil, false, true, num("-1e400"), -10, num("-1.5"), 0, num("1e-400"), 0.5, 2, int64(10), num("10.5"), num("1e400"), num("1e99999999999999999999"), "", "10", "2", []any{1}, map[string]any{}}
	for i, a := range ascending {
		for j, b := range ascending {
			got := datastate.CompareValues(a, b)
			if want := sign(i - j); sign(got) != want {
				t.Errorf("compare(%v, %v): got %d, want %d", a, b, got, want)
			}
		}
	}
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

// FuzzCanonicalJSON: the canonical form of any JSON is JSON, and is its own canonical form.
func FuzzCanonicalJSON(f *testing.F) {
	for _, seed := range []string{
		`{"b":1.0,"a":[null,true,"x<"]}`, `-0`, `1e999999999`, `1E-5`, `0.000`, `"\ud800"`, `[[],{}]`, `123456789012345678901234567890.10`, `1e-99999999999999999999`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, ok := decode(data)
		if !ok {
			return // no value, so nothing is claimed of it
		}
		once := datastate.CanonicalJSON(v)
		again, ok := decode([]byte(once))
		if !ok {
			t.Fatalf("%s is not JSON, from %s", once, data)
		}
		if twice := datastate.CanonicalJSON(again); twice != once {
			t.Errorf("got %s the second time, want %s", twice, once)
		}
		if datastate.CompareValues(v, v) != 0 || !datastate.Equal(v, v) || !datastate.Equal(v, again) {
			t.Errorf("%s does not equal itself", data)
		}
	})
}

// FuzzCompareNumbers checks the order against arbitrary-precision arithmetic, where that can be afforded.
func FuzzCompareNumbers(f *testing.F) {
	for _, seed := range [][2]string{{"5", "5.0"}, {"-1", "1"}, {"1e3", "999.9"}, {"9007199254740993", "9007199254740992"}, {"0.1e-2", "0.001"}, {"-12", "-123"}, {"0", "-0e7"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if !isNumber(a) || !isNumber(b) {
			return // nothing is claimed of what is no number
		}
		got := datastate.CompareValues(num(a), num(b))
		if back := datastate.CompareValues(num(b), num(a)); back != -got {
			t.Errorf("compare(%s, %s) is %d, the other way round %d", a, b, got, back)
		}
		if equal := datastate.Equal(num(a), num(b)); equal != (got == 0) {
			t.Errorf("compare(%s, %s) is %d, but Equal says %t", a, b, got, equal)
		}
		left, okLeft := new(big.Rat).SetString(a)
		right, okRight := new(big.Rat).SetString(b)
		if want := 0; smallExponent(a) && smallExponent(b) && okLeft && okRight {
			if want = left.Cmp(right); got != want {
				t.Errorf("compare(%s, %s): got %d, want %d", a, b, got, want)
			}
		}
	})
}

func isNumber(s string) bool {
	v, ok := decode([]byte(s))
	_, number := v.(num)
	return ok && number && strings.TrimSpace(s) == s && len(s) < 100 // longer exponents are text
}

func smallExponent(s string) bool {
	at := strings.IndexAny(s, "eE")
	return at < 0 || len(s)-at <= 4
}

func decode(data []byte) (v any, ok bool) {
	if !json.Valid(data) {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return v, dec.Decode(&v) == nil
}
