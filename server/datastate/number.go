package datastate

import (
	"cmp"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// A decimal is a number as digits × 10^exp with no zero at either end of digits, so equal values have equal fields
// whatever they were spelt like. It never holds more digits than were written: 1e999999999 costs one digit, where a
// big.Rat would cost a gigabyte.
type decimal struct {
	negative bool
	digits   string   // "" is zero
	exp      *big.Int // a foreign exponent may be longer than an int64
}

// plainDigits is how long a number may get before its canonical text changes to the form with an exponent.
const plainDigits = 40

// maxExponent is how many digits an exponent may have. Arithmetic on longer ones takes long enough to be an attack.
const maxExponent = 100

// parseDecimal reads a number as JSON spells it. ok is false for anything else.
func parseDecimal(text string) (d decimal, ok bool) {
	rest, negative := strings.CutPrefix(text, "-")
	whole, rest := leadingDigits(rest)
	if whole == "" || (len(whole) > 1 && whole[0] == '0') {
		return decimal{}, false
	}
	var fraction string
	if after, found := strings.CutPrefix(rest, "."); found {
		if fraction, rest = leadingDigits(after); fraction == "" {
			return decimal{}, false
		}
	}
	exp := new(big.Int)
	if rest != "" {
		if rest[0] != 'e' && rest[0] != 'E' {
			return decimal{}, false
		}
		sign, rest := "", rest[1:]
		if rest != "" && (rest[0] == '+' || rest[0] == '-') {
			sign, rest = rest[:1], rest[1:]
		}
		power, rest := leadingDigits(rest)
		if power == "" || rest != "" {
			return decimal{}, false
		}
		if power = strings.TrimLeft(power, "0"); len(power) > maxExponent {
			return decimal{}, false
		}
		exp.SetString(strings.TrimPrefix(sign, "+")+"0"+power, 10)
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	trimmed := strings.TrimRight(digits, "0")
	if trimmed == "" {
		return decimal{exp: new(big.Int)}, true // -0 and 0e5 are 0
	}
	exp.Add(exp, big.NewInt(int64(len(digits)-len(trimmed)-len(fraction))))
	return decimal{negative, trimmed, exp}, true
}

func leadingDigits(s string) (digits, rest string) {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}

// String is the canonical JSON spelling.
func (d decimal) String() string {
	if d.digits == "" {
		return "0"
	}
	sign := ""
	if d.negative {
		sign = "-"
	}
	if !d.exp.IsInt64() {
		return sign + d.digits + "e" + d.exp.String()
	}
	exp, n := d.exp.Int64(), int64(len(d.digits))
	switch {
	case exp == 0:
		return sign + d.digits
	case exp > 0 && exp <= plainDigits-n:
		return sign + d.digits + strings.Repeat("0", int(exp))
	case exp < 0 && exp > -n:
		return sign + d.digits[:n+exp] + "." + d.digits[n+exp:]
	case exp < 0 && exp >= -plainDigits:
		return sign + "0." + strings.Repeat("0", int(-exp-n)) + d.digits
	}
	return sign + d.digits + "e" + strconv.FormatInt(exp, 10)
}

// compare orders by value.
func (d decimal) compare(other decimal) int {
	if s, o := d.sign(), other.sign(); s != o || s == 0 {
		return cmp.Compare(s, o)
	}
	// The power of ten above the first digit decides; then digits compare like text, since none ends in a zero.
	magnitude := func(d decimal) *big.Int { return new(big.Int).Add(d.exp, big.NewInt(int64(len(d.digits)))) }
	order := magnitude(d).Cmp(magnitude(other))
	if order == 0 {
		order = strings.Compare(d.digits, other.digits)
	}
	if d.negative {
		return -order
	}
	return order
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// formatFloat spells a finite float. Whole numbers that an integer type could hold are exact, so that float64(1<<62)
// equals int64(1<<62); others take the shortest spelling that reads back as f, so that 0.1 equals JSON's 0.1.
func formatFloat(f float64, bits int) string {
	if f == math.Trunc(f) && math.Abs(f) < 1<<64 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, bits)
}
