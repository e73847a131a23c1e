package settings_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
)

func TestDefaultsAreThoseOfTheCompanion(t *testing.T) {
	got := load(t, sources{})
	for name, pair := range map[string][2]any{
		"addr":             {got.Addr, "127.0.0.1:4319"},
		"upstream":         {got.Upstream, "http://localhost:11434/v1"},
		"ui":               {got.UI, false},
		"ui-url":           {got.UIURL, "https://github.com/chatwright/studio/releases/latest/download/"},
		"ui-key":           {got.UIKey, ""},
		"ui-check":         {got.UICheck, 24 * time.Hour},
		"upstream-timeout": {got.UpstreamTimeout, time.Duration(0)},
		"max-body":         {got.MaxBody, int64(64 << 20)},
		"meter-usage":      {got.MeterUsage, false},
		"metrics-capacity": {got.MetricsCapacity, 200},
		"grace":            {got.Grace, 10 * time.Second},
		"history":          {got.History, true},
		"history-days":     {got.HistoryDays, 90},
		"max-sessions":     {got.MaxSessions, 1000},
		"console-sessions": {got.ConsoleSessions, false},
		"capture":          {got.Capture, protocol.CaptureOff},
		"notifications":    {got.Notifications, true},
		"release-check":    {got.ReleaseCheck, true},
		"log-level":        {got.LogLevel, slog.LevelInfo},
		"studio-open":      {got.StudioOpen, settings.StudioAuto},
		"ui-dir":           {got.UIDir, ""},
		"state-dir":        {got.StateDir, ""},
		"allow-remote":     {got.AllowRemote, false},
		"parent-pid":       {got.ParentPID, 0},
		"record":           {got.Record, ""},
		"replay":           {got.Replay, ""},
		"replay-speed":     {got.ReplaySpeed, 1.0},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: got %v, want %v", name, pair[0], pair[1])
		}
	}
	if got.Addr != server.DefaultAddr {
		t.Errorf("the server's own default is another: %s", server.DefaultAddr)
	}
	for _, s := range settings.Table() {
		if source := got.Source(s.Name); source.String() != "default" {
			t.Errorf("%s: source: got %q, want default", s.Name, source)
		}
	}
}

// companion.md, Settings: flag over environment over config file over default.
func TestFlagWinsOverEnvironmentOverFileOverDefault(t *testing.T) {
	file := "# mine\naddr = \"127.0.0.1:1\"\nallow-origin = [\"https://file.test\"]\n"
	env := map[string]string{"CHATWRIGHT_SERVER_ADDR": "127.0.0.1:2", "CHATWRIGHT_SERVER_ALLOW_ORIGIN": "https://a.test, https://b.test,"}
	for _, c := range []struct {
		name    string
		from    sources
		addr    string
		source  string
		origins []string
	}{
		{"file", sources{file: file}, "127.0.0.1:1", "tray.toml line 2", []string{"https://file.test"}},
		{"environment", sources{env: env, file: file}, "127.0.0.1:2", "environment CHATWRIGHT_SERVER_ADDR", []string{"https://a.test", "https://b.test"}},
		{"flag", sources{flags: []string{"--addr=127.0.0.1:3", "--allow-origin=https://c.test", "--allow-origin=https://d.test"}, env: env, file: file},
			"127.0.0.1:3", "flag --addr", []string{"https://c.test", "https://d.test"}},
		{"an empty variable is none", sources{env: map[string]string{"CHATWRIGHT_SERVER_ADDR": ""}, file: file}, "127.0.0.1:1", "tray.toml line 2", []string{"https://file.test"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := load(t, c.from)
			if got.Addr != c.addr || got.Source("addr").String() != c.source {
				t.Errorf("addr: got %q from %q, want %q from %q", got.Addr, got.Source("addr"), c.addr, c.source)
			}
			if !slices.Equal(got.AllowOrigins, c.origins) {
				t.Errorf("allow-origin: got %v, want %v", got.AllowOrigins, c.origins)
			}
		})
	}
}

func TestEverySettingCanComeFromEverySourceThatTheTableNames(t *testing.T) {
	values := everything()
	var flags []string
	env := make(map[string]string)
	var file strings.Builder
	var tables string // which end a file
	for _, s := range settings.Table() {
		texts, ok := values[s.Name]
		if s.Name == "record" { // not together with replay: TestCallsAreRecordedOrReplayed
			continue
		}
		if !ok {
			t.Fatalf("this test knows nothing of %s", s.Name)
		}
		for _, text := range texts {
			flags = append(flags, "--"+s.Name+"="+text)
		}
		env[s.Env] = strings.Join(texts, ",")
		if s.Key == "" {
			continue
		}
		switch {
		case s.Key == settings.HolderKey:
			tables = "[datastate.shop]\ndsn = \"sqlite:/shop.db\"\n[datastate.crm]\ndsn = \"postgres://ada@db.test/crm\"\n"
		case s.Repeatable:
			file.WriteString(s.Key + " = [\"" + strings.Join(texts, "\", \"") + "\"]\n")
		case s.Name == "meter-usage":
			file.WriteString(s.Key + " = true\n")
		case s.Name == "history":
			file.WriteString(s.Key + " = false\n")
		case s.Bool || s.Name == "metrics-capacity" || s.Name == "history-days" || s.Name == "max-sessions":
			file.WriteString(s.Key + " = " + texts[0] + "\n")
		default:
			file.WriteString(s.Key + " = \"" + texts[0] + "\"\n")
		}
	}
	flags = slices.DeleteFunc(flags, func(f string) bool { return strings.HasPrefix(f, "--parent-pid") })

	for name, from := range map[string]sources{"flags": {flags: flags}, "environment": {env: env}, "file": {file: file.String() + tables}} {
		t.Run(name, func(t *testing.T) {
			got := load(t, from)
			for _, s := range settings.Table() {
				if name == "flags" && s.NoFlag || name == "file" && s.Key == "" || s.Name == "record" {
					continue
				}
				if got.Source(s.Name).Kind == settings.FromDefault {
					t.Errorf("%s: the default, want it set", s.Name)
				}
			}
			want := settings.Settings{
				Addr: "127.0.0.1:5000", Upstream: "demo", DatastateFixtures: "/f.json",
				AllowOrigins: values["allow-origin"], AllowHosts: values["allow-host"], UI: true, UIDir: "/ui", UIURL: "http://x.test/ui", UIKey: aKey,
				AllowRemote: true, RemoteTokenFile: "/token", UpstreamTimeout: 90 * time.Second, MaxBody: 1 << 20, MeterUsage: true, MetricsCapacity: 7,
				Grace: time.Second, History: false, HistoryDays: 7, StudioOpen: settings.StudioHosted, LogLevel: slog.LevelDebug,
				StateDir: "/state", ControlSocket: "/run/s", NoBrowser: true, ParentPID: 4711,
				OTLPEndpoint: "http://localhost:4318", MaxSessions: 7, ConsoleSessions: true, Replay: "/tapes", ReplaySpeed: 2, Capture: "disk", ReleaseURL: "http://releases.test/latest",
			}
			switch name {
			case "flags":
				want.ParentPID = 0
			case "file":
				want.StateDir, want.ControlSocket, want.NoBrowser, want.ParentPID = "", "", false, 0
				want.Replay, want.ReplaySpeed = "", 1
			}
			if dsns, err := got.Holders(); err != nil || len(dsns) != 2 || dsns["shop"] != "sqlite:/shop.db" || dsns["crm"] != "postgres://ada@db.test/crm" {
				t.Errorf("datastate: got %v and %v", dsns, err)
			}
			want.Datastate = got.Datastate
			sameFields(t, got, want)
		})
	}
}

// tray.md, Start: a bad value names the source and the way out.
func TestBadValueNamesItsSourceAndTheWayOut(t *testing.T) {
	for _, c := range []struct{ flag, wantText string }{
		{"--addr=nonsense", "nonsense"},
		{"--addr=127.0.0.1:99999", "port"},
		{"--addr=192.168.0.1:4319", "loopback"},
		{"--addr=:4319", "loopback"},
		{"--upstream=localhost:11434", "scheme"},
		{"--upstream=", "empty"},
		{"--upstream=http://user:marked-secret@x.test/v1", "user"},
		{"--upstream=http://x.test/v1?key=marked-secret", "query"},
		{"--allow-origin=*", "not an origin"},
		{"--allow-origin=null", "not an origin"},
		{"--allow-origin=https://a.test/", "not an origin"},
		{"--allow-origin=https://A.test", "not an origin"},
		{"--allow-origin=https://me:marked-secret@a.test", "not an origin"},
		{"--allow-host=http://a.test", "not a host name"},
		{"--allow-host=*.a.test", "not a host name"},
		{"--allow-host=", "not a host name"},
		{"--ui=maybe", "neither true nor false"},
		{"--ui-url=ftp://a.test", "not an http or https URL"},
		{"--ui-url=https://me:marked-secret@a.test/", "password"},
		{"--ui-url=https://a.test/?token=marked-secret", "query"},
		{"--ui-url=https://a.test/%zz", "not a URL"},
		{"--ui-key=RWbogus", "not a minisign public key"},
		{"--ui-key=", "empty"},
		{"--ui-check=5m", "not between"},
		{"--ui-check=daily", "not a duration"},
		{"--allow-remote", "token"},
		{"--upstream-timeout=10", "not a duration"},
		{"--upstream-timeout=-1s", "not between"},
		{"--max-body=lots", "not a size"},
		{"--max-body=0", "not between"},
		{"--max-body=NaN", "not a size"},
		{"--max-body=1e9", "not a size"},
		{"--max-body=-5MiB", "not between"},
		{"--max-body=9999999GiB", "not between"},
		{"--metrics-capacity=0", "not a number from 1"},
		{"--metrics-capacity=1.5", "not a number from 1"},
		{"--grace=0s", "not between"},
		{"--history=perhaps", "neither true nor false"},
		{"--history-days=0", "not a number from 1"},
		{"--release-url=releases.test", "not the URL of a page"},
		{"--history-days=3651", "not a number from 1"},
		{"--grace=2h", "not between"},
		{"--log-level=loud", "not a log level"},
		{"--log-level=INFO+2", "not a log level"},
		{"--studio-open=tomorrow", "not a way to open Studio"},
		{"--otlp-endpoint=grpc://a.test", "not an http or https URL"},
		{"--otlp-endpoint=", "not an http or https URL"},
		{"--otlp-endpoint=http://me:marked-secret@a.test", "password"},
		{"--otlp-endpoint=http://a.test/?key=marked-secret", "query"},
		{"--no-browser=2", "neither true nor false"},
		{"--metrics-capacity=" + strings.Repeat("9", 5000), "…"},
	} {
		t.Run(c.flag[:min(len(c.flag), 50)], func(t *testing.T) {
			_, err := settings.Load(sources{flags: []string{c.flag}}.input(t))
			if err == nil {
				t.Fatal("got no error")
			}
			name, _, _ := strings.Cut(c.flag, "=")
			if text := err.Error(); !strings.HasPrefix(text, "flag "+name+": ") || !strings.Contains(text, c.wantText) {
				t.Errorf("got %q, want the flag and %q", text, c.wantText)
			}
			if hint.Of(err) == "" {
				t.Errorf("%q has no hint", err)
			}
			if all := err.Error() + hint.Of(err); strings.Contains(all, "marked-secret") {
				t.Errorf("%q repeats a password", all)
			} else if len(all) > 600 {
				t.Errorf("an error of %d bytes", len(all))
			}
		})
	}
}

func TestBadVariablesNameThemselves(t *testing.T) {
	for name, text := range map[string]string{
		"CHATWRIGHT_SERVER_GRACE": "soon", "CHATWRIGHT_PARENT_PID": "0", "CHATWRIGHT_NO_BROWSER": "perhaps", "CHATWRIGHT_SERVER_ALLOW_ORIGIN": "https://a.test,*",
	} {
		_, err := settings.Load(sources{env: map[string]string{name: text}}.input(t))
		if err == nil || !strings.HasPrefix(err.Error(), "environment "+name+": ") || hint.Of(err) == "" {
			t.Errorf("%s=%s: got %v, hint %q, want its name and a way out", name, text, err, hint.Of(err))
		}
	}
}

func TestSwitchesTakeTheUsualWords(t *testing.T) {
	for text, want := range map[string]bool{"1": true, "true": true, "Yes": true, "on": true, "0": false, "FALSE": false, "no": false, "off": false} {
		if got := load(t, sources{env: map[string]string{"CHATWRIGHT_NO_BROWSER": text}}).NoBrowser; got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
	if !load(t, sources{flags: []string{"--ui"}}).UI {
		t.Error("--ui alone: got false, want true")
	}
}

func TestSizesReadAsAPersonWritesThem(t *testing.T) {
	for text, want := range map[string]int64{
		"1024": 1024, "64MiB": 64 << 20, "64 MiB": 64 << 20, "64mib": 64 << 20, "1.5KiB": 1536, "2GiB": 2 << 30, "64MB": 64_000_000, "5000B": 5000,
	} {
		if got := load(t, sources{flags: []string{"--max-body=" + text}}).MaxBody; got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

func TestPathsStartWhereTheirSourceIs(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		servertest.Missing(t, "no home folder: set HOME ("+err.Error()+")")
	}
	in := sources{file: "ui-dir = \"ui\"\ndatastate-fixtures = \"~/f.json\"\n", env: map[string]string{"CHATWRIGHT_SERVER_REMOTE_TOKEN_FILE": "token"}, flags: []string{"--state-dir=~/x"}}.input(t)
	in.Dir = t.TempDir()
	got, err := settings.Load(in)
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2]string{
		"the file's start at its folder":          {got.UIDir, filepath.Join(filepath.Dir(in.File), "ui")},
		"and may start at home":                   {got.DatastateFixtures, filepath.Join(home, "f.json")},
		"the environment's at the working folder": {got.RemoteTokenFile, filepath.Join(in.Dir, "token")},
		"a flag's ~ was the shell's to see to":    {got.StateDir, filepath.Join(in.Dir, "~", "x")},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: got %q, want %q", name, pair[0], pair[1])
		}
	}
}

func TestRemoteAddressWantsBothTheWordAndTheToken(t *testing.T) {
	got := load(t, sources{flags: []string{"--addr=0.0.0.0:4319", "--allow-remote", "--remote-token-file=/t"}})
	if got.Addr != "0.0.0.0:4319" || !got.AllowRemote {
		t.Errorf("got %+v, want it allowed", got)
	}
	_, err := settings.Load(sources{flags: []string{"--addr=0.0.0.0:4319", "--remote-token-file=/t"}}.input(t))
	if err == nil || !strings.Contains(hint.Of(err), "--allow-remote") {
		t.Errorf("without the word: got %v, hint %q", err, hint.Of(err))
	}
}

// What finds the daemon must work where tray.toml is broken: "stop" has to stop it.
func TestTheWayToTheDaemonNeedsNoFile(t *testing.T) {
	in := sources{file: "]broken[", flags: []string{"--control-socket=/run/s"}, env: map[string]string{"CHATWRIGHT_HOME": "/h"}}.input(t)
	if dir, err := settings.StateDir(in); err != nil || dir != "/h" {
		t.Errorf("StateDir: got %q, %v, want /h", dir, err)
	}
	if socket, err := settings.ControlSocket(in); err != nil || socket != "/run/s" {
		t.Errorf("ControlSocket: got %q, %v, want /run/s", socket, err)
	}
	if dir, err := settings.StateDir(settings.Input{}); err != nil || dir != "" {
		t.Errorf("StateDir of nothing: got %q, %v, want none", dir, err)
	}
}

func TestTableIsOneThatCanBeShown(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range settings.Table() {
		for _, name := range []string{"--" + s.Name, s.Env, "key " + s.Key} {
			if seen[name] && name != "key " {
				t.Errorf("%s stands there twice", name)
			}
			seen[name] = true
		}
		if s.Usage == "" || s.Bool == (s.Arg != "") {
			t.Errorf("%s: usage %q, arg %q: want a usage, and an argument unless it is a switch", s.Name, s.Usage, s.Arg)
		}
		if !strings.Contains(settings.Markdown(), "`"+s.Env+"`") {
			t.Errorf("the README's table lacks %s", s.Env)
		}
	}
	if strings.Contains(settings.Markdown(), "auto|local") {
		t.Error("a | in a cell breaks the table")
	}
}
