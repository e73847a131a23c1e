package tray_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"chatwright.dev/tray/app/tray"
)

var update = flag.Bool("update", false, "write the golden menus anew")

func ms(n int64) *int64 { return &n }

// at is a moment of the day that the golden menus show in UTC.
func at(clock string) time.Time {
	t, err := time.Parse(time.DateTime, "2026-03-01 "+clock)
	if err != nil {
		panic(err)
	}
	return t
}

// running is a companion in the middle of a working day; the cases change what they are about.
func running(change func(*tray.State)) tray.State {
	s := tray.State{
		Version: "0.1.0", Phase: tray.Running, Addr: "127.0.0.1:4319",
		UpstreamName: "Ollama", UpstreamReach: tray.ReachOK, Zone: time.UTC,
	}
	if change != nil {
		change(&s)
	}
	return s
}

func percent(n float64) *float64 { return &n }

func withCalls(s *tray.State) {
	s.Metrics = tray.Metrics{Calls: 42, Errors: 2, InFlight: 1, P50Ms: ms(1234), P95Ms: ms(3400), FirstTokenMs: ms(290)}
	s.Recent = []tray.Call{
		{Time: at("14:02:11"), Model: "llama3.2", Status: 200, Verdict: "complete", LatencyMs: 10_800, Tokens: 412, TokensKnown: true, TokensPerSecond: 38.2},
		{Time: at("14:01:59"), Model: "llama3.2", Status: 200, Verdict: "no-done", LatencyMs: 1_800, TokensPerSecond: 38},
		{Time: at("14:01:40"), Model: "qwen3:8b", Status: 502, Verdict: "upstream-error", LatencyMs: 320},
		{Time: at("14:01:02"), Model: "qwen3:8b", Verdict: "unreachable", LatencyMs: 3},
		{Time: at("13:59:59"), Model: "", Status: 499, Verdict: "cancelled", LatencyMs: 125_000},
	}
}

func withStudio(c tray.Studio) func(*tray.State) {
	return func(s *tray.State) { withCalls(s); s.Studio = &c }
}

// Every menu that the phases and rows of tray.md ask for.
var menus = []struct {
	name  string
	state tray.State
}{
	{"starting", running(func(s *tray.State) { s.Phase, s.UpstreamReach = tray.Starting, tray.ReachUnknown })},
	{"running, no calls yet", running(nil)},
	{"running, busy", running(withCalls)},
	{"running, with a day behind it", running(func(s *tray.State) {
		withCalls(s)
		s.Metrics.InFlight, s.Today = 0, &tray.Today{Calls: 1234, Tokens: 45_600}
	})},
	{"running, busy with a day behind it", running(func(s *tray.State) {
		withCalls(s)
		s.Today = &tray.Today{Calls: 1234, Tokens: 45_600}
	})},
	{"running, nothing today", running(func(s *tray.State) { s.Today = &tray.Today{} })},
	{"running, model is loading", running(func(s *tray.State) { s.UpstreamReach = tray.ReachLoading })},
	{"degraded, upstream down", running(func(s *tray.State) {
		withCalls(s)
		s.Phase, s.UpstreamReach = tray.Degraded, tray.ReachDown
		s.Notices = []tray.Notice{{Text: "Upstream refused the connection: is Ollama up?"}}
	})},
	{"no upstream", running(func(s *tray.State) {
		s.UpstreamName, s.UpstreamReach = "", tray.ReachUnknown
		s.Notices = []tray.Notice{{Text: "No model server on ports 11434, 1234 and 8080.", Hint: "start one, or use the demo model"}}
	})},
	{"demo model, by click", running(func(s *tray.State) {
		s.UpstreamName, s.Demo, s.ConfiguredUpstream = "Demo model", true, "Ollama"
	})},
	{"demo model, by setting", running(func(s *tray.State) { s.UpstreamName, s.Demo = "Demo model", true })},
	{"external", running(func(s *tray.State) { withCalls(s); s.Phase = tray.External })},
	{"blocked", running(func(s *tray.State) {
		s.Phase, s.Detail = tray.Blocked, "python3 (pid 812)"
		s.Notices = []tray.Notice{{Text: "127.0.0.1:4319 is held by python3 (pid 812)", Hint: "Stop that program, or set another address"}}
	})},
	{"blocked by nobody knows whom", running(func(s *tray.State) { s.Phase = tray.Blocked })},
	{"stopping", running(func(s *tray.State) { withCalls(s); s.Doing = tray.ServerStop })},
	{"stopped", running(func(s *tray.State) { withCalls(s); s.Metrics.InFlight, s.Phase = 0, tray.Stopped })},
	{"restarting", running(func(s *tray.State) { s.Doing = tray.ServerRestart })},
	{"failed", running(func(s *tray.State) { s.Phase, s.Detail = tray.Failed, "accept tcp 127.0.0.1:4319: too many open files" })},
	{"more notices than rows", running(func(s *tray.State) {
		s.Notices = []tray.Notice{{Text: "One"}, {Text: "Two", Hint: "do two"}, {Text: "Three"}, {Text: "Four"}}
	})},
	{"names that try to break the menu", running(func(s *tray.State) {
		s.UpstreamName = "evil\nQuit\u202egnihton\x00"
		s.Recent = []tray.Call{{Time: at("14:02:11"), Model: "my_model\xff" + strings.Repeat("é", 300), Status: 200, LatencyMs: 50, TokensKnown: true, Tokens: 1}}
		s.Metrics = tray.Metrics{Calls: 1}
	})},
	{"start at login, off", running(func(s *tray.State) { s.Login = &tray.Login{} })},
	{"start at login, on", running(func(s *tray.State) { s.Login = &tray.Login{On: true} })},
	{"start at login, of a program that is gone", running(func(s *tray.State) {
		s.Login = &tray.Login{On: true, Trouble: "/opt/old/chatwright-tray is not there"}
	})},
	{"a newer release", running(func(s *tray.State) { s.Login, s.NewRelease = &tray.Login{}, "0.2.0" })},
	{"named upstreams", running(func(s *tray.State) {
		withCalls(s)
		s.UpstreamName = "work"
		s.Upstreams = []tray.Upstream{{Key: "configured", Label: "localhost:11434"}, {Key: "demo", Label: "Demo model"},
			{Key: "lmstudio", Label: "lmstudio"}, {Key: "work", Label: "work", Chosen: true}}
	})},
	{"upstreams that are always there", running(func(s *tray.State) {
		s.Upstreams = []tray.Upstream{{Key: "configured", Label: "localhost:11434", Chosen: true}, {Key: "demo", Label: "Demo model"}}
	})},
	{"more upstreams than rows", running(func(s *tray.State) {
		for i := range 17 {
			s.Upstreams = append(s.Upstreams, tray.Upstream{Key: fmt.Sprint("u", i), Label: fmt.Sprint("u", i), Chosen: i == 3})
		}
	})},
	{"found upstreams", running(func(s *tray.State) {
		s.Why = "Ollama, of several found"
		s.Upstreams = []tray.Upstream{{Key: "configured", Label: "Ollama · localhost:11434", Chosen: true}, {Key: "demo", Label: "Demo model"},
			{Key: "http://localhost:1234/v1", Name: "lmstudio", Label: "LM Studio · localhost:1234", Found: true}}
	})},
	{"models", running(func(s *tray.State) {
		withCalls(s)
		s.Models = []tray.Model{
			{ID: "llama3.2:latest", State: tray.ModelLoaded, SizeBytes: 3_460_000_000, GPUShare: percent(100)},
			{ID: "big:70b", State: tray.ModelLoaded, SizeBytes: 49_900_000_000, GPUShare: percent(62.6)},
			{ID: "tiny", State: tray.ModelLoaded, SizeBytes: 397_000_000, GPUShare: percent(0)},
			{ID: "nearly_all", State: tray.ModelLoaded, GPUShare: percent(99.9)},
			{ID: "coming", State: tray.ModelLoading},
			{ID: "cold:1b", State: "unloaded", SizeBytes: 1_300_000_000},
			{ID: "of a server that tells nothing", State: "unknown"},
		}
	})},
	{"more models than rows", running(func(s *tray.State) {
		for i := range 17 {
			s.Models = append(s.Models, tray.Model{ID: fmt.Sprint("m\n", i)})
		}
	})},
	{"recording", running(func(s *tray.State) { s.Recording = "cassettes" })},
	{"replay", running(func(s *tray.State) {
		s.UpstreamName, s.Why = "Replay of cassettes", "as set"
		s.Upstreams = []tray.Upstream{{Key: "configured", Label: "Replay of cassettes", Chosen: true}}
	})},
	{"what is said is recorded", running(func(s *tray.State) { withCalls(s); s.Capture = "memory" })},
	{"what is said is recorded to disk, long address", running(func(s *tray.State) {
		s.Capture, s.Addr, s.UpstreamName = "disk", "[2001:db8:1234:5678:9abc:def0:1234:5678]:43190", strings.Repeat("long", 10)
	})},
	{"sessions", running(func(s *tray.State) {
		s.LiveSessions, s.Sessions = 2, []tray.Session{
			{ID: "01-b", Title: "Why does the booking bot forget the date?", Running: true}, {ID: "01-a", Folder: "booking_bot"}}
	})},
	{"more sessions than rows", running(func(s *tray.State) {
		s.LiveSessions = 1000
		for i := range 20 {
			s.Sessions = append(s.Sessions, tray.Session{ID: fmt.Sprint("id", i), Title: fmt.Sprint("Session\n", i)})
		}
	})},
	{"the zero state", tray.State{}},
	{"studio, no copy yet", running(withStudio(tray.Studio{}))},
	{"studio, first download", running(withStudio(tray.Studio{Stage: tray.StudioDownloading, Coming: "0.4.0", Bytes: 5 << 19}))},
	{"studio, a copy", running(withStudio(tray.Studio{Version: "0.4.0", CheckedAt: at("14:02:11")}))},
	{"studio, checking", running(withStudio(tray.Studio{Version: "0.4.1", Previous: "0.4.0", Stage: tray.StudioChecking}))},
	{"studio, waiting", running(withStudio(tray.Studio{Version: "0.4.1", Previous: "0.4.0", Stage: tray.StudioWaiting, Coming: "0.5.0"}))},
	{"studio, downloading", running(withStudio(tray.Studio{
		Version: "0.4.1", Previous: "0.4.0", Stage: tray.StudioDownloading, Coming: "0.5.0", Bytes: 1_310_000, Total: 3_000_000,
	}))},
	{"studio, installing", running(withStudio(tray.Studio{Version: "0.4.1", Stage: tray.StudioUnpacking, Coming: "0.5.0"}))},
	{"studio, updated", running(withStudio(tray.Studio{
		Version: "0.5.0", Previous: "0.4.1", CheckedAt: at("14:02:11"), UpdatedAt: at("14:02:14"),
	}))},
	{"studio, rolled back", running(withStudio(tray.Studio{
		Version: "0.4.1", Available: "0.5.0", Held: true, CheckedAt: at("14:02:11"), UpdatedAt: at("14:05:00"),
	}))},
	{"studio, update available", running(withStudio(tray.Studio{Version: "0.4.1", Previous: "0.4.0", Available: "0.5.0"}))},
	{"studio, update failed", running(func(s *tray.State) {
		withStudio(tray.Studio{Version: "0.4.1", Previous: "0.4.0", Failed: true})(s)
		s.Phase = tray.Degraded
		s.Notices = []tray.Notice{{Text: "Studio was not updated: the connection was refused", Hint: "Check the network."}}
	})},
	{"studio, beside another server", running(func(s *tray.State) {
		withStudio(tray.Studio{Version: "0.4.1", Previous: "0.4.0"})(s)
		s.Phase = tray.External
	})},
}

func TestMenusAreTheGoldenOnes(t *testing.T) {
	for _, c := range menus {
		t.Run(c.name, func(t *testing.T) {
			got := tray.Render(c.state).String()
			file := filepath.Join("testdata", strings.NewReplacer(" ", "-", ",", "").Replace(c.name)+".menu")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v (write it with: go test ./app/tray -update)", err)
			}
			if got != string(want) {
				t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
			}
		})
	}
}

// The toolkit can neither add nor move a row.
func TestEveryViewHasTheSameRowsInTheSameOrder(t *testing.T) {
	frame := func(v tray.View) string {
		var b strings.Builder
		for _, r := range v.Rows {
			fmt.Fprintln(&b, r.ID, r.Parent, r.Checkable, r.Separated, r.Pace)
		}
		return b.String()
	}
	want := frame(tray.Render(tray.State{}))
	for _, c := range menus {
		if got := frame(tray.Render(c.state)); got != want {
			t.Errorf("%s: got rows\n%s\nwant\n%s", c.name, got, want)
		}
	}
}

// tray.md: each group of rows keeps at least one visible row, and an empty submenu is hidden.
func TestNoTwoLinesMeetAndNoSubmenuIsEmpty(t *testing.T) {
	for _, c := range menus {
		v := tray.Render(c.state)
		ids := map[tray.ID]bool{}
		full := map[tray.ID]bool{}
		for i, r := range v.Rows {
			if ids[r.ID] {
				t.Errorf("row %q is there twice", r.ID)
			}
			ids[r.ID] = true
			if r.Parent != "" && !ids[r.Parent] {
				t.Errorf("row %q comes before its parent", r.ID)
			}
			if r.Visible && r.Label == "" {
				t.Errorf("%s: row %q is visible without a label", c.name, r.ID)
			}
			if r.Separated && (!r.Visible || i == 0 || r.Parent != "") {
				t.Errorf("%s: there is a line above %q, which is hidden, first or in a submenu", c.name, r.ID)
			}
			if r.Visible && r.Parent != "" {
				full[r.Parent] = true
			}
		}
		for _, submenu := range []tray.ID{"recent", "copy", "server"} {
			if v.Row(submenu).Visible != full[submenu] {
				t.Errorf("%s: submenu %q visible: got %v, rows in it: %v", c.name, submenu, v.Row(submenu).Visible, full[submenu])
			}
		}
	}
}

// tray.md, the table of phases.
func TestIconOfEachPhase(t *testing.T) {
	for _, c := range []struct {
		phase    tray.Phase
		inFlight int64
		want     tray.Icon
	}{
		{tray.Starting, 0, tray.IconIdle},
		{tray.Running, 0, tray.IconIdle},
		{tray.Running, 2, tray.IconBusy},
		{tray.Degraded, 2, tray.IconWarning},
		{tray.External, 2, tray.IconIdle},
		{tray.Blocked, 0, tray.IconWarning},
		{tray.Stopped, 0, tray.IconStopped},
		{tray.Failed, 0, tray.IconWarning},
	} {
		got := tray.Render(tray.State{Phase: c.phase, Metrics: tray.Metrics{InFlight: c.inFlight}}).Icon
		if got != c.want {
			t.Errorf("%s with %d in flight: got %s, want %s", c.phase, c.inFlight, got, c.want)
		}
	}
}

func TestTimesAreLocalWithoutAZone(t *testing.T) {
	when := at("14:02:11")
	v := tray.Render(tray.State{Recent: []tray.Call{{Time: when}}})
	if got, want := v.Row("recent.1").Label[:8], when.Local().Format(time.TimeOnly); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Whatever a server or a caller names things, a label is one bounded line that every toolkit takes.
func FuzzLabels(f *testing.F) {
	f.Add("llama3.2", "Ollama", "a notice", "a hint", int64(1200), 200, 38.0)
	f.Add("\x00\n\u2028\u202e\ufeff", "\xff\xfe", strings.Repeat("字", 500), "\t", int64(-1), -1, -0.1)
	f.Add("a\u0301\U0001f600", "__&&", "", "x", int64(1<<62), 999999, 1e300)
	f.Fuzz(func(t *testing.T, model, name, notice, hint string, n int64, status int, rate float64) {
		for _, phase := range []tray.Phase{tray.Running, tray.Blocked, tray.Failed, tray.Phase(name)} {
			v := tray.Render(tray.State{
				Version: hint, Phase: phase, Detail: notice, Addr: name, UpstreamName: name, Demo: n%2 == 0, ConfiguredUpstream: model,
				Metrics: tray.Metrics{Calls: n, Errors: n, InFlight: n, P50Ms: &n, P95Ms: &n, FirstTokenMs: &n},
				Recent:  []tray.Call{{Model: model, Status: status, Verdict: hint, LatencyMs: n, Tokens: n, TokensKnown: true, TokensPerSecond: rate}},
				Notices: []tray.Notice{{Text: notice, Hint: hint}, {Text: notice}},
				Why:     hint, Recording: name, Upstreams: []tray.Upstream{{Key: name, Label: model}},
				Models: []tray.Model{{ID: model, State: tray.ModelState(hint), SizeBytes: n, GPUShare: &rate}},
				Studio: &tray.Studio{Version: model, Previous: name, Available: notice, Coming: hint, Held: n%3 == 0,
					Stage: tray.StudioStage(name), Bytes: n, Total: int64(status)},
			})
			if got := len(utf16.Encode([]rune(v.Tooltip))); got > 127 {
				t.Errorf("tooltip of %d UTF-16 units; Windows takes 127", got)
			}
			for _, text := range append(labels(v), v.Tooltip) {
				if !utf8.ValidString(text) || utf8.RuneCountInString(text) > 250 {
					t.Errorf("label is not valid or too long: %q", text)
				}
				if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
					t.Errorf("label with a character that cannot be printed: %q", text)
				}
			}
		}
	})
}

func labels(v tray.View) (all []string) {
	for _, r := range v.Rows {
		all = append(all, r.Label)
	}
	return all
}
