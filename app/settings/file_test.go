package settings_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server/hint"
)

func loadFile(t *testing.T, content string) (settings.Settings, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tray.toml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return settings.Load(settings.Input{File: path})
}

func TestFileReadsAsAPersonWritesIt(t *testing.T) {
	for name, content := range map[string]string{
		"a table":        "upstream = 'demo'\n[studio]\nopen = \"local\"\n",
		"a dotted key":   "studio.open = \"local\" # mine\nupstream = \"demo\"\n",
		"an inline one":  "studio = { open = \"local\" }\nupstream = \"demo\"",
		"a quoted key":   "\"upstream\" = \"demo\"\n[\"studio\"]\n\"open\" = \"local\"\n",
		"Windows' lines": "upstream = \"demo\"\r\n[studio]\r\nopen = \"local\"\r\n",
		"Windows' mark":  "\ufeffupstream = \"demo\"\n[studio]\nopen = \"local\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := loadFile(t, content)
			if err != nil {
				t.Fatal(err)
			}
			if got.StudioOpen != settings.StudioLocal || got.Upstream != "demo" {
				t.Errorf("got %q and %q, want local and demo", got.StudioOpen, got.Upstream)
			}
			if line := got.Source("studio-open").Line; line < 1 || line > 3 {
				t.Errorf("line: got %d", line)
			}
		})
	}
}

func TestMissingFileIsNoFile(t *testing.T) {
	got, err := settings.Load(settings.Input{File: filepath.Join(t.TempDir(), "no", "tray.toml")})
	if err != nil || got.Addr == "" {
		t.Errorf("got %q, %v, want the defaults", got.Addr, err)
	}
	if _, err := loadFile(t, ""); err != nil {
		t.Errorf("an empty file: got %v, want the defaults", err)
	}
}

// An unknown key is an error with its line; so is everything else that is wrong in the file, and the way out is named.
func TestMistakeInTheFileNamesItsLineAndTheWayOut(t *testing.T) {
	for _, c := range []struct{ name, content, wantText, wantHint string }{
		{"a misspelt key", "# mine\n\naddress = \"x\"\n", `tray.toml line 3: unknown setting "address"`, "did you mean addr?"},
		{"underscores", "max_body = 1\n", `tray.toml line 1: unknown setting "max_body"`, "did you mean max-body?"},
		{"a key that is nothing like ours", "colour = \"blue\"\n", `tray.toml line 1: unknown setting "colour"`, "the settings are: addr, "},
		{"one in a table", "[studio]\n\nopne = \"auto\"\n", `tray.toml line 3: unknown setting "studio.opne"`, "did you mean studio.open?"},
		{"a table of another program", "addr = \"127.0.0.1:1\"\n[server]\nport = 1\n", `tray.toml line 3: unknown setting "server.port"`, "the settings are"},
		{"an empty table", "\n[server]\n", `tray.toml line 2: unknown setting "server"`, "the settings are"},
		{"an array of tables", "[[studio]]\nopen = \"auto\"\n", `tray.toml line 1: unknown setting "studio"`, "the settings are"},
		{"a flag that the file cannot set", "state-dir = \"/x\"\n", `unknown setting "state-dir"`, "the settings are"},
		{"the first of two mistakes", "metrics-capacity = 9\nzzz = 1\nyyy = 2\n", `line 2: unknown setting "zzz"`, ""},
		{"a bad value", "upstream = \"demo\"\naddr = \"nonsense\"\n", "tray.toml line 2: ", "127.0.0.1:4319"},
		{"text for a switch", "ui = \"yes\"\n", "tray.toml line 1: ui has a value of the wrong type", "write ui = false"},
		{"a number for a duration", "grace = 10\n", "tray.toml line 1: grace has a value of the wrong type", `write grace = "10s"`},
		{"a text for a list", "allow-origin = 7\n", "allow-origin has a value of the wrong type", `["…", "…"]`},
		{"a list of numbers", "allow-host = [7]\n", "allow-host has a value of the wrong type", `["…", "…"]`},
		{"a list for a text", "addr = [\"a\"]\n", "addr has a value of the wrong type", `write addr = "127.0.0.1:4319"`},
		{"a date", "log-level = 2026-01-01\n", "log-level has a value of the wrong type", `write log-level = "info"`},
		{"a fraction", "metrics-capacity = 1.5\n", "metrics-capacity has a value of the wrong type", "write metrics-capacity = 200"},
		{"a table for a text", "[addr]\nx = 1\n", `unknown setting "addr.x"`, ""},
		{"no TOML", "addr = \"a\"\n=\n", "tray.toml line 2: ", "mend that line of "},
		{"a key twice", "addr = \"127.0.0.1:1\"\naddr = \"127.0.0.1:2\"\n", "tray.toml line 2: ", "mend that line of "},
		{"no text at all", "\xff\xfe\x00", "tray.toml line 1: ", "mend that line of "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := loadFile(t, c.content)
			if err == nil {
				t.Fatal("got no error")
			}
			if !strings.Contains(err.Error(), c.wantText) {
				t.Errorf("got %q, want %q", err, c.wantText)
			}
			if got := hint.Of(err); got == "" || !strings.Contains(got, c.wantHint) {
				t.Errorf("hint: got %q, want %q", got, c.wantHint)
			}
		})
	}
}

func TestFileThatIsNoneIsRefusedAndNotWaitedFor(t *testing.T) {
	folder := t.TempDir()
	if _, err := settings.Load(settings.Input{File: folder}); err == nil || hint.Of(err) == "" {
		t.Errorf("a folder: got %v, hint %q, want an error with a way out", err, hint.Of(err))
	}
	long := filepath.Join(folder, "tray.toml")
	if err := os.WriteFile(long, bytes.Repeat([]byte("#"), 1<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := settings.Load(settings.Input{File: long}); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a file over the bound: got %v, want an error", err)
	}
}

// The file is the user's and is never written.
func TestFileIsNotTouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tray.toml")
	content := []byte("# mine\n addr=\"127.0.0.1:1\"  \n")
	if err := os.WriteFile(path, content, 0o400); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := settings.Load(settings.Input{File: path}); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, content) || !after.ModTime().Equal(before.ModTime()) || !os.SameFile(before, after) {
		t.Error("the file was written")
	}
}

func TestCheckFilesNamesWhoNamedWhatIsMissing(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	studio := t.TempDir()
	if err := os.WriteFile(filepath.Join(studio, "index.html"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ flag, want string }{
		{"--ui-dir=" + studio, ""},
		{"--ui-dir=" + folder, "flag --ui-dir: stat " + filepath.Join(folder, "index.html") + ": "},
		{"--datastate-fixtures=" + file, ""},
		{"--ui-dir=" + file, "flag --ui-dir: " + file + " is not a folder"},
		{"--ui-dir=" + filepath.Join(folder, "none"), "flag --ui-dir: "},
		{"--datastate-fixtures=" + folder, "flag --datastate-fixtures: " + folder + " is not a file"},
	} {
		err := load(t, sources{flags: []string{c.flag}}).CheckFiles()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: got %v, want none", c.flag, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want) || hint.Of(err) == ""):
			t.Errorf("%s: got %v, hint %q, want %q", c.flag, err, hint.Of(err), c.want)
		}
	}
}

// security.md 6: --remote-token-file is 0600 and at least 32 bytes.
func TestTokenFileMustBePrivateAndLong(t *testing.T) {
	good := strings.Repeat("k", 32)
	for _, c := range []struct {
		name, content string
		mode          os.FileMode
		want          string // of the error; "" none
	}{
		{"32 bytes and a line end", good + "\n", 0o600, ""},
		{"read only", good, 0o400, ""},
		{"31 bytes", good[1:] + "\n", 0o600, "less than 32"},
		{"nothing", "", 0o600, "less than 32"},
		{"two lines", good + "\n" + good, 0o600, "more than one word"},
		{"readable by the group", good, 0o640, "has mode 0640"},
		{"readable by all", good, 0o604, "has mode 0604"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && strings.HasPrefix(c.name, "readable") {
				t.Skip("modes say nothing there")
			}
			path := filepath.Join(t.TempDir(), "token")
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, c.mode); err != nil {
				t.Fatal(err)
			}
			s := load(t, sources{flags: []string{"--allow-remote", "--remote-token-file=" + path}})
			token, err := s.ReadRemoteToken()
			if c.want == "" && (err != nil || string(token) != good) {
				t.Errorf("got %q, %v, want the token", token, err)
			}
			if c.want != "" {
				if err == nil || !strings.HasPrefix(err.Error(), "flag --remote-token-file: ") || !strings.Contains(err.Error(), c.want) || hint.Of(err) == "" {
					t.Errorf("got %v, hint %q, want %q and a way out", err, hint.Of(err), c.want)
				}
				if strings.Contains(err.Error(), "kkkk") {
					t.Error("the error repeats the token")
				}
			}
		})
	}
	t.Run("not read where nothing is remote", func(t *testing.T) {
		s := load(t, sources{flags: []string{"--remote-token-file=/no/such/file"}})
		if token, err := s.ReadRemoteToken(); token != nil || err != nil {
			t.Errorf("got %q, %v, want nothing", token, err)
		}
	})
}

func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		"", "addr = \"127.0.0.1:1\"\n", "[studio]\nopen = \"auto\"", "studio = {open = 'auto'}", "allow-origin = [\"https://a.test\", 1]", "a.b.c = 1\n[a]\nb.d = 2",
		"[[x]]\n[x.y]\n", "max-body = 0x100000", "grace = \"\"\"1s\"\"\"", "\"\" = 1", "x = 1979-05-27T07:32:00Z", "\ufeffui = true", "=", "a = [[[[1]]]]",
	} {
		f.Add([]byte(seed))
	}
	path := filepath.Join(f.TempDir(), "tray.toml")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := settings.Load(settings.Input{File: path})
		if err != nil {
			if !strings.Contains(err.Error(), "tray.toml") && !strings.Contains(err.Error(), "default") {
				t.Errorf("%q names no source", err)
			}
			if hint.Of(err) == "" {
				t.Errorf("%q has no hint", err)
			}
			if strings.HasPrefix(err.Error(), "tray.toml line 0") {
				t.Errorf("%q names no line", err)
			}
			return
		}
		if got.Addr == "" || got.Upstream == "" || got.MaxBody < 1024 || got.MetricsCapacity < 1 || got.Grace <= 0 {
			t.Errorf("%q gave values that are none: %+v", content, got)
		}
		for _, s := range settings.Table() {
			if source := got.Source(s.Name); source.Kind == settings.FromFile && source.Line < 1 {
				t.Errorf("%s: no line in %q", s.Name, content)
			}
		}
	})
}
