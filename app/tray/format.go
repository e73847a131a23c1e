package tray

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// Number writes a count the way a person does: 412, 12.3k, 1.2M.
func Number(n int64) string { return scaled(float64(n)) }

// scaled chooses the unit after rounding: 999,950 reads as 1M, not as 1000k. Beyond 1000G it says no more.
func scaled(n float64) string {
	n = min(n, 1e12)
	switch {
	case n >= 999_950_000:
		return short(n/1e9) + "G"
	case n >= 999_950:
		return short(n/1e6) + "M"
	case n >= 999.5:
		return short(n/1e3) + "k"
	}
	return strconv.FormatFloat(math.Round(n), 'f', 0, 64)
}

// short keeps one decimal, and none that is zero.
func short(f float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
}

// Plural writes a count with its noun the way the menu does: 1 call, 12.3k calls.
func Plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Number(n) + " " + noun + "s"
}

// Size writes bytes the way model servers do, by thousands: 30 MB, 2.5 GB, 40 GB.
func Size(bytes int64) string {
	for _, unit := range []struct {
		name string
		size float64
	}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		switch n := float64(bytes) / unit.size; {
		case n >= 9.95:
			return fmt.Sprintf("%.0f %s", n, unit.name)
		case n >= 0.9995:
			return short(n) + " " + unit.name
		}
	}
	return fmt.Sprintf("%d B", bytes)
}

// Duration writes milliseconds the way a person does: 40 ms, 0.3 s, 1.8 s, 2 min 5 s, 1 h 4 min.
func Duration(ms int64) string {
	switch {
	case ms <= 0:
		return "<1 ms"
	case ms < 100:
		return fmt.Sprintf("%d ms", ms)
	case ms < 59_950: // 59.95 s would round to 60.0 s, which is a minute
		return fmt.Sprintf("%.1f s", float64(ms)/1000)
	}
	s := (ms + 500) / 1000
	if s < 3600 {
		return two(s/60, "min", s%60, "s")
	}
	minutes := (s + 30) / 60
	return two(minutes/60, "h", minutes%60, "min")
}

func two(big int64, bigUnit string, small int64, smallUnit string) string {
	if small == 0 {
		return fmt.Sprintf("%d %s", big, bigUnit)
	}
	return fmt.Sprintf("%d %s %d %s", big, bigUnit, small, smallUnit)
}

// Rate writes tokens a second: 3.4 tok/s, 38 tok/s.
func Rate(perSecond float64) string {
	if perSecond < 9.95 {
		return short(perSecond) + " tok/s"
	}
	return scaled(perSecond) + " tok/s"
}

func modelName(c Call) string { return or(clean(c.Model, maxName), "unknown model") }

// outcome is the word for how a call ended, since a colour cannot say it here; empty for a whole answer.
func outcome(c Call) string {
	switch c.Verdict {
	case "", "complete":
		return ""
	case "no-done":
		return "no end marker"
	case "upstream-error":
		return fmt.Sprintf("error %d", c.Status)
	case "stream-error":
		return "error in the stream"
	}
	return clean(c.Verdict, maxName)
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// clean makes text from anywhere fit for a label: one line, valid UTF-8, no control or direction characters (a NUL is
// refused by D-Bus and by Windows, a newline or an override would let a model's name forge a row), at most limit
// characters.
func clean(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case !unicode.IsPrint(r): // format, direction, private use, unassigned
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
	s = strings.Join(strings.Fields(s), " ")
	runes := []rune(s)
	if len(runes) <= limit {
		return s
	}
	return strings.TrimSpace(string(runes[:limit-1])) + "…"
}
