package genai_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"chatwright.dev/tray/server/internal/genai"
	"chatwright.dev/tray/server/protocol"
)

func TestErrorTypesAreFew(t *testing.T) {
	for _, c := range []struct {
		name string
		call protocol.Call
		want string
	}{
		{"a whole answer", protocol.Call{Status: 200, Verdict: protocol.VerdictComplete}, ""},
		{"no end marker", protocol.Call{Status: 200, Verdict: protocol.VerdictNoDone}, ""},
		{"broken off", protocol.Call{Status: 200, Verdict: protocol.VerdictTruncated}, "truncated"},
		{"an error in the stream", protocol.Call{Status: 200, Verdict: protocol.VerdictStreamError}, "stream-error"},
		{"the caller left", protocol.Call{Status: 499, Verdict: protocol.VerdictCancelled}, "cancelled"},
		{"nobody there", protocol.Call{Verdict: protocol.VerdictUnreachable}, "unreachable"},
		{"still loading", protocol.Call{Status: 503, Verdict: protocol.VerdictLoading}, "loading"},
		{"the upstream said no", protocol.Call{Status: 404, Verdict: protocol.VerdictUpstreamError}, "404"},
		{"a status that nobody knows", protocol.Call{Status: 599, Verdict: protocol.VerdictUpstreamError}, "_OTHER"},
		{"an error with the status of success", protocol.Call{Status: 200, Verdict: protocol.VerdictUpstreamError}, "_OTHER"},
		{"we refused it", protocol.Call{Status: 413}, "413"},
		{"a companion that knows no verdicts", protocol.Call{Status: 200}, ""},
	} {
		if got := genai.ErrorType(&c.call); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAddresses(t *testing.T) {
	for upstream, want := range map[string][2]string{
		"localhost:11434": {"localhost", "11434"}, "[::1]:8080": {"::1", "8080"}, "models.example": {"models.example", ""},
		"Demo model": {"Demo model", ""}, "": {"", ""}, "::1:80": {"::1:80", ""}, "[x]:80": {"[x]:80", ""}, "localhost:": {"localhost:", ""},
	} {
		if address, port := genai.ServerAddress(upstream); address != want[0] || port != want[1] {
			t.Errorf("%q: got %q and %q, want %q", upstream, address, port, want)
		}
	}
}

func TestTheModelIsTheOneAskedFor(t *testing.T) {
	if got := genai.RequestModel(&protocol.Call{Model: "m-2026", RequestModel: "m"}); got != "m" {
		t.Errorf("got %q, want m", got)
	}
	if got := genai.RequestModel(&protocol.Call{Model: "m"}); got != "m" {
		t.Errorf("got %q, want m", got)
	}
}

func TestNamesAreValidAndBounded(t *testing.T) {
	for _, name := range []string{"", "llama3.2", "字", "a\xff", strings.Repeat("字", 100), strings.Repeat("\xff", 1000)} {
		got := genai.Name(name)
		if !utf8.ValidString(got) || len(got) > 600 || utf8.ValidString(name) && len(name) < 200 && got != name {
			t.Errorf("%.10q: got %.10q of %d bytes", name, got, len(got))
		}
	}
}

func TestBoundsRise(t *testing.T) {
	for _, bounds := range [][]float64{genai.DurationBounds, genai.TokenBounds, genai.FirstChunkBounds} {
		if !slices.IsSorted(bounds) || len(bounds) > genai.MaxBounds {
			t.Errorf("got %v", bounds)
		}
	}
}
