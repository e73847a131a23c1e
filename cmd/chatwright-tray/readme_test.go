package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"chatwright.dev/tray/app/settings"
)

var update = flag.Bool("update", false, "write the README's table of settings anew")

// The README's table of settings is the program's own.
func TestReadmeListsTheSettings(t *testing.T) {
	const path = "../../README.md"
	const begin, end = "<!-- settings -->\n", "<!-- /settings -->\n"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	table, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s does not hold %q … %q", path, begin, end)
	}
	want := "\n" + settings.Markdown() + "\n"
	if table == want {
		return
	}
	if !*update {
		t.Errorf("the table is not the program's; go test ./cmd/chatwright-tray -run Readme -update writes it\ngot:\n%s\nwant:\n%s", table, want)
		return
	}
	if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
