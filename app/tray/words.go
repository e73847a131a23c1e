package tray

// Number writes a count the way the menu does: 412, 12.3k, 1.2M.
func Number(n int64) string { return number(n) }

// Duration writes milliseconds the way the menu does: 0.3 s, 1.8 s, 2 min 5 s.
func Duration(ms int64) string { return duration(ms) }

// Rate writes tokens a second the way the menu does: 38 tok/s.
func Rate(perSecond float64) string { return rate(perSecond) }
