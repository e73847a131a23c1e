package settings_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server/protocol"
)

func valueOf(t *testing.T, values []protocol.SettingValue, key string) protocol.SettingValue {
	t.Helper()
	for _, v := range values {
		if v.Key == key {
			return v
		}
	}
	t.Fatalf("%s is not in the list", key)
	return protocol.SettingValue{}
}

func TestValuesSayWhereTheyComeFrom(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tray.toml")
	if err := os.WriteFile(file, []byte("capture = \"memory\"\ngrace = \"3s\"\nallow-origin = [\"https://a.test\", \"https://b.test\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := settings.Load(settings.Input{
		File: file,
		Flag: func(name string) ([]string, bool) { return []string{"127.0.0.1:1", "127.0.0.1:2"}, name == "addr" },
		Env: func(name string) (string, bool) {
			return map[string]string{"CHATWRIGHT_SERVER_GRACE": "4s", "CHATWRIGHT_PARENT_PID": "12"}[name], true
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	values := s.Values()
	if len(values) != len(settings.Table()) {
		t.Errorf("got %d values of %d settings", len(values), len(settings.Table()))
	}
	for key, want := range map[string]protocol.SettingValue{
		"addr":               {Flag: "--addr", Env: "CHATWRIGHT_SERVER_ADDR", Value: "127.0.0.1:2", Source: "flag"},
		"grace":              {Flag: "--grace", Env: "CHATWRIGHT_SERVER_GRACE", Value: "4s", Source: "environment"},
		"capture":            {Flag: "--capture", Env: "CHATWRIGHT_CAPTURE", Value: "memory", Source: "tray.toml"},
		"allow-origin":       {Flag: "--allow-origin", Env: "CHATWRIGHT_SERVER_ALLOW_ORIGIN", Value: "https://a.test, https://b.test", Source: "tray.toml"},
		"history-days":       {Flag: "--history-days", Env: "CHATWRIGHT_HISTORY_DAYS", Value: "90", Source: "default"},
		"parent-pid":         {Env: "CHATWRIGHT_PARENT_PID", Value: "12", Source: "environment"},
		"datastate.NAME.dsn": {Flag: "--datastate", Env: "CHATWRIGHT_SERVER_DATASTATE", Source: "default"},
	} {
		got := valueOf(t, values, key)
		if got.Help == "" {
			t.Errorf("%s: it has no help", key)
		}
		if want.Key, want.Help = key, got.Help; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// A DSN may hold a password in more places than one; none of them is shown, wherever it stands.
func TestValuesHoldNoSecret(t *testing.T) {
	folder := t.TempDir()
	const secret = "planted0secret"
	file := filepath.Join(folder, "tray.toml")
	dsnFile := filepath.Join(folder, "dsn")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(dsnFile, "postgres://u:"+secret+"@h/db")
	write(file, "[datastate.a]\ndsn = \"postgres://planted0user:"+secret+"@db.test:5432/shop?sslmode=disable\"\n"+
		"[datastate.b]\ndsn_file = \"dsn\"\n[datastate.c]\ndsn_env = \"SHOP_DSN\"\n[datastate.d]\ndsn = \"sqlite:shop.db\"\n")
	s, err := settings.Load(settings.Input{
		File: file,
		Flag: func(name string) ([]string, bool) {
			return []string{"e=mysql://root:" + secret + "@localhost/shop?tls=false", "f=postgres:///shop?host=/run&password=" + secret}, name == "datastate"
		},
		Env: func(name string) (string, bool) {
			return "postgres://h.test/db?password=" + secret, name == "SHOP_DSN"
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	values := s.Values()
	text, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "planted0") {
		t.Errorf("a secret is shown: %s", text)
	}
	for key, want := range map[string][2]string{
		"datastate.a": {"postgres://db.test:5432/shop", "tray.toml"}, "datastate.b": {"in " + dsnFile, "tray.toml"},
		"datastate.c": {"postgres://h.test/db", "tray.toml"}, "datastate.d": {"sqlite:" + filepath.Join(folder, "shop.db"), "tray.toml"},
		"datastate.e": {"mysql://localhost/shop", "flag"}, "datastate.f": {"postgres:…", "flag"},
	} {
		if got := valueOf(t, values, key); got.Value != want[0] || got.Source != want[1] {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
}
