package settings_test

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"chatwright.dev/tray/app/settings"
)

// sources are what a test gives Load.
type sources struct {
	flags []string // as on a command line: --addr=…
	env   map[string]string
	file  string // content of tray.toml; "" no file
}

// input parses the flags with the standard library's package, as proof that any will do.
func (s sources) input(t *testing.T) settings.Input {
	t.Helper()
	var flags settings.Flags
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	for _, setting := range settings.Table() {
		if !setting.NoFlag {
			fs.Var(flags.Value(setting), setting.Name, setting.Usage)
		}
	}
	if err := fs.Parse(s.flags); err != nil {
		t.Fatal(err)
	}
	in := settings.Input{
		Flag: flags.Lookup,
		Env:  func(name string) (string, bool) { text, ok := s.env[name]; return text, ok },
		Dir:  "/work",
	}
	if s.file != "" {
		in.File = filepath.Join(t.TempDir(), "tray.toml")
		if err := os.WriteFile(in.File, []byte(s.file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

func load(t *testing.T, s sources) settings.Settings {
	t.Helper()
	got, err := settings.Load(s.input(t))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// aKey is a public key as minisign prints it.
const aKey = "RWReiJoQpcYvkf8gFouTz9jTcapgP30c5ccBRDgej9h1y8CRGtfIDED8"

// everything sets each setting to something that is not its default, by name; the same in all three sources.
func everything() map[string][]string {
	return map[string][]string{
		"addr": {"127.0.0.1:5000"}, "upstream": {"demo"}, "datastate-fixtures": {"/f.json"},
		"allow-origin": {"https://a.test", "chrome-extension://abc"}, "allow-host": {"a.test:1"}, "ui": {"true"}, "ui-dir": {"/ui"},
		"ui-url": {"http://x.test/ui"}, "ui-key": {aKey}, "ui-check": {"0s"}, "allow-remote": {"true"}, "remote-token-file": {"/token"}, "upstream-timeout": {"90s"},
		"max-body": {"1MiB"}, "meter-usage": {"on"}, "metrics-capacity": {"7"}, "grace": {"1s"}, "history": {"off"}, "history-days": {"7"}, "studio-open": {"hosted"}, "log-level": {"debug"},
		"state-dir": {"/state"}, "control-socket": {"/run/s"}, "no-browser": {"true"}, "parent-pid": {"4711"},
		"otlp-endpoint": {"localhost:4318"}, "datastate": {"shop=sqlite:/shop.db", "crm=postgres://ada@db.test/crm"},
		"max-sessions": {"7"}, "console-sessions": {"true"}, "replay": {"/tapes"}, "replay-speed": {"2"}, "capture": {"disk"},
		"notifications": {"false"}, "release-check": {"false"}, "release-url": {"http://releases.test/latest"},
	}
}

// sameFields compares the exported fields: the sources differ on purpose.
func sameFields(t *testing.T, got, want settings.Settings) {
	t.Helper()
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		field := g.Type().Field(i)
		if field.IsExported() && !reflect.DeepEqual(g.Field(i).Interface(), w.Field(i).Interface()) {
			t.Errorf("%s: got %v, want %v", field.Name, g.Field(i), w.Field(i))
		}
	}
}
