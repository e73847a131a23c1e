package autostart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// label is the name of the LaunchAgent, and without the suffix that of its file.
const label = ID

// renderAgent is the property list of a LaunchAgent that starts command once at each login to a desktop.
func renderAgent(command []string) []byte {
	var arguments strings.Builder
	for _, argument := range command {
		arguments.WriteString("\t\t<string>")
		_ = xml.EscapeText(&arguments, []byte(argument)) // a strings.Builder takes everything
		arguments.WriteString("</string>\n")
	}
	return fmt.Appendf(nil, `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>%s</string>
	<key>ProgramArguments</key>
	<array>
%s	</array>
	<key>RunAtLoad</key>
	<true/>
	<key>LimitLoadToSessionType</key>
	<string>Aqua</string>
	<key>ProcessType</key>
	<string>Interactive</string>
</dict>
</plist>
`, label, arguments.String())
}

// agent is what counts of a property list.
type agent struct {
	command    []string
	disabled   bool
	notAtLogin bool // RunAtLoad is missing or false
}

// parseAgent reads the top dictionary of a property list in XML. Values that it has no use for are passed over.
func parseAgent(data []byte) (a agent, err error) {
	a.notAtLogin = true
	d := xml.NewDecoder(strings.NewReader(string(data)))
	depth, key := 0, ""
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			if depth != 0 || len(a.command) == 0 {
				return agent{}, errors.New("it names no program")
			}
			return a, nil
		}
		if err != nil {
			return agent{}, fmt.Errorf("reading the property list: %w", err)
		}
		switch element := token.(type) {
		case xml.StartElement:
			depth++
			switch {
			case depth == 3 && element.Name.Local == "key":
				if key, err = text(d, element, &depth); err != nil {
					return agent{}, err
				}
			case depth == 3 && key == "RunAtLoad":
				a.notAtLogin = element.Name.Local != "true"
			case depth == 3 && key == "Disabled":
				a.disabled = element.Name.Local == "true"
			case element.Name.Local == "string" && (depth == 3 && key == "Program" && len(a.command) == 0 || depth == 4 && key == "ProgramArguments"):
				value, err := text(d, element, &depth)
				if err != nil {
					return agent{}, err
				}
				a.command = append(a.command, value)
			}
		case xml.EndElement:
			depth--
		}
	}
}

// text reads the element that has begun, to its end.
func text(d *xml.Decoder, start xml.StartElement, depth *int) (value string, err error) {
	*depth--
	if err := d.DecodeElement(&value, &start); err != nil {
		return "", fmt.Errorf("reading the property list: %w", err)
	}
	return value, nil
}

// disabledIn reports whether the list of `launchctl print-disabled` says that the label is switched off, as the
// system's own settings do without touching the file. Older systems write true for that, newer ones disabled.
func disabledIn(list string) bool {
	for line := range strings.Lines(list) {
		name, value, ok := strings.Cut(line, "=>")
		if ok && strings.Trim(strings.TrimSpace(name), `"`) == label {
			value = strings.TrimSpace(value)
			return value == "true" || value == "disabled"
		}
	}
	return false
}
