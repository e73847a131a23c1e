// Package manual writes the manual of the program from its commands: a page for man, and the same as Markdown. Only
// tests of the command line use it, so that the program does not carry it along; they keep what it writes in this
// folder.
package manual

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Manual is what there is to say about the program. The zero value of each field leaves its section out, but for Root.
type Manual struct {
	Root     *cobra.Command
	Version  string
	Settings []Setting // the flags of the root that are described once, in a section of their own
	Files    []File
	Homepage string // where more is
}

// A Setting is one line of the table of settings.
type Setting struct {
	Flag    string // with its argument; "" there is none
	Env     string // variable; "" there is none
	Key     string // in the settings file; "" it cannot be set there
	Default string // "" none
	Usage   string // a phrase
}

// A File is one that the program reads or writes.
type File struct{ Path, Usage string }

// A section is one command, or one topic, as both forms of the manual show it.
type section struct {
	name     string // the whole command line: "chatwright-tray calls export"
	usage    string // name, arguments and what stands for the flags; "" for a topic
	text     string // paragraphs
	examples []string
	flags    []flagLine
	settings bool // takes the flags of the settings too
}

type flagLine struct{ flag, usage string }

// sections lists the commands in the order of a help screen, subcommands behind the command that they belong to.
// Commands that only make sense to a shell are left out.
func (m Manual) sections() []section {
	var all []section
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		all = append(all, m.section(cmd))
		for _, sub := range cmd.Commands() {
			if sub.Hidden || sub.Name() == "help" || cmd.Name() == "completion" {
				continue
			}
			walk(sub)
		}
	}
	walk(m.Root)
	return all
}

func (m Manual) section(cmd *cobra.Command) section {
	s := section{name: cmd.CommandPath(), text: sentence(cmd.Short)}
	if cmd.Long != "" {
		s.text = strings.Trim(cmd.Long, "\n")
	}
	if cmd.Runnable() {
		s.usage = cmd.UseLine()
	}
	for line := range strings.Lines(cmd.Example) {
		if line = strings.TrimSpace(line); line != "" {
			s.examples = append(s.examples, line)
		}
	}
	if cmd.Name() == "completion" { // its own text sends the reader to commands that the manual leaves out
		s.usage = cmd.CommandPath() + " bash|zsh|fish|powershell"
		s.text = "Print the completion script for a shell. Packages install those of bash, zsh and fish."
		return s
	}
	m.addFlags(&s, cmd.LocalFlags())
	return s
}

// fewSettings is how many flags of the settings a command describes itself, instead of pointing to their section.
const fewSettings = 3

func (m Manual) addFlags(s *section, flags *pflag.FlagSet) {
	settings := m.settingNames()
	count := 0
	flags.VisitAll(func(f *pflag.Flag) {
		if settings[f.Name] {
			count++
		}
	})
	s.settings = count > fewSettings
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || s.settings && settings[f.Name] {
			return
		}
		s.flags = append(s.flags, flagLine{spelling(f), usageOf(f)})
	})
}

// settingNames are the names of the flags that the section of the settings describes.
func (m Manual) settingNames() map[string]bool {
	names := map[string]bool{}
	for _, s := range m.Settings {
		name, _, _ := strings.Cut(strings.TrimPrefix(s.Flag, "--"), " ")
		names[name] = true
	}
	return names
}

// spelling is a flag as a person types it: "-o, --output string".
func spelling(f *pflag.Flag) string {
	text := "--" + f.Name
	if f.Shorthand != "" {
		text = "-" + f.Shorthand + ", " + text
	}
	if kind := f.Value.Type(); kind != "bool" {
		text += " " + kind
	}
	return text
}

func usageOf(f *pflag.Flag) string {
	if f.DefValue == "" || f.DefValue == "false" || f.DefValue == "0" || f.DefValue == "[]" {
		return f.Usage
	}
	if f.Value.Type() == "bool" {
		return f.Usage + " (on by default)"
	}
	return f.Usage + " (default " + f.DefValue + ")"
}

// usage is what a setting does, with everything that decides it.
func (s Setting) usage() string {
	text := s.Usage
	if s.Default != "" {
		text += " (default " + s.Default + ")"
	}
	return text
}

// ways are the ways to set it, the one that wins first.
func (s Setting) ways() []string {
	var ways []string
	for _, way := range []string{s.Flag, s.Env, s.Key} {
		if way != "" {
			ways = append(ways, way)
		}
	}
	return ways
}

// sentence ends a phrase with a full stop.
func sentence(text string) string { return strings.TrimRight(text, ".") + "." }
