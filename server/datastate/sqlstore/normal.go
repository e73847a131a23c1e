package sqlstore

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
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
	if t.kind == kindBinary {
		if data, ok := v.([]byte); ok {
			return BinaryMarker + base64.StdEncoding.EncodeToString(data), nil
		}
	}
	if data, ok := v.([]byte); ok && t.kind != kindAny {
		v = string(data)
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
	case []byte:
		return BinaryMarker + base64.StdEncoding.EncodeToString(v)
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
	case int64:
		return v != 0
	case uint64:
		return v != 0
	case float64:
		return v != 0
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
		if _, err := strconv.ParseInt(v, 10, 64); err == nil || isDigits(strings.TrimPrefix(v, "-")) {
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
	if err := dec.Decode(&value); err != nil || dec.More() {
		return normalAny(v, datatype{})
	}
	return value
}
