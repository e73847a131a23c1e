package autostart

import (
	"errors"
	"strings"
)

// commandLine is a command as Windows takes it apart again (CommandLineToArgvW): a value of the Run key is one string.
func commandLine(command []string) string {
	quoted := make([]string, len(command))
	for i, argument := range command {
		quoted[i] = quoteArgument(argument, i == 0)
	}
	return strings.Join(quoted, " ")
}

// quoteArgument quotes one argument. The program itself is always quoted: a path with a space, unquoted, starts
// whatever is at its first word. There a backslash is never an escape.
func quoteArgument(argument string, program bool) string {
	if program {
		return `"` + argument + `"`
	}
	if argument != "" && !strings.ContainsAny(argument, " \t\"") {
		return argument
	}
	var b strings.Builder
	b.WriteByte('"')
	backslashes := 0
	for _, c := range []byte(argument) {
		switch c {
		case '\\':
			backslashes++
			continue
		case '"': // the backslashes before it count double, and it gets one of its own
			b.WriteString(strings.Repeat(`\`, 2*backslashes+1))
		default:
			b.WriteString(strings.Repeat(`\`, backslashes))
		}
		backslashes = 0
		b.WriteByte(c)
	}
	b.WriteString(strings.Repeat(`\`, 2*backslashes))
	b.WriteByte('"')
	return b.String()
}

// programOf is the program that a value of the Run key starts.
func programOf(line string) (string, error) {
	line = strings.TrimSpace(line)
	if rest, quoted := strings.CutPrefix(line, `"`); quoted {
		program, _, closed := strings.Cut(rest, `"`)
		if !closed {
			return "", errors.New("a quote is not closed")
		}
		return program, nil
	}
	program, _, _ := strings.Cut(line, " ")
	return program, nil
}

// approved reads the value that Windows keeps beside the Run key: Task Manager and the settings switch an entry off
// there, by an odd first byte, and leave the entry itself alone.
func approved(value []byte) bool { return len(value) == 0 || value[0]%2 == 0 }
