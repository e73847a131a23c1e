package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/width"

	"chatwright.dev/tray/server/datastate"
)

// widestCell is where a text is cut in the table; --json has it whole.
const widestCell = 48

// rowsTable lays rows out under the names of their columns: first those that the query names, then the others by
// alphabet. A column of numbers is aligned to the right.
func rowsTable(rows []datastate.Row, named []string) string {
	columns := columnNames(rows, named)
	lines := make([][]string, len(rows)+1)
	numbers := make([]bool, len(columns))
	widths := make([]int, len(columns))
	for i, name := range columns {
		numbers[i] = true
		lines[0] = append(lines[0], cell(name))
		for j, row := range rows {
			value, there := row[name]
			numbers[i] = numbers[i] && (!there || value == nil || isNumber(value))
			lines[j+1] = append(lines[j+1], cellOf(value, there))
		}
		for _, line := range lines {
			widths[i] = max(widths[i], widthOf(line[i]))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		var text strings.Builder
		for i, shown := range line {
			room := strings.Repeat(" ", widths[i]-widthOf(shown))
			if numbers[i] {
				shown, room = room+shown, ""
			}
			text.WriteString(shown + room + "  ")
		}
		b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
	return b.String()
}

func columnNames(rows []datastate.Row, named []string) []string {
	left := map[string]bool{}
	for _, row := range rows {
		for name := range row {
			left[name] = true
		}
	}
	columns := make([]string, 0, len(left))
	for _, name := range named { // one that the bounds of the rows left out is not there
		if left[name] {
			columns = append(columns, name)
			delete(left, name)
		}
	}
	return append(columns, slices.Sorted(maps.Keys(left))...)
}

// cellOf is a value as the table shows it: what no row has is left empty, nested values are JSON.
func cellOf(value any, there bool) string {
	if !there {
		return ""
	}
	if text, ok := value.(string); ok {
		return cell(text)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "?" // rows come out of JSON, or go into it
	}
	return cell(string(text))
}

func isNumber(value any) bool {
	switch value.(type) {
	case json.Number, float32, float64, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return true
	}
	return false
}

func cell(text string) string {
	text = printable(text)
	n := 0
	for at := range text {
		if n == widestCell {
			return text[:at] + "…"
		}
		n++
	}
	return text
}

// widthOf is how many columns of a terminal a text takes: those of East Asia take two a character.
func widthOf(text string) int {
	n := 0
	for _, r := range text {
		n++
		if kind := width.LookupRune(r).Kind(); kind == width.EastAsianWide || kind == width.EastAsianFullwidth {
			n++
		}
	}
	return n
}
