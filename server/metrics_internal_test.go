package server

import (
	"testing"
	"unicode/utf8"
)

// Whatever an Accept header says, it is understood as something, and JSON alone is never answered with text.
func FuzzAccept(f *testing.F) {
	for _, seed := range []string{"", "*/*", "text/plain;q=0.5, application/json", `text/plain;x="a,b";q=1`, "a/b;q=1e309", ";;q=", "text/plain;q=-0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, accept string) {
		prefersPrometheus(accept)
		if utf8.ValidString(accept) && prefersPrometheus("application/json,"+accept) {
			// Only a range that fits JSON as well and is weaker could say so, and the first is as strong as can be.
			t.Errorf("%q after JSON: got text", accept)
		}
	})
}
