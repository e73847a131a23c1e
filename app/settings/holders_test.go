package settings_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server/hint"
)

// secret marks what no error and no log may say.
const secret = "s3cr3t-Pa55"

func TestHoldersOfAllSourcesAddUpAndTheStrongerOneCounts(t *testing.T) {
	got := load(t, sources{
		flags: []string{"--datastate=a=sqlite:/flag.db"},
		env:   map[string]string{"CHATWRIGHT_SERVER_DATASTATE": "a=sqlite:/env.db, b=postgres://h1:5432,h2:5432/x,c=mysql://u@h/d", "CRM": "postgres://ada:" + secret + "@db/crm"},
		file:  "[datastate.b]\ndsn = \"sqlite:/file.db\"\n[datastate.d]\ndsn_env = \"CRM\"\n[datastate.\"x.y\"]\ndsn = \"sqlite:~/shop.db\"\n",
	})
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	dsns, err := got.Holders()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"a": "sqlite:/flag.db", "b": "postgres://h1:5432,h2:5432/x", "c": "mysql://u@h/d", "d": "postgres://ada:" + secret + "@db/crm",
		"x.y": "sqlite:" + filepath.Join(home, "shop.db"),
	} {
		if dsns[name] != want {
			t.Errorf("%s: got %q, want %q", name, dsns[name], want)
		}
	}
	if len(dsns) != 5 {
		t.Errorf("got %d holders, want 5", len(dsns))
	}
}

func TestDSNInAFileIsReadWhenItIsNeeded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dsn")
	got := load(t, sources{file: "[datastate.crm]\ndsn_file = \"" + filepath.ToSlash(path) + "\"\n"})
	if err := got.CheckFiles(); err == nil || !strings.Contains(err.Error(), "tray.toml line 2") {
		t.Errorf("no such file: got %v, want an error with its place", err)
	}
	if err := os.WriteFile(path, []byte("postgres://ada:"+secret+"@db/crm\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dsns, err := got.Holders()
	if err != nil || dsns["crm"] != "postgres://ada:"+secret+"@db/crm" {
		t.Errorf("got %q and %v", dsns["crm"], err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := got.Holders(); err == nil || !strings.Contains(err.Error(), "mode 0644, want 0600") {
		t.Errorf("a file that others can read: got %v, want it refused", err)
	}
}

func TestMistakeInAHolderNamesItsPlaceAndNeverTheDSN(t *testing.T) {
	for _, c := range []struct {
		name     string
		from     sources
		want     string
		wantHint string
	}{
		{"no name", sources{flags: []string{"--datastate=postgres://u:" + secret + "@h/d?x"}}, "flag --datastate: a holder is written as NAME=DSN", "shop=sqlite"},
		{"no scheme", sources{flags: []string{"--datastate=a=" + secret}}, `flag --datastate: data-state holder "a": the DSN names no kind of database`, "sqlite:PATH"},
		{"an unknown scheme", sources{flags: []string{"--datastate=a=oracle://u:" + secret + "@h/d"}}, "unknown kind of database", "sqlite:PATH"},
		{"a bad URL", sources{env: map[string]string{"CHATWRIGHT_SERVER_DATASTATE": "a=mysql://u:" + secret + "%zz@h/d"}}, `environment CHATWRIGHT_SERVER_DATASTATE: data-state holder "a": the DSN is not a URL`, "%25"},
		{"what PostgreSQL cannot read", sources{file: "\n[datastate.a]\ndsn = \"postgres://u:" + secret + "@h:port/d\"\n"}, `tray.toml line 3: data-state holder "a"`, "postgres://"},
		{"an unknown parameter", sources{flags: []string{"--datastate=a=mysql://u:" + secret + "@h/d?allowAllFiles=true"}}, `unknown parameter "allowAllFiles"`, "mysql://"},
		{"no database", sources{flags: []string{"--datastate=a=mysql://u:" + secret + "@h/"}}, "the path is to be the name of one database", "mysql://"},
		{"no file", sources{flags: []string{"--datastate=a=sqlite:"}}, "the DSN names no file", "sqlite:PATH"},
		{"memory is no file", sources{flags: []string{"--datastate=a=sqlite::memory:"}}, "the DSN names no file", "sqlite:PATH"},
		{"a bad name", sources{flags: []string{"--datastate=a b=sqlite:/x"}}, `"a b" is not a name for a database`, "letters"},
		{"twice", sources{flags: []string{"--datastate=a=sqlite:/x", "--datastate=a=sqlite:/y"}}, `the data-state holder "a" is there twice`, "name of its own"},
		{"two DSNs", sources{file: "[datastate.a]\ndsn = \"sqlite:/x\"\ndsn_env = \"X\"\n"}, `more than one DSN`, "dsn_env"},
		{"a variable that is not set", sources{file: "[datastate.a]\ndsn_env = \"NOPE\"\n"}, "the variable NOPE is not set", "set it"},
		{"a misspelt member", sources{file: "[datastate.a]\ndns = \"sqlite:/x\"\n"}, `tray.toml line 2: unknown setting "datastate.a.dns"`, "[datastate.NAME]"},
		{"a text", sources{file: "datastate = \"a=sqlite:/x\"\n"}, `unknown setting "datastate"`, "[datastate.NAME]"},
		{"a number", sources{file: "[datastate.a]\ndsn = 7\n"}, "wrong type", "[datastate.NAME]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := settings.Load(c.from.input(t))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(hint.Of(err), c.wantHint) {
				t.Errorf("got %v, hint %q, want %q and %q", err, hint.Of(err), c.want, c.wantHint)
			}
			if err != nil && strings.Contains(err.Error()+hint.Of(err), secret) {
				t.Errorf("the error says the secret: %v", err)
			}
		})
	}
}

func TestPasswordsAmongTheArgumentsAreFound(t *testing.T) {
	got := load(t, sources{
		flags: []string{"--datastate=a=postgres://u:" + secret + "@h/d", "--datastate=b=postgres://u@h/d", "--datastate=c=sqlite:/x", "--datastate=d=postgres://h/d?password=" + secret},
		env:   map[string]string{"CHATWRIGHT_SERVER_DATASTATE": "e=mysql://u:" + secret + "@h/d"},
	})
	if names := got.Visible(); !slices.Equal(names, []string{"a", "d"}) {
		t.Errorf("got %v, want a and d", names)
	}
}

// What is kept in a file about the arguments of a process has no password in it, in whichever way the flag is written.
func TestArgumentsAreKeptWithoutTheirPasswords(t *testing.T) {
	args := []string{"--headless", "--datastate=a=postgres://u:" + secret + "@h/d", "--datastate", "b=mysql://u:" + secret + "@h/d",
		"--datastate=c=sqlite:shop.db", "--datastate", "d=postgres://u@h/d?sslpassword=" + secret, "--addr", "127.0.0.1:0"}
	given := slices.Clone(args)
	want := []string{"--headless", "--datastate=a=***", "--datastate", "b=***",
		"--datastate=c=sqlite:shop.db", "--datastate", "d=***", "--addr", "127.0.0.1:0"}
	if got := settings.WithoutSecrets(args); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if !slices.Equal(args, given) {
		t.Errorf("the arguments themselves became %q", args)
	}
}
