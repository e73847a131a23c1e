package manual_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"chatwright.dev/tray/build/manual"
)

// program is a small program with everything that a manual has to cope with.
func program() *cobra.Command {
	run := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "prog", Short: "Does things", Run: run}
	root.Flags().String("addr", "127.0.0.1:1", "where it listens")
	root.Flags().String("grace", "10s", "how long it waits")
	root.Flags().String("ui-dir", "", "a folder")
	root.Flags().String("log-level", "info", "how much it says")
	start := &cobra.Command{Use: "start", Short: "Start it", Run: run}
	start.Flags().AddFlagSet(root.Flags())
	start.Flags().BoolP("tray", "t", false, "with a|tray")
	open := &cobra.Command{Use: "open [a|b]", Short: "Open it", Run: run, Long: ".well\\known is a folder.\n\n  prog open   opens it"}
	open.Flags().AddFlag(root.Flags().Lookup("ui-dir"))
	topic := &cobra.Command{Use: "exit-codes", Short: "What they mean", Long: "  0    done\n  130  ended"}
	root.AddCommand(start, open, topic, &cobra.Command{Use: "secret", Hidden: true, Run: run})
	return root
}

func theManual() manual.Manual {
	return manual.Manual{
		Root: program(), Version: "1.2.3",
		Settings: []manual.Setting{
			{Flag: "--addr host:port", Env: "PROG_ADDR", Key: "addr", Default: "127.0.0.1:1", Usage: "where it listens"},
			{Flag: "--grace duration"}, {Flag: "--ui-dir folder"}, {Flag: "--log-level"},
			{Env: "PROG_PARENT", Usage: "ends with its parent"},
		},
		Files: []manual.File{{Path: "$HOME/.prog", Usage: "what it remembers"}},
	}
}

func TestTheManPageSaysWhatTheCommandsSay(t *testing.T) {
	page := string(theManual().Man())
	for _, want := range []string{
		`.TH PROG 1 "" "prog 1.2.3" "User Commands"`,
		"prog \\- Does things\n",
		"\\fBprog open\\fP [a|b]",
		"\\fB\\-t, \\-\\-tray\\fP\nwith a|tray.",
		"\\fB\\-\\-addr host:port, PROG_ADDR, addr\\fP\nwhere it listens (default 127.0.0.1:1).",
		"\\fBPROG_PARENT\\fP\nends with its parent.",
		"\\fB$HOME/.prog\\fP\nwhat it remembers.",
		"\\&.well\\eknown is a folder.", // else roff reads a request, and an escape
		".nf\nprog open   opens it\n.fi",
		".SH \"EXIT CODES\"\n.RS 4\n.nf\n0    done\n130  ended\n.fi",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not hold %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "secret") {
		t.Error("a hidden command is in the page")
	}
}

// A command that takes all settings points to them; one that takes a few describes those.
func TestSettingsAreDescribedOnce(t *testing.T) {
	text := string(theManual().Markdown())
	start, open := chapter(t, text, "start"), chapter(t, text, "open")
	if strings.Contains(start, "--grace") || !strings.Contains(start, "[settings](#settings)") {
		t.Errorf("start repeats the settings, or does not point to them:\n%s", start)
	}
	if !strings.Contains(open, "`--ui-dir string`") || strings.Contains(open, "#settings") {
		t.Errorf("open does not describe its one flag:\n%s", open)
	}
}

func TestMarkdownKeepsTablesAndBlocksWhole(t *testing.T) {
	text := string(theManual().Markdown())
	for _, want := range []string{
		"| `-t, --tray` | with a\\|tray |\n",
		"| `--addr host:port` | `PROG_ADDR` | `addr` | `127.0.0.1:1` | where it listens |\n",
		"| – | `PROG_PARENT` | – | – | ends with its parent |\n",
		"```\n0    done\n130  ended\n```\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text does not hold %q:\n%s", want, text)
		}
	}
}

// chapter is the part of a Markdown text below one heading.
func chapter(t *testing.T, text, title string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "\n## "+title+"\n")
	if !ok {
		t.Fatalf("no chapter %q in:\n%s", title, text)
	}
	body, _, _ := strings.Cut(rest, "\n## ")
	return body
}
