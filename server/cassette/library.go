package cassette

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/wholefile"
)

// maxFile bounds a recording that is read: two bodies of maxRecorded, and what JSON and base64 add to them.
const maxFile = 4 * maxRecorded

// Named is a tape and the file that it stands in.
type Named struct {
	Name string // of the file, without its folder
	Tape Tape
}

// BrokenError says what is wrong with one file.
type BrokenError struct {
	Name string // of the file, without its folder
	Err  error
}

func (e *BrokenError) Error() string { return e.Name + ": " + e.Err.Error() }

func (e *BrokenError) Unwrap() error { return e.Err }

// LoadFile reads one recording. An error is a *BrokenError.
func LoadFile(path string) (Named, error) {
	name := filepath.Base(path)
	data, err := wholefile.Read(path, maxFile)
	if err != nil {
		return Named{}, &BrokenError{name, err}
	}
	t, err := Parse(data)
	if err != nil {
		return Named{}, &BrokenError{name, err}
	}
	return Named{name, t}, nil
}

// Load reads the recordings of a folder, in the order of their names and numbers. Every file that ends in .json must be
// one: the error joins a *BrokenError for each that is not, and the others are returned all the same. A name may be anything; only the recorder's own follow its pattern.
func Load(folder string) ([]Named, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, hint.With(fmt.Errorf("reading the folder of recordings: %w", err), "record some first: chatwright-tray --record "+folder)
	}
	var tapes []Named
	var troubles []error
	for _, entry := range entries {
		if entry.IsDir() || !strings.HasSuffix(entry.Name(), ".json") {
			continue
		}
		one, err := LoadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			troubles = append(troubles, err)
			continue
		}
		tapes = append(tapes, one)
	}
	slices.SortFunc(tapes, func(a, b Named) int { return compareNames(a.Name, b.Name) })
	return tapes, errors.Join(troubles...)
}

var numbered = regexp.MustCompile(`^(.*)-(\d+)\.json$`)

// compareNames puts x-2 before x-10.
func compareNames(a, b string) int {
	x, y := numbered.FindStringSubmatch(a), numbered.FindStringSubmatch(b)
	if x == nil || y == nil || x[1] != y[1] {
		return cmp.Compare(a, b)
	}
	m, _ := strconv.Atoi(x[2])
	n, _ := strconv.Atoi(y[2])
	return cmp.Or(cmp.Compare(m, n), cmp.Compare(a, b))
}
