package theme_test

import (
	"os"
	"path/filepath"
	"testing"

	"chatwright.dev/tray/app/theme"
)

func TestWhichPanelsAreLight(t *testing.T) {
	for _, c := range []struct {
		name string
		look theme.Look
		want bool
	}{
		{"nothing known", theme.Look{}, false},
		{"prefers light", theme.Look{Scheme: theme.PreferLight}, true},
		{"prefers dark", theme.Look{Scheme: theme.PreferDark, GTKTheme: "Adwaita", KDEBackground: "255,255,255"}, false},
		{"a number of a later version", theme.Look{Scheme: 7}, false},
		{"the panel of GNOME is dark beside light windows", theme.Look{Desktop: "ubuntu:GNOME", Scheme: theme.PreferLight}, false},
		{"the panel of Xfce is dark unless somebody prefers light", theme.Look{Desktop: "XFCE", GTKTheme: "Adwaita"}, false},
		{"Xfce, light", theme.Look{Desktop: "XFCE", Scheme: theme.PreferLight}, true},
		{"a light theme of GTK", theme.Look{Desktop: "MATE", GTKTheme: "Menta"}, true},
		{"a dark theme of GTK", theme.Look{Desktop: "MATE", GTKTheme: "Yaru-dark"}, false},
		{"the dark variant of a theme", theme.Look{GTKTheme: "Adwaita", GTKDark: true}, false},
		{"KDE, Breeze", theme.Look{Desktop: "KDE", KDEBackground: "239,240,241", GTKTheme: "Breeze-Dark"}, true},
		{"KDE, Breeze Dark", theme.Look{Desktop: "KDE", KDEBackground: "42, 46, 50"}, false},
		{"KDE, no colour", theme.Look{KDEBackground: "red"}, false},
	} {
		if got := c.look.LightPanel(); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestFilesOfGTKAndKDE(t *testing.T) {
	folder := t.TempDir()
	if got := theme.FromFiles(folder); got != (theme.Look{}) {
		t.Errorf("no files: got %+v", got)
	}
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("gtk-4.0/settings.ini", "[Settings]\ngtk-theme-name=Four\n")
	if got, want := theme.FromFiles(folder), (theme.Look{GTKTheme: "Four"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	write("gtk-3.0/settings.ini", "[Other]\ngtk-theme-name=No\n[Settings]\n# one\ngtk-theme-name = Three\ngtk-application-prefer-dark-theme=1\n")
	write("kdeglobals", "[Colors:Button]\nBackgroundNormal=1,2,3\n[Colors:Window]\nBackgroundNormal=239,240,241\n") //nolint:misspell // KDE's spelling
	if got, want := theme.FromFiles(folder), (theme.Look{GTKTheme: "Three", GTKDark: true, KDEBackground: "239,240,241"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
