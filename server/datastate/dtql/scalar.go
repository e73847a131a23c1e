package dtql

import (
	"encoding/json"
	"fmt"
	"strings"
)

// plain is the value of a scalar without quotes. YAML readers disagree about many of them, and a query that compares
// with another value than its author sees proves nothing: so only what all readers agree on has a type, and what some
// take for a number is refused with the way out.
func plain(text string) (any, error) {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return nil, nil
	case "true", "True", "TRUE":
		return true, nil
	case "false", "False", "FALSE":
		return false, nil
	}
	if isNumber(text) {
		if !sensible(text) {
			return nil, fmt.Errorf("the number %s is out of range", shorten(text))
		}
		return json.Number(text), nil
	}
	switch strings.ToLower(strings.TrimLeft(text, "+-")) {
	case ".nan", ".inf":
		return nil, fmt.Errorf("%s is not a number that data can be compared with", text)
	}
	if almostNumber(text) {
		return nil, fmt.Errorf("%s is a number to some readers of YAML and text to others: "+
			"write the number in decimal as JSON does, or the text in quotes", shorten(text))
	}
	return text, nil
}

// isNumber reports whether text is a number as JSON writes it.
func isNumber(text string) bool {
	rest := strings.TrimPrefix(text, "-")
	whole := digits(rest)
	if whole == 0 || whole > 1 && rest[0] == '0' {
		return false
	}
	rest = rest[whole:]
	if after, ok := strings.CutPrefix(rest, "."); ok {
		n := digits(after)
		if n == 0 {
			return false
		}
		rest = after[n:]
	}
	if rest == "" {
		return true
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return false
	}
	rest = rest[1:]
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		rest = rest[1:]
	}
	return rest != "" && digits(rest) == len(rest)
}

func digits(text string) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

// sensible bounds what a number costs whoever calculates with it exactly: 1e999999999 is eleven bytes here, and a
// gigabyte as an integer.
func sensible(number string) bool {
	const maxDigits, maxExponentDigits = 1000, 3
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	return len(mantissa) <= maxDigits && len(strings.TrimLeft(exponent, "+-0")) <= maxExponentDigits
}

// almostNumber finds +1, .5, 1., 017, 0x1F, 0o17, 0b1, 1_000 and their kin.
func almostNumber(text string) bool {
	rest := strings.ToLower(strings.TrimLeft(text, "+-"))
	if len(text)-len(rest) > 1 || rest == "" {
		return false
	}
	for _, base := range []struct{ prefix, digits string }{
		{"0x", "0123456789abcdef_"}, {"0o", "01234567_"}, {"0b", "01_"},
	} {
		if after, ok := strings.CutPrefix(rest, base.prefix); ok {
			return after != "" && strings.Trim(after, base.digits) == ""
		}
	}
	if first := strings.TrimPrefix(rest, "."); first == "" || first[0] < '0' || first[0] > '9' {
		return false
	}
	// What is left when digits and their separators are gone tells a number from a date or an address.
	rest = strings.ReplaceAll(rest, "_", "")
	mantissa, exponent, ok := strings.Cut(rest, "e")
	if ok {
		exponent = strings.TrimLeft(exponent, "+-")
		if exponent == "" || digits(exponent) != len(exponent) {
			return false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	return digits(whole) == len(whole) && digits(fraction) == len(fraction)
}

// shorten keeps a foreign text from filling a message.
func shorten(text string) string {
	const most = 40
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
