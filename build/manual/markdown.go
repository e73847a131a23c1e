package manual

import (
	"fmt"
	"strings"
)

// Markdown writes the manual as Markdown.
func (m Manual) Markdown() []byte {
	var b strings.Builder
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(&b, format, args...) }
	sections := m.sections()
	say("<!-- Written from the commands of the program: go generate ./cmd/... -->\n\n")
	say("# %s\n\n%s\n", m.Root.Name(), sentence(m.Root.Short))
	for i, s := range sections {
		if i > 0 {
			say("\n## %s\n", strings.TrimPrefix(s.name, m.Root.Name()+" "))
		}
		markdownSection(say, s)
	}
	if len(m.Settings) > 0 {
		say("\n## Settings\n\nA flag wins over an environment variable, which wins over the settings file, which wins over the default.\n\n")
		say("| Flag | Environment | Key in the file | Default | What it does |\n|---|---|---|---|---|\n")
		for _, s := range m.Settings {
			say("| %s | %s | %s | %s | %s |\n", cell(s.Flag), cell(s.Env), cell(s.Key), cell(s.Default), pipes(s.Usage))
		}
	}
	if len(m.Files) > 0 {
		say("\n## Files\n\n| Path | What it is |\n|---|---|\n")
		for _, f := range m.Files {
			say("| %s | %s |\n", cell(f.Path), pipes(f.Usage))
		}
	}
	return []byte(b.String())
}

func markdownSection(say func(format string, args ...any), s section) {
	if s.usage != "" {
		say("\n```\n%s\n```\n", s.usage)
	}
	for paragraph := range strings.SplitSeq(s.text, "\n\n") {
		paragraph = strings.Trim(paragraph, "\n")
		if laidOut(strings.Split(paragraph, "\n")) {
			say("\n```\n%s\n```\n", flush(paragraph))
		} else {
			say("\n%s\n", paragraph)
		}
	}
	if len(s.examples) > 0 {
		say("\n```sh\n%s\n```\n", strings.Join(s.examples, "\n"))
	}
	if len(s.flags) > 0 {
		say("\n| Flag | What it does |\n|---|---|\n")
		for _, f := range s.flags {
			say("| %s | %s |\n", cell(f.flag), pipes(f.usage))
		}
	}
	if s.settings {
		say("\nIt takes the flags of the [settings](#settings) as well.\n")
	}
}

// flush takes away the indentation that all lines of a block share.
func flush(block string) string {
	lines := strings.Split(block, "\n")
	indent := len(block)
	for _, line := range lines {
		if rest := strings.TrimLeft(line, " \t"); rest != "" {
			indent = min(indent, len(line)-len(rest))
		}
	}
	for i, line := range lines {
		lines[i] = line[min(indent, len(line)):]
	}
	return strings.Join(lines, "\n")
}

// cell is code in a table, or a dash where there is none.
func cell(code string) string {
	if code == "" {
		return "–"
	}
	return "`" + pipes(code) + "`"
}

// pipes keeps a text from ending the cell that it is in.
func pipes(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
