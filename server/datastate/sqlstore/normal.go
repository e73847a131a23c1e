package sqlstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// normal makes of a driver's value what rows hold, the same on all engines.
func normal(v any, t datatype) (any, error) {
	if v == nil {
		return nil, nil
	}
	switch t.kind {
	case kindBool:
		return normalBool(v), nil
	case kindInt:
		return normalInt(v)
	case kindFloat:
		return normalFloat(v, t), nil
	case kindDecimal:
		return normalDecimal(v, t.scale), nil
	case kindTime, kindDate, kindClock:
		return normalTime(v, t.kind), nil
	case kindUUID:
		if text, ok := v.(string); ok {
			return strings.ToLower(text), nil
		}
	case kindJSON:
		return normalJSON(v), nil
	}
	return normalAny(v, t), nil
}

// normalAny goes by the value: SQLite keeps values of any type in columns of any type.
func normalAny(v any, t datatype) any {
	switch v := v.(type) {
	case string:
		return strings.ToValidUTF8(v, "\ufffd")
	case float64, float32:
		return normalFloat(v, datatype{kind: kindFloat, digits: t.digits})
	case time.Time:
		return normalTime(v, kindTime)
	case bool, int64, uint64:
		return v
	}
	return fmt.Sprint(v)
}

func normalBool(v any) any {
	switch v := v.(type) {
	case bool:
		return v
	case int64: // of a number that is neither nobody knows what it is meant to be: it stays one, and equals neither
		if v == 0 || v == 1 {
			return v == 1
		}
	case float64:
		if v == 0 || v == 1 {
			return v == 1
		}
		return normalFloat(v, datatype{})
	case string: // of BIT(1), of text protocols, of SQLite's free columns
		switch strings.ToLower(v) {
		case "\x00", "0", "f", "false":
			return false
		case "\x01", "1", "t", "true":
			return true
		}
	}
	return v
}

// errOverflow is what PostgreSQL and MySQL say by themselves; SQLite goes on with a double that is another number.
var errOverflow = fmt.Errorf("integer overflow: the result of a calculation is out of range")

func normalInt(v any) (any, error) {
	switch v := v.(type) {
	case string:
		if wholeForm.MatchString(v) {
			return json.Number(v), nil
		}
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v), nil
		}
		if math.Abs(v) >= 1<<63 {
			return nil, errOverflow
		}
		return normalFloat(v, datatype{}), nil
	}
	return normalAny(v, datatype{}), nil
}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// How many digits sums and averages agree on, whatever the order of the rows was.
const (
	sureDigits       = 14 // of doubles
	sureSingleDigits = 6
)

func normalFloat(v any, t datatype) any {
	var f float64
	bits := 64
	switch v := v.(type) {
	case float64:
		f = v
	case float32:
		f, bits = float64(v), 32
	case int64:
		f = float64(v)
	case uint64:
		f = float64(v)
	case string:
		parsed, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return v
		}
		f = parsed
	default:
		return normalAny(v, datatype{})
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.FormatFloat(f, 'g', -1, 64) // text: JSON has no such number
	}
	if t.bits == 32 {
		bits = 32
	}
	if t.digits > 0 {
		f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'g', t.digits, 64), 64)
	}
	if f == 0 {
		f = 0 // and not -0
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		return json.Number(strconv.FormatFloat(f, 'f', 0, 64))
	}
	return json.Number(jsonFloat(f, bits))
}

// jsonFloat is the shortest text that reads back as f; Go's exponents are JSON's too.
func jsonFloat(f float64, bits int) string {
	return strconv.FormatFloat(f, 'g', -1, bits)
}

// decimalDigits is how many digits of a decimal a double keeps.
const decimalDigits = 15

// sameDigits reports whether two spellings are the same number to decimalDigits.
func sameDigits(a, b string) bool {
	f, _ := strconv.ParseFloat(a, 64)
	g, _ := strconv.ParseFloat(b, 64)
	return strconv.FormatFloat(f, 'g', decimalDigits, 64) == strconv.FormatFloat(g, 'g', decimalDigits, 64)
}

func normalDecimal(v any, scale int) any {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		text := strconv.FormatInt(v, 10)
		if scale > 0 {
			text += "." + strings.Repeat("0", scale)
		}
		return text
	case float64: // of SQLite, which has no decimals
		text := strconv.FormatFloat(v, 'f', scale, 64)
		if sure := strconv.FormatFloat(v, 'g', decimalDigits, 64); scale >= 0 && !sameDigits(text, sure) {
			text = strconv.FormatFloat(v, 'f', unknownScale, 64) // more digits than its type allows, which SQLite does not mind
		}
		if strings.Trim(text, "-0.") == "" { // zero has no sign as a decimal
			text = strings.TrimPrefix(text, "-")
		}
		return text
	}
	return normalAny(v, datatype{})
}

// normalJSON reads a JSON column. What is none stays the text that it is.
func normalJSON(v any) any {
	text, ok := v.(string)
	if !ok {
		return normalAny(v, datatype{})
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return normalAny(v, datatype{})
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return normalAny(v, datatype{})
	}
	return value
}
