package main

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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

// What the README's table of troubles quotes is what the program says. A text that is put together from parts is
// looked for part by part.
func TestReadmeQuotesTheProgram(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "## When something is wrong\n")
	if section, _, _ = strings.Cut(section, "\n## "); !ok {
		t.Fatal("the README has no table of troubles")
	}
	source := sources(t)
	quotes := regexp.MustCompile(`"([^"]+)"`)
	joints := regexp.MustCompile(`…|·|: |\d+\.\d+\.\d+\.\d+:\d+`)
	found := 0
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \|`).FindAllStringSubmatch(section, -1) {
		for _, quote := range quotes.FindAllStringSubmatch(row[1], -1) {
			found++
			for _, part := range joints.Split(quote[1], -1) {
				if part = strings.TrimSpace(part); !strings.Contains(source, part) {
					t.Errorf("%s: the program never says %q", row[1], part)
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("the table quotes the program %d times only", found)
	}
}

// sources is the code of the program, without its tests.
func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, folder := range []string{"../../app", "../../server", "."} {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			code, err := os.ReadFile(path)
			all.Write(code)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
