package datastate

import (
	"fmt"
	"strings"
)

// Expectation judges all rows of a result, which come in canonical order and without the excluded fields. Its error
// says what was wanted and what was there. It must not change the rows.
type Expectation func(rows []Row) error

// ExactRowCount wants exactly n rows.
func ExactRowCount(n int) Expectation { return exactly.expect(n) }

// MinRowCount wants n rows or more.
func MinRowCount(n int) Expectation { return atLeast.expect(n) }

// MaxRowCount wants n rows or fewer.
func MaxRowCount(n int) Expectation { return atMost.expect(n) }

// NonEmpty wants a row.
func NonEmpty() Expectation { return MinRowCount(1) }

// Empty wants no row.
func Empty() Expectation { return ExactRowCount(0) }

// A bound says how a number of rows is to be compared, in the words of the wire contract.
type bound string

const (
	exactly bound = "exactly"
	atLeast bound = "at least"
	atMost  bound = "at most"
)

func (b bound) check(n, got int) error {
	if got == n || got > n && b == atLeast || got < n && b == atMost {
		return nil
	}
	return fmt.Errorf("want %s %d row(s), got %d", b, n, got)
}

func (b bound) expect(n int) Expectation {
	return func(rows []Row) error { return b.check(n, len(rows)) }
}

// RowContains wants a row that has all of shape: nested maps partially, lists element for element, numbers by value.
func RowContains(shape Row) Expectation {
	wanted := plain(shape)
	return func(rows []Row) error { return rowContains(shape, wanted, rows, len(rows)) }
}

// rowContains wants wanted to be what plain made of shape. rows are what was read of total.
func rowContains(shape Row, wanted any, rows []Row, total int) error {
	for _, row := range rows {
		if contains(plain(row), wanted) {
			return nil
		}
	}
	return shapeError{shape, len(rows), total}
}

// ExactRows wants these rows and no others, in any order, each as often as it is given.
func ExactRows(want ...Row) Expectation {
	return func(rows []Row) error { return exactRows(want, rows, len(rows)) }
}

// exactRows knows without the unread rows what to say when there are too many of them.
func exactRows(want, rows []Row, total int) error {
	switch {
	case total != len(want):
		return rowsetError{want, rows, total - len(rows)}
	case len(rows) < total:
		return errUnread(len(rows), total)
	case !sameRows(rows, want):
		return rowsetError{want, rows, 0}
	}
	return nil
}

// AllRows wants every row to pass check; no rows pass.
func AllRows(check func(Row) error) Expectation {
	return func(rows []Row) error {
		for i, row := range rows {
			if err := check(row); err != nil {
				return fmt.Errorf("row %d of %d: %w", i+1, len(rows), err)
			}
		}
		return nil
	}
}

// AnyRow wants one row to pass check. Its error carries what was wrong with the first.
func AnyRow(check func(Row) error) Expectation {
	return func(rows []Row) error {
		var first error
		for _, row := range rows {
			err := check(row)
			if err == nil {
				return nil
			}
			if first == nil {
				first = err
			}
		}
		if first == nil {
			return fmt.Errorf("want a row that passes the check, got 0 row(s)")
		}
		return fmt.Errorf("none of %d row(s) passes the check, the first: %w", len(rows), first)
	}
}

// All wants all of the expectations, in order; the first failure is the answer. All of nothing passes.
func All(expectations ...Expectation) Expectation {
	return func(rows []Row) error {
		for _, expect := range expectations {
			if err := expect(rows); err != nil {
				return err
			}
		}
		return nil
	}
}

// A redactable error prints row values, and can print them without those of some fields.
type redactable interface {
	error
	redacted(fieldSet) error
}

type shapeError struct {
	shape       Row
	read, total int
}

func (e shapeError) Error() string {
	text := "no row contains expected shape " + shorten(fmt.Sprint(e.shape))
	if e.read < e.total {
		text += fmt.Sprintf(" among the first %d of %d row(s): narrow the query with where", e.read, e.total)
	}
	return text
}

func (e shapeError) redacted(hide fieldSet) error {
	e.shape = hide.row(e.shape)
	return e
}

type rowsetError struct {
	want, got []Row
	unread    int // rows that are there besides got
}

func (e rowsetError) Error() string {
	return "rowset mismatch: want " + printRows(e.want, 0) + ", got " + printRows(e.got, e.unread)
}

func (e rowsetError) redacted(hide fieldSet) error {
	return rowsetError{hide.rows(e.want), hide.rows(e.got), e.unread}
}

// A failure text is read by people: past these bounds it says how much it leaves out.
const (
	printedRows  = 20
	printedBytes = 4 << 10
)

func printRows(rows []Row, unread int) string {
	shown := rows[:min(len(rows), printedRows)]
	text := fmt.Sprint(shown)
	if left := len(rows) - len(shown) + unread; left > 0 {
		text = fmt.Sprintf("%s … %d more]", strings.TrimSuffix(text, "]"), left)
	}
	return shorten(text)
}

func shorten(text string) string {
	if len(text) <= printedBytes {
		return text
	}
	return strings.ToValidUTF8(text[:printedBytes], "") + fmt.Sprintf("… (%d bytes in all)", len(text))
}
