package main

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server/hint"
)

// widestHelp is where help is wrapped on a wider terminal: longer lines are hard to read.
const widestHelp = 110

// usage is what cobra's template says, with flags that fit the terminal. Flags that go with every command are listed by the
// root alone, and named elsewhere.
func (c *cli) usage(cmd *cobra.Command) string {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s [command]\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	list := func(title string, wanted func(*cobra.Command) bool) {
		for _, sub := range cmd.Commands() {
			if wanted(sub) {
				b.WriteString(title + hanging(fmt.Sprintf("  %-*s  ", sub.NamePadding(), sub.Name()), sub.Short, c.helpWidth()))
				title = ""
			}
		}
	}
	list("\nCommands:\n", (*cobra.Command).IsAvailableCommand)
	list("\nMore:\n", (*cobra.Command).IsAdditionalHelpTopicCommand)
	if cmd.HasAvailableLocalFlags() {
		fmt.Fprintf(&b, "\nFlags:\n%s", flagLines(cmd.LocalFlags(), c.helpWidth()))
	}
	if cmd.HasAvailableInheritedFlags() {
		fmt.Fprintf(&b, "\nEvery command takes %s: see %s --help\n", flagNames(cmd.InheritedFlags()), cmd.Root().CommandPath())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help tells more about a command.\n", cmd.CommandPath())
	}
	return b.String()
}

// prepareHelp makes help fit its reader, and a command that there is not an error: cobra prints the nearest page that
// there is, and calls that a success.
func (c *cli) prepareHelp(root *cobra.Command) {
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := fmt.Fprint(cmd.OutOrStdout(), c.usage(cmd))
		return err
	})
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if words := cmd.Flags().Args(); len(words) > 0 && cmd.HasSubCommands() && cmd.Name() != "completion" {
			c.unhelped = noArguments(cmd, words)
			return
		}
		about := cmd.Long
		if about == "" {
			about = cmd.Short
		}
		about = paragraphs(strings.TrimSpace(about), c.helpWidth())
		if cmd.Runnable() || cmd.HasSubCommands() {
			about += "\n" + c.usage(cmd)
		}
		_, _ = fmt.Fprint(cmd.OutOrStdout(), about)
	})
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [command]",
		Short: "Tell more about a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, words, err := root.Find(args)
			if err != nil {
				return withCode(exitUsage, err)
			}
			if len(words) > 0 {
				return noArguments(cmd, words)
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, begin string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			cmd, words, err := root.Find(args)
			if err != nil || len(words) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			for _, sub := range cmd.Commands() {
				if (sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand()) && strings.HasPrefix(sub.Name(), begin) {
					names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	})
}

func (c *cli) helpWidth() int { return min(terminalWidth(c.stdout), widestHelp) }

const (
	widestFlag = 22 // with its value; beside a wider one there is little room on a terminal of 80 columns
	flagIndent = 10
)

// flagLines lists flags with what they do: in two columns, or where one is too wide for that below one another.
func flagLines(flags *pflag.FlagSet, width int) string {
	type line struct{ flag, usage string }
	var lines []line
	widest := 0
	flags.VisitAll(func(f *pflag.Flag) {
		value, usage := pflag.UnquoteUsage(f)
		flag := "      --" + f.Name
		if f.Shorthand != "" {
			flag = "  -" + f.Shorthand + ", --" + f.Name
		}
		if value != "" && f.NoOptDefVal == "" {
			flag += " " + value
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" {
			usage += " (default " + f.DefValue + ")"
		}
		widest = max(widest, len(flag))
		lines = append(lines, line{flag, usage})
	})
	var b strings.Builder
	for _, l := range lines {
		if widest > widestFlag+flagIndent {
			b.WriteString(l.flag + "\n" + hanging(strings.Repeat(" ", flagIndent), l.usage, width))
		} else {
			b.WriteString(hanging(fmt.Sprintf("%-*s  ", widest, l.flag), l.usage, width))
		}
	}
	return b.String()
}

// hanging is text after a head, wrapped so that its further lines begin where the first does.
func hanging(head, text string, width int) string {
	indent := utf8.RuneCountInString(head)
	var b strings.Builder
	b.WriteString(head)
	at := indent
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(word)
		at += n
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

// paragraphs wraps each paragraph; lines that begin with a space, as those of a table do, stay as they are.
func paragraphs(text string, width int) string {
	var b strings.Builder
	run := ""
	end := func() {
		if run != "" {
			b.WriteString(hanging("", run, width))
			run = ""
		}
	}
	for line := range strings.Lines(text) {
		switch line = strings.TrimRight(line, "\n"); {
		case line == "" || line[0] == ' ':
			end()
			b.WriteString(line + "\n")
		default:
			run += line + " "
		}
	}
	end()
	return b.String()
}

func flagNames(flags *pflag.FlagSet) string {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return strings.Join(names, " and ")
}

// wrongFlag words what is wrong with a flag. The parser's own words for a switch tell of the function that read it.
func wrongFlag(cmd *cobra.Command, err error) error {
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok && wrong.GetFlag().Value.Type() == "bool" {
		name := "--" + wrong.GetFlag().Name
		return hint.With(fmt.Errorf("flag %s: %q is neither true nor false", name, wrong.GetValue()), "write "+name+", or "+name+"=false")
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && len(unknown.GetSpecifiedName()) > 1 {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := settings.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			return hint.With(err, "see "+cmd.CommandPath()+" --help; did you mean --"+near+"?")
		}
	}
	return err
}

// nearCommand is the command that somebody probably meant; "" none is near.
func nearCommand(cmd *cobra.Command, word string) string {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return settings.Nearest(word, names)
}
