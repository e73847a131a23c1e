package settings_test

import (
	"slices"
	"testing"

	"chatwright.dev/tray/app/settings"
)

func TestTheNearestNameIsOneThatBeginsSoOrHasFewSlips(t *testing.T) {
	names := []string{"start", "status", "stop", "open", "calls", "query", "restart"}
	for _, tt := range []struct{ word, want string }{
		{"stat", "status"}, {"statsu", "status"}, {"nope", ""}, {"stqo", ""}, {"stp", "stop"}, {"qery", "query"}, {"s", ""}, {"", ""},
	} {
		if got := settings.Nearest(tt.word, names); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.word, got, tt.want)
		}
	}
}

func TestVariablesThatLookLikeSettingsAreFound(t *testing.T) {
	got := settings.Strays([]string{
		"PATH=/bin", "CHATWRIGHT_HOME=/h", "CHATWRIGHT_SERVER_ADDR=127.0.0.1:1", // known, or not ours
		"CHATWRIGHT_TESTS=all", "CHATWRIGHT_API_TOKEN=x", // of other programs
		"CHATWRIGHT_SERVER_UPSTREM=demo", "CHATWRIGHT_ADDR=127.0.0.1:1", "CHATWRIGHT_SERVER_FLAVOUR=vanilla", "CHATWRIGHT_LOGLEVEL=debug",
	})
	want := []settings.Stray{
		{"CHATWRIGHT_ADDR", "CHATWRIGHT_SERVER_ADDR"}, {"CHATWRIGHT_LOGLEVEL", "CHATWRIGHT_LOG_LEVEL"},
		{"CHATWRIGHT_SERVER_FLAVOUR", ""}, {"CHATWRIGHT_SERVER_UPSTREM", "CHATWRIGHT_SERVER_UPSTREAM"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}
