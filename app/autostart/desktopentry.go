package autostart

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// entry is what counts of an autostart file, as the Desktop Entry and the Desktop Application Autostart specifications
// of freedesktop.org have it.
type entry struct {
	exec    []string
	tryExec string
	off     bool // Hidden, or switched off by the settings of GNOME and its kin
	onlyIn  []string
	notIn   []string
}

// maxEntry bounds what is read of an entry, which may be anybody's file.
const maxEntry = 64 << 10

// parseEntry reads the group [Desktop Entry]. What it does not know it passes over.
func parseEntry(data []byte) (e entry, err error) {
	inside, seen := false, false
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxEntry+1)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '[':
			inside = line == "[Desktop Entry]"
			seen = seen || inside
			continue
		case !inside:
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		if err := e.set(strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
			return entry{}, err
		}
	}
	if !seen {
		return entry{}, errors.New("it has no group [Desktop Entry]")
	}
	return e, lines.Err()
}

func (e *entry) set(key, value string) (err error) {
	switch key {
	case "Exec":
		if e.exec, err = splitExec(unescape(value)); err != nil {
			return fmt.Errorf("its Exec: %w", err)
		}
	case "TryExec":
		e.tryExec = unescape(value)
	case "Hidden":
		e.off = e.off || value == "true"
	case "X-GNOME-Autostart-enabled":
		e.off = e.off || value == "false"
	case "OnlyShowIn":
		e.onlyIn = list(value)
	case "NotShowIn":
		e.notIn = list(value)
	}
	return nil
}

func list(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ';' })
}

// program is what the entry starts, and what must be there for that; "" when it names none.
func (e entry) program() string {
	if len(e.exec) == 0 {
		return ""
	}
	return e.exec[0]
}

// trouble is why an entry whose program is there starts nothing all the same. desktop is XDG_CURRENT_DESKTOP, names with
// colons between.
func (e entry) trouble(desktop string) string {
	if e.tryExec != "" {
		if text := missing(e.tryExec); text != "" {
			return text
		}
	}
	names := strings.Split(desktop, ":")
	switch {
	case len(e.onlyIn) > 0 && !overlap(e.onlyIn, names):
		return "it is for " + strings.Join(e.onlyIn, ", ") + " only"
	case overlap(e.notIn, names):
		return "it is not for this desktop"
	}
	return ""
}

func overlap(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y {
				return true
			}
		}
	}
	return false
}

// renderEntry is the file that starts command at login. With TryExec an entry that outlives its program, as one does in
// the home of a user whose administrator removed the package, is passed over in silence.
func renderEntry(command []string) []byte {
	quoted := make([]string, len(command))
	for i, argument := range command {
		quoted[i] = quoteExec(argument)
	}
	return fmt.Appendf(nil, `[Desktop Entry]
Type=Application
Version=1.4
Name=%s
Comment=Start the companion of Chatwright Studio when you log in
Exec=%s
TryExec=%s
Icon=%s
Terminal=false
X-GNOME-Autostart-enabled=true
`, title, escape(strings.Join(quoted, " ")), escape(command[0]), Name)
}

// renderHidden is the file that keeps an entry for every user from starting anything for this one.
func renderHidden() []byte {
	return fmt.Appendf(nil, "[Desktop Entry]\nType=Application\nName=%s\nHidden=true\n", title)
}

// reserved are the characters that an argument of Exec must be quoted for.
const reserved = " \t\n\"'\\><~|&;$*?#()`"

func quoteExec(argument string) string {
	argument = strings.ReplaceAll(argument, "%", "%%") // a single one begins a field code
	if argument != "" && !strings.ContainsAny(argument, reserved) {
		return argument
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", `$`, `\$`).Replace(argument) + `"`
}

// splitExec is the way back, of what anybody may have written.
func splitExec(value string) (command []string, err error) {
	var argument strings.Builder
	open, quoted := false, false // an argument has begun; it is within quotes
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case quoted && c == '\\' && i+1 < len(value):
			i++
			argument.WriteByte(value[i])
		case c == '"':
			quoted, open = !quoted, true
		case !quoted && (c == ' ' || c == '\t'):
			if open {
				command = append(command, argument.String())
			}
			argument.Reset()
			open = false
		case c == '%' && i+1 < len(value):
			i++
			if value[i] == '%' { // every other field code stands for a file or an icon, and there is none
				argument.WriteByte('%')
				open = true
			}
		default:
			argument.WriteByte(c)
			open = true
		}
	}
	if quoted {
		return nil, errors.New("a quote is not closed")
	}
	if open {
		command = append(command, argument.String())
	}
	return command, nil
}

// escape and unescape are those of every string value in a desktop entry.
func escape(value string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(value)
}

func unescape(value string) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\s`, " ").Replace(value)
}
