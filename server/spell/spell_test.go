package spell_test

import (
	"strings"
	"testing"

	"chatwright.dev/tray/server/spell"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"status", "status", 0}, {"statsu", "status", 2}, {"stat", "status", 2},
		{"itmes", "items", 2}, {"kitten", "sitting", 3}, {strings.Repeat("a", 65), "a", 64},
	} {
		if got := spell.Distance(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: got %d, want %d", c.a, c.b, got, c.want)
		}
		if got := spell.Distance(c.b, c.a); got != c.want {
			t.Errorf("%q, %q: got %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
