package session

import (
	"crypto/rand"
	"strings"
	"time"
)

// An id is the time of its making down to the millisecond, which sorts, and four letters that nobody guesses:
// 20261130-154353764-k7ra.
const (
	idTime   = "20060102-150405"
	idLength = len(idTime) + len("000") + len("-abcd")
)

// ValidID reports whether id is one that a session may have. What is not names no file: it has neither dots nor
// slashes.
func ValidID(id string) bool {
	if len(id) < 8 || len(id) > 40 {
		return false
	}
	return strings.IndexFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && r != '-'
	}) < 0
}

// makeID returns an id of that moment.
func makeID(at time.Time) string {
	at = at.UTC()
	millis := at.Format(".000")[1:]
	return at.Format(idTime) + millis + "-" + strings.ToLower(rand.Text()[:4])
}

// timeOfID returns the moment that an id of ours was made for.
func timeOfID(id string) (at time.Time, ok bool) {
	if len(id) != idLength {
		return time.Time{}, false
	}
	at, err := time.Parse(idTime+".000", id[:len(idTime)]+"."+id[len(idTime):len(idTime)+3])
	return at, err == nil
}
