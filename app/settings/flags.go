package settings

import (
	"strings"
)

// Flags collects as text what the command line sets; Load judges it like any other source. The zero value is ready.
//
//	for _, s := range settings.Table() {
//		if s.NoFlag {
//			continue
//		}
//		f := flagSet.VarPF(flags.Value(s), s.Name, "", s.Usage)
//		if s.Bool {
//			f.NoOptDefVal = "true"
//		}
//	}
type Flags struct {
	values map[string][]string
}

// Lookup is for Input.Flag.
func (f *Flags) Lookup(name string) (values []string, set bool) {
	values, set = f.values[name]
	return values, set
}

// Value returns the flag of s; it satisfies flag.Value and pflag.Value.
func (f *Flags) Value(s Setting) *FlagValue { return &FlagValue{flags: f, setting: s} }

// FlagValue is one flag of Flags.
type FlagValue struct {
	flags   *Flags
	setting Setting
}

// String is what was set, else the default.
func (v *FlagValue) String() string {
	if v.flags == nil { // package flag asks a zero value for its default
		return ""
	}
	if texts, set := v.flags.values[v.setting.Name]; set {
		return strings.Join(texts, ",")
	}
	return v.setting.Default
}

// Type is what stands for the value in help.
func (v *FlagValue) Type() string {
	if v.setting.Bool {
		return "bool"
	}
	return v.setting.Arg
}

// IsBoolFlag tells package flag that the value may be left out.
func (v *FlagValue) IsBoolFlag() bool { return v.setting.Bool }

// Set notes text. It never fails.
func (v *FlagValue) Set(text string) error {
	if v.flags.values == nil {
		v.flags.values = make(map[string][]string)
	}
	v.flags.values[v.setting.Name] = append(v.flags.values[v.setting.Name], text)
	return nil
}

// Markdown is the table as the README shows it.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| Flag | Environment | `tray.toml` | Default | What it does |\n|---|---|---|---|---|\n")
	for _, s := range Table() {
		flag := "--" + s.Name
		if s.Arg != "" {
			flag += " " + strings.ReplaceAll(s.Arg, "|", "\\|")
		}
		if s.NoFlag {
			flag = ""
		}
		usage := strings.ReplaceAll(s.Usage, "|", "\\|")
		switch {
		case s.Key == HolderKey:
			usage += "; repeatable, with commas in the environment, a table for each in the file"
		case s.Repeatable:
			usage += "; repeatable, with commas in the environment, a list in the file"
		}
		b.WriteString("| " + strings.Join([]string{code(flag), code(s.Env), code(s.Key), code(s.Default), usage}, " | ") + " |\n")
	}
	return b.String()
}

func code(text string) string {
	if text == "" {
		return "–"
	}
	return "`" + text + "`"
}
