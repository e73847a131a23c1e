package theme

import (
	"bufio"
	"bytes"
	"path/filepath"
	"strconv"
	"strings"

	"chatwright.dev/tray/server/wholefile"
)

// maxFile bounds a settings file of a desktop; larger ones are taken to say nothing.
const maxFile = 1 << 20

// fromFiles fills in what the settings files of GTK and KDE in the user's configuration folder say. A file that is not
// there, or makes no sense, says nothing.
func (l Look) fromFiles(configFolder string) Look {
	for _, version := range []string{"gtk-3.0", "gtk-4.0"} {
		gtk := group(filepath.Join(configFolder, version, "settings.ini"), "Settings")
		if name := gtk["gtk-theme-name"]; name != "" {
			l.GTKTheme = name
			dark := gtk["gtk-application-prefer-dark-theme"]
			l.GTKDark = dark == "1" || strings.EqualFold(dark, "true")
			break
		}
	}
	l.KDEBackground = group(filepath.Join(configFolder, "kdeglobals"), "Colors:Window")["BackgroundNormal"] //nolint:misspell // KDE's spelling
	return l
}

// group reads one group of a file in the manner of an INI file.
func group(path, name string) map[string]string {
	data, err := wholefile.Read(path, maxFile)
	if err != nil {
		return nil
	}
	values, inside := map[string]string{}, false
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			inside = line == "["+name+"]"
			continue
		}
		if key, value, ok := strings.Cut(line, "="); ok && inside {
			values[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return values
}

// bright says whether text reads better dark on that colour, by the weights of ITU-R BT.601. A colour that cannot be
// read is not bright.
func bright(colour string) bool {
	parts := strings.Split(colour, ",")
	if len(parts) < 3 {
		return false
	}
	var luma int
	for i, weight := range []int{299, 587, 114} {
		n, err := strconv.Atoi(strings.TrimSpace(parts[i]))
		if err != nil || n < 0 || n > 255 {
			return false
		}
		luma += weight * n
	}
	return luma > 127_500
}
