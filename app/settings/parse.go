package settings

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"chatwright.dev/tray/server/hint"
)

// clip keeps an error line readable when somebody pastes a file where a word belongs.
func clip(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

func parseSwitch(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "1", "yes", "on":
		return true, nil
	case "false", "0", "no", "off":
		return false, nil
	}
	return false, hint.With(fmt.Errorf("%q is neither true nor false", clip(text)), "write true or false")
}

func parseNumber(text string, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, hint.With(fmt.Errorf("%q is not a number from 1 to %d", clip(text), most), "write a whole number")
	}
	return n, nil
}

func parseDuration(text string, least, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, hint.With(fmt.Errorf("%q is not a duration", clip(text)), "write a number with its unit, such as 500ms, 10s or 2m")
	}
	if d < least || d > most {
		return 0, hint.With(fmt.Errorf("%s is not between %s and %s", d, least, most), "write one in between")
	}
	return d, nil
}

func setUpstreamTimeout(s *Settings, text string) (err error) {
	s.UpstreamTimeout, err = parseDuration(text, 0, 24*time.Hour)
	return err
}

// setGrace wants more than nothing, since the server takes zero for its default.
func setGrace(s *Settings, text string) (err error) {
	s.Grace, err = parseDuration(text, time.Millisecond, time.Hour)
	return err
}

// setUICheck has a least: a release is a download for everybody who has one, and comes out far less often.
func setUICheck(s *Settings, text string) error {
	if text == "0" || text == "0s" {
		s.UICheck = 0
		return nil
	}
	every, err := parseDuration(text, time.Hour, 30*24*time.Hour)
	s.UICheck = every
	return err
}

// The sizes that make sense for a request body: less refuses every request, more is no bound.
const (
	leastSize = 1 << 10
	mostSize  = 1 << 40
)

// parseSize reads "64MiB", "64 MiB", "64MB" (a million each) or plain bytes.
func parseSize(text string) (int64, error) {
	digits := strings.TrimSpace(text)
	factor := 1.0
	for _, unit := range []struct {
		name string
		size float64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}} {
		if at := len(digits) - len(unit.name); at > 0 && strings.EqualFold(digits[at:], unit.name) {
			digits, factor = strings.TrimSpace(digits[:at]), unit.size
			break
		}
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsNaN(n) || strings.ContainsAny(digits, "xXpP_eE") {
		return 0, hint.With(fmt.Errorf("%q is not a size", clip(text)), "write a number with its unit, such as 64MiB")
	}
	if n *= factor; n < leastSize || n > mostSize {
		return 0, hint.With(fmt.Errorf("%q is not between 1KiB and 1024GiB", clip(text)), "write a size such as 64MiB")
	}
	return int64(n), nil
}

// mostSpeed is where a replay is hardly to be told from one that answers at once.
const mostSpeed = 1000

func setReplaySpeed(s *Settings, text string) error {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > mostSpeed {
		return hint.With(fmt.Errorf("%q is not a number from 0 to %d", clip(text), mostSpeed), "write 1, 2 or 0.5, or 0 for at once")
	}
	s.ReplaySpeed = n
	return nil
}
