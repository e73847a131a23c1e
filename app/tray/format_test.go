package tray_test

import (
	"strings"
	"testing"

	"chatwright.dev/tray/app/tray"
)

// tray.md: numbers read like a person writes them.
func TestCountsReadLikeAPersonWritesThem(t *testing.T) {
	for calls, want := range map[int64]string{
		0: "No calls yet", 1: "1 call", 2: "2 calls", 412: "412 calls", 999: "999 calls", 1000: "1k calls", 1049: "1k calls",
		12_300: "12.3k calls", 999_949: "999.9k calls", 999_950: "1M calls", 1_200_000: "1.2M calls", 3_000_000_000: "3G calls", 1 << 62: "1000G calls",
	} {
		if got := tray.Render(tray.State{Metrics: tray.Metrics{Calls: calls}}).Row("count").Label; got != want {
			t.Errorf("%d: got %q, want %q", calls, got, want)
		}
	}
}

func TestDurationsReadLikeAPersonWritesThem(t *testing.T) {
	for ms, want := range map[int64]string{
		0: "<1 ms", 1: "1 ms", 40: "40 ms", 99: "99 ms", 100: "0.1 s", 300: "0.3 s", 1800: "1.8 s", 10_800: "10.8 s",
		59_949: "59.9 s", 59_950: "1 min", 60_000: "1 min", 125_000: "2 min 5 s", 125_499: "2 min 5 s", 125_500: "2 min 6 s",
		3_599_400: "59 min 59 s", 3_599_500: "1 h", 3_840_000: "1 h 4 min",
	} {
		got := tray.Render(tray.State{Metrics: tray.Metrics{P50Ms: &ms}}).Row("percentiles").Label
		if got != "p50 "+want {
			t.Errorf("%d ms: got %q, want %q", ms, got, "p50 "+want)
		}
	}
}

func TestTheRateOfTheLastCall(t *testing.T) {
	for rate, want := range map[float64]string{
		0.4: "0.4 tok/s", 3.44: "3.4 tok/s", 9.94: "9.9 tok/s", 9.96: "10 tok/s", 38.2: "38 tok/s", 999.6: "1k tok/s", 1234: "1.2k tok/s",
	} {
		got := tray.Render(tray.State{Recent: []tray.Call{{TokensPerSecond: rate}}}).Row("last").Label
		if !strings.HasSuffix(got, " · "+want) {
			t.Errorf("%v: got %q, want it to end in %q", rate, got, want)
		}
	}
}

func TestWhatIsNotKnownIsCalledUnknown(t *testing.T) {
	got := tray.Render(tray.State{Recent: []tray.Call{{LatencyMs: 1800, Status: 200}}}).Row("last").Label
	if want := "Last: unknown model · 1.8 s · tokens unknown"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
