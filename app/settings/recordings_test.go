package settings_test

import (
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server/hint"
)

func TestCallsAreRecordedOrReplayed(t *testing.T) {
	got := load(t, sources{flags: []string{"--record=/tapes"}})
	if got.Record != "/tapes" || got.Replay != "" {
		t.Errorf("got %q and %q", got.Record, got.Replay)
	}
	for _, c := range []struct {
		flags     []string
		want, way string
	}{
		{[]string{"--record=/a", "--replay=/b"}, "flag --replay: calls are recorded (flag --record) or answered from recordings, not both", "leave out one"},
		{[]string{"--replay-speed=2"}, "flag --replay-speed: nothing is replayed", "--replay FOLDER"},
		{[]string{"--replay=/a", "--replay-speed=-1"}, `flag --replay-speed: "-1" is not a number from 0 to 1000`, "0 for at once"},
		{[]string{"--replay=/a", "--replay-speed=NaN"}, "is not a number", "0 for at once"},
		{[]string{"--replay=/a", "--replay-speed=fast"}, "is not a number", "0 for at once"},
	} {
		flags := map[string][]string{}
		for _, f := range c.flags {
			name, value, _ := strings.Cut(strings.TrimPrefix(f, "--"), "=")
			flags[name] = []string{value}
		}
		_, err := settings.Load(settings.Input{Flag: func(name string) ([]string, bool) { v, ok := flags[name]; return v, ok }})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(hint.Of(err), c.way) {
			t.Errorf("%v: got %v (%s)", c.flags, err, hint.Of(err))
		}
	}
	missing := load(t, sources{flags: []string{"--replay=" + filepath.Join(t.TempDir(), "none")}})
	if err := missing.CheckFiles(); err == nil || !strings.Contains(hint.Of(err), "--record") {
		t.Errorf("a folder that is not there: got %v (%s)", err, hint.Of(err))
	}
}
