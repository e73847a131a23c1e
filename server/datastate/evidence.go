package datastate

import (
	"maps"
	"slices"
	"strings"
)

// RedactedValue stands where a redacted field's value was; the field itself stays visible.
const RedactedValue = "«redacted»"

// Limits bound the preview that evidence carries, and with it what is read of a database. An Executor that gives all
// rows has all of them judged. Of a Selector one row is read beyond the preview, to know that there are more, and the
// total is counted by the database. An expectation about the rows themselves has up to Compared of them read, and never
// claims anything about those that it did not see: it fails and says so.
type Limits struct {
	Rows     int // 0: DefaultRows
	Fields   int // of each row; 0: DefaultFields. Fields beyond it are dropped in alphabetical order
	Compared int // 0: DefaultCompared. Less than Rows counts as Rows
}

// The limits where none are given.
const (
	DefaultRows     = 20
	DefaultFields   = 20
	DefaultCompared = 1000
)

func (l Limits) orDefault() Limits {
	if l.Rows <= 0 {
		l.Rows = DefaultRows
	}
	if l.Fields <= 0 {
		l.Fields = DefaultFields
	}
	if l.Compared <= 0 {
		l.Compared = DefaultCompared
	}
	l.Compared = max(l.Compared, l.Rows)
	return l
}

// Evidence is what one run of an assertion leaves: bounded, redacted, the same bytes for the same data.
type Evidence struct {
	Name            string          `json:"name"`
	AttachmentPoint AttachmentPoint `json:"attachmentPoint"`
	Holder          string          `json:"holder"` // the resolved one
	Query           string          `json:"query"`
	Params          map[string]any  `json:"params,omitempty"`
	Outcome         Outcome         `json:"outcome"`
	FailureMessage  string          `json:"failureMessage,omitempty"`
	TotalRows       int             `json:"totalRows"`
	ReturnedRows    int             `json:"returnedRows"`
	Truncated       bool            `json:"truncated"` // rows or fields are missing from the preview
	Preview         []Row           `json:"preview"`   // null: the query did not run; empty: it gave no rows
	RedactedFields  []string        `json:"redactedFields,omitempty"`
	ExcludedFields  []string        `json:"excludedFields,omitempty"`
	Collation       string          `json:"collation,omitempty"` // by which the database compared texts, where that is known
}

// preview copies the first rows within the limits, redacted.
func preview(rows []Row, limits Limits, hide fieldSet) (shown []Row, truncated bool) {
	truncated = len(rows) > limits.Rows
	rows = rows[:min(len(rows), limits.Rows)]
	shown = make([]Row, len(rows))
	for i, row := range rows {
		names := slices.Sorted(maps.Keys(row))
		if len(names) > limits.Fields {
			truncated = true
			names = names[:limits.Fields]
		}
		shown[i] = make(Row, len(names))
		for _, name := range names {
			shown[i][name] = hide.field(name, row[name])
		}
	}
	return shown, truncated
}

// A fieldSet holds the names of the fields that are to be redacted.
type fieldSet map[string]bool

func newFieldSet(names []string) fieldSet {
	set := make(fieldSet, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// names returns the set sorted, nil when empty.
func (s fieldSet) names() []string { return slices.Sorted(maps.Keys(s)) }

func (s fieldSet) rows(rows []Row) []Row {
	out := make([]Row, len(rows))
	for i, row := range rows {
		out[i] = s.row(row)
	}
	return out
}

func (s fieldSet) row(row Row) Row {
	out := make(Row, len(row))
	for name, value := range row {
		out[name] = s.field(name, value)
	}
	return out
}

// field returns a copy of the value of the field name, as evidence may show it.
func (s fieldSet) field(name string, value any) any {
	if s[name] || s[name[strings.LastIndexByte(name, '.')+1:]] { // of two columns called alike one is source.column
		return RedactedValue
	}
	value = plain(value)
	s.hide(value)
	return value
}

// hide redacts inside a value that plain made, in place: a secret is one at any depth.
func (s fieldSet) hide(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			if s[name] {
				value[name] = RedactedValue
			} else {
				s.hide(inner)
			}
		}
	case []any:
		for _, element := range value {
			s.hide(element)
		}
	}
}
