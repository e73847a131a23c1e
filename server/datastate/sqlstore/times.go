package sqlstore

import (
	"math"
	"strings"
	"time"
)

// timeLayouts are the ways in which programs write times into text columns, the most usual first. A time without a
// zone is one in UTC.
var timeLayouts = [...]string{
	"2006-01-02 15:04:05.999999999",
	"2006-01-02T15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999 -0700 MST", // Go's own, as its SQLite drivers store it
	"2006-01-02 15:04:05.999999999 -0700",
	"2006-01-02 15:04:05.999999999-0700",
	"2006-01-02T15:04:05.999999999-0700",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04",
	"2006-01-02 15:04",
	"2006-01-02",
}

// parseTime reads a time in any of the usual ways.
func parseTime(text string) (time.Time, bool) {
	text = strings.TrimSpace(text)
	if at := strings.Index(text, " m="); at > 0 { // the monotonic clock, which Go prints too
		text = text[:at]
	}
	if len(text) < len(time.DateOnly) || text[4] != '-' {
		return time.Time{}, false
	}
	for _, layout := range timeLayouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}

// unixTime takes a number in a time column for seconds since 1970, or for milliseconds where seconds would be past the
// year 5138.
func unixTime(seconds float64) (time.Time, bool) {
	const latest = 1e11
	if math.IsNaN(seconds) || math.Abs(seconds) > latest*1000 {
		return time.Time{}, false
	}
	if math.Abs(seconds) > latest {
		return time.UnixMilli(int64(seconds)).UTC(), true
	}
	whole, fraction := math.Modf(seconds)
	return time.Unix(int64(whole), int64(math.Round(fraction*1e6))*1000).UTC(), true
}

// asTime finds the time in a value of a time column.
func asTime(v any) (time.Time, bool) {
	switch v := v.(type) {
	case time.Time:
		return v.UTC(), true
	case string:
		return parseTime(v)
	case int64:
		return unixTime(float64(v))
	case float64:
		return unixTime(v)
	}
	return time.Time{}, false
}

// normalTime writes times alike on all engines. What is no time, such as MySQL's zero date or PostgreSQL's infinity,
// stays as the database writes it.
func normalTime(v any, k kind) any {
	if k == kindClock {
		if at, ok := v.(time.Time); ok {
			return trimClock(at.Format("15:04:05.999999999"))
		}
		if text, ok := v.(string); ok {
			return trimClock(text)
		}
		return normalAny(v, datatype{})
	}
	at, ok := asTime(v)
	switch {
	case !ok:
		return normalAny(v, datatype{})
	case k == kindDate:
		return at.Format(time.DateOnly)
	}
	return at.Format(time.RFC3339Nano)
}

// trimClock takes the zeros away that MySQL writes after the point.
func trimClock(text string) string {
	if whole, fraction, ok := strings.Cut(text, "."); ok && isDigits(fraction) {
		if fraction = strings.TrimRight(fraction, "0"); fraction == "" {
			return whole
		}
		return whole + "." + fraction
	}
	return text
}

func parseClock(text string) (string, bool) {
	for _, layout := range []string{"15:04:05.999999999", "15:04"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.Format("15:04:05.999999"), true
		}
	}
	return "", false
}
