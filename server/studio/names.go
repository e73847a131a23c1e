package studio

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Bounds of one name: more than any file system in use takes.
const (
	maxComponent = 255
	maxName      = 1024
)

// checkName refuses an archive's name that could mean another place, or another file, on any system. The rules are the
// same on all of them, so an archive that is fine here is fine everywhere. A folder's name comes without its last slash.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("is empty")
	case !utf8.ValidString(name):
		return errors.New("is not UTF-8")
	case len(name) > maxName:
		return fmt.Errorf("is over %d bytes", maxName)
	case name[0] == '/':
		return errors.New("is absolute")
	}
	for component := range strings.SplitSeq(name, "/") {
		if err := checkComponent(component); err != nil {
			return err
		}
	}
	return nil
}

func checkComponent(component string) error {
	switch {
	case component == "":
		return errors.New("has an empty part")
	case component == "." || component == "..":
		return errors.New("leads out of its folder")
	case len(component) > maxComponent:
		return fmt.Errorf("has a part over %d bytes", maxComponent)
	case strings.ContainsFunc(component, unicode.IsControl):
		return errors.New("has a control character")
	case strings.ContainsAny(component, `\:<>"|?*`):
		return errors.New(`has one of \ : < > " | ? *`)
	case strings.HasSuffix(component, ".") || strings.HasSuffix(component, " "):
		return errors.New("has a part that ends in a dot or space")
	case isDevice(component):
		return errors.New("is a device on Windows")
	}
	return nil
}

// isDevice knows the names that Windows gives to devices in every folder, whatever their extension.
func isDevice(component string) bool {
	stem, _, _ := strings.Cut(component, ".")
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	for _, port := range []string{"COM", "LPT"} {
		if digit, found := strings.CutPrefix(stem, port); found && utf8.RuneCountInString(digit) == 1 &&
			strings.Contains("0123456789⁰¹²³⁴⁵⁶⁷⁸⁹", digit) {
			return true
		}
	}
	return false
}

// A folding turns names into what the least discerning file system makes of them: NFC and full case folding.
type folding struct{ caser cases.Caser }

func newFolding() folding { return folding{cases.Fold()} } // a Caser is not for concurrent use

func (f folding) fold(name string) string {
	return norm.NFC.String(f.caser.String(norm.NFC.String(name)))
}
