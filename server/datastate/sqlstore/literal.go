package sqlstore

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// BinaryMarker is what binary values begin with: in rows, before their base64, and in documents that compare with one.
const BinaryMarker = "base64:"

// maxDigits is how many digits all engines compare exactly; MySQL has no more.
const maxDigits = 65

// A decimalText is a number written in plain digits, without an exponent.
type decimalText struct {
	text             string
	precision, scale int
}

// plainDecimal writes a JSON number without its exponent.
func plainDecimal(n json.Number) (decimalText, error) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(string(n)), "e")
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	shift := 0
	if exponent != "" {
		var err error
		if shift, err = strconv.Atoi(exponent); err != nil || shift > 4*maxDigits || shift < -4*maxDigits {
			return decimalText{}, tooManyDigits(n)
		}
	}
	digits, point := whole+fraction, len(whole)+shift
	if point < 0 {
		digits, point = strings.Repeat("0", -point)+digits, 0
	}
	if point > len(digits) {
		digits += strings.Repeat("0", point-len(digits))
	}
	whole, fraction = strings.TrimLeft(digits[:point], "0"), digits[point:]
	d := decimalText{precision: max(1, len(whole)+len(fraction)), scale: len(fraction)}
	if d.precision > maxDigits || d.scale > 30 {
		return decimalText{}, tooManyDigits(n)
	}
	if whole == "" {
		whole = "0"
	}
	d.text = whole
	if fraction != "" {
		d.text += "." + fraction
	}
	if negative {
		d.text = "-" + d.text
	}
	return d, nil
}

func tooManyDigits(n json.Number) error {
	return fmt.Errorf("the number %.40s has more digits than databases compare (%d, 30 of them after the point)", string(n), maxDigits)
}

// wholeNumber is the integer that n equals, however it is spelt.
func wholeNumber(n json.Number) (int64, bool) {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return i, true
	}
	d, err := plainDecimal(n)
	if err != nil {
		return 0, false
	}
	r, ok := new(big.Rat).SetString(d.text)
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}

// natural is the type of a literal that stands next to nothing that would decide it.
func natural(v any) datatype {
	switch v := v.(type) {
	case bool:
		return datatype{kind: kindBool}
	case json.Number:
		if _, ok := wholeNumber(v); ok {
			return datatype{kind: kindInt}
		}
		return datatype{kind: kindFloat}
	}
	return datatype{kind: kindText}
}

// coerce makes of a literal what the column of type t that it meets can be compared with. A literal of another kind is
// an error: the engines would take it for different things, or for the same by chance.
func coerce(v any, t datatype) (any, datatype, error) {
	switch v := v.(type) {
	case json.Number:
		return coerceNumber(v, t)
	case bool:
		if t.kind == kindBool || t.kind == kindAny {
			return v, datatype{kind: kindBool}, nil
		}
	case string:
		return coerceText(v, t)
	}
	return nil, t, mismatch(v, t)
}

func mismatch(v any, t datatype) error {
	what, way := "the value", ""
	switch v := v.(type) {
	case json.Number:
		what = "the number " + string(v)
		if t.kind == kindText || t.kind == kindUUID {
			way = ": write it in quotes"
		}
	case bool:
		what = "the boolean " + strconv.FormatBool(v)
	case string:
		what = fmt.Sprintf("the text %.40q", v)
		switch t.kind {
		case kindInt, kindFloat, kindBool:
			way = ": write the value without quotes"
		case kindTime:
			way = `: write it as in "2026-01-31T10:00:00Z"`
		case kindDate:
			way = `: write it as in "2026-01-31"`
		case kindClock:
			way = `: write it as in "10:00:00"`
		case kindBinary:
			way = `: write "` + BinaryMarker + `" and its base64`
		}
	}
	return fmt.Errorf("%s cannot be compared with %s%s", what, t.kind, way)
}

func coerceNumber(n json.Number, t datatype) (any, datatype, error) {
	switch t.kind {
	case kindInt, kindDecimal:
		if i, ok := wholeNumber(n); ok {
			return i, datatype{kind: kindInt}, nil
		}
		d, err := plainDecimal(n)
		if f, _ := strconv.ParseFloat(d.text, 64); err == nil && t.kind == kindInt && d.scale > 0 && f == math.Trunc(f) {
			err = tooManyDigits(n) // to SQLite it would be a whole number
		}
		return d, datatype{kind: kindDecimal, scale: d.scale}, err
	case kindFloat:
		f, err := strconv.ParseFloat(string(n), 64)
		if err != nil || math.IsInf(f, 0) {
			return nil, t, fmt.Errorf("the number %.40s is out of the range of doubles", string(n))
		}
		if t.bits == 32 {
			f = float64(float32(f)) // as the column keeps it
		}
		return f, datatype{kind: kindFloat}, nil
	case kindAny:
		if i, ok := wholeNumber(n); ok {
			return i, datatype{kind: kindInt}, nil
		}
		return coerceNumber(n, datatype{kind: kindFloat})
	}
	return nil, t, mismatch(n, t)
}

var (
	uuidText    = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	wholeForm   = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	decimalForm = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)
)

func coerceText(text string, t datatype) (any, datatype, error) {
	if strings.ContainsRune(text, 0) {
		return nil, t, fmt.Errorf("a text with a zero byte cannot be compared on all databases")
	}
	switch t.kind {
	case kindText:
		return text, t, nil
	case kindAny:
		return text, datatype{kind: kindText}, nil
	case kindDecimal: // rows show decimals as text, and what they show can be asked for
		if decimalForm.MatchString(text) {
			return coerceNumber(json.Number(text), t)
		}
	case kindTime:
		if at, ok := parseTime(text); ok {
			return at, t, nil
		}
	case kindDate:
		if at, err := time.Parse(time.DateOnly, text); err == nil {
			return at.Format(time.DateOnly), t, nil
		}
	case kindClock:
		if clock, ok := parseClock(text); ok {
			return clock, t, nil
		}
	case kindUUID:
		if uuidText.MatchString(text) {
			return strings.ToLower(text), t, nil
		}
	case kindBinary:
		if encoded, ok := strings.CutPrefix(text, BinaryMarker); ok {
			if data, err := base64.StdEncoding.DecodeString(encoded); err == nil {
				return data, t, nil
			}
		}
	}
	return nil, t, mismatch(text, t)
}
