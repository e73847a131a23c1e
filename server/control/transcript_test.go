package control_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"chatwright.dev/tray/server/control"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/session"
)

var update = flag.Bool("update", false, "write the transcript in control.go anew")

const (
	docID   = "20261130-154353764-k7ra"
	docTime = "2026-11-30T15:43:53.764717246Z"
)

// The transcript in the package's documentation is what curl prints, but for the id and the times.
func TestTheTranscriptInTheDocumentationIsWhatHappens(t *testing.T) {
	servertest.Need(t, "curl", "curl")
	m := manage(t, func(_ context.Context, _ session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
		emit(session.Delta{Text: "It holds what you mean to buy."})
		return session.ModelResult{FinishReason: "stop", Model: "llama3.2"}, nil
	})
	d := start(t, control.Config{Manager: m})
	const file = "control.go"
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	id := docID
	anyID, anyTime := regexp.MustCompile(`\d{8}-\d{9}-[0-9a-z]{4}`), regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	var got strings.Builder
	commands, inOutput := 0, false
	for line := range strings.Lines(string(doc)) {
		command, isCommand := strings.CutPrefix(line, "//\t$ ")
		if inOutput && !isCommand && (line == "//\n" || strings.HasPrefix(line, "//\t")) {
			continue // what it printed the last time
		}
		if inOutput && strings.HasPrefix(line, "//") {
			got.WriteString("//\n")
		}
		inOutput = isCommand
		got.WriteString(line)
		if !isCommand {
			continue
		}
		commands++
		cmd := exec.Command("sh", "-c", strings.ReplaceAll(command, docID, id))
		cmd.Env = append(os.Environ(), "SOCK="+d.path)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		if commands == 1 {
			id = anyID.FindString(string(out))
		}
		if strings.Contains(command, "/turns") {
			awaitEnd(t, m, id)
		}
		text := anyTime.ReplaceAllString(anyID.ReplaceAllString(string(out), docID), docTime)
		for line := range strings.Lines(strings.TrimRight(text, "\n")) {
			got.WriteString(strings.TrimRight("//\t"+strings.TrimSuffix(line, "\n"), "\t") + "\n")
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got.String() != string(doc) {
		t.Errorf("got\n%s\nwant what %s says", got.String(), file)
	}
	if commands < 7 {
		t.Errorf("got %d commands", commands)
	}
}
