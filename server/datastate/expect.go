package datastate

import (
	"fmt"
	"strings"
)

// Expectation judges all rows of a result, which come in canonical order and without the excluded fields. Its error
// says what was wanted and what was there. It must not change the rows.
type Expectation func(rows []Row) error

// ExactRowCount wants exactly n rows.
func ExactRowCount(n int) Expectation {
	return countIs("exactly", n, func(got int) bool { return got == n })
}

// MinRowCount wants n rows or more.
func MinRowCount(n int) Expectation {
	return countIs("at least", n, func(got int) bool { return got >= n })
}

// MaxRowCount wants n rows or fewer.
func MaxRowCount(n int) Expectation {
	return countIs("at most", n, func(got int) bool { return got <= n })
}

// NonEmpty wants a row.
func NonEmpty() Expectation { return MinRowCount(1) }

// Empty wants no row.
func Empty() Expectation { return ExactRowCount(0) }

func countIs(words string, n int, good func(int) bool) Expectation {
	return func(rows []Row) error {
		if !good(len(rows)) {
			return fmt.Errorf("want %s %d row(s), got %d", words, n, len(rows))
		}
		return nil
	}
}

// RowContains wants a row that has all of shape: nested maps partially, lists element for element, numbers by value.
func RowContains(shape Row) Expectation {
	wanted := plain(shape)
	return func(rows []Row) error {
		for _, row := range rows {
			if contains(plain(row), wanted) {
				return nil
			}
		}
		return shapeError{shape}
	}
}

// ExactRows wants these rows and no others, in any order, each as often as it is given.
func ExactRows(want ...Row) Expectation {
	return func(rows []Row) error {
		if !sameRows(rows, want) {
			return rowsetError{want, rows}
		}
		return nil
	}
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

type shapeError struct{ shape Row }

func (e shapeError) Error() string {
	return "no row contains expected shape " + shorten(fmt.Sprint(e.shape))
}

func (e shapeError) redacted(hide fieldSet) error { return shapeError{hide.row(e.shape)} }

type rowsetError struct{ want, got []Row }

func (e rowsetError) Error() string {
	return "rowset mismatch: want " + printRows(e.want) + ", got " + printRows(e.got)
}

func (e rowsetError) redacted(hide fieldSet) error {
	return rowsetError{hide.rows(e.want), hide.rows(e.got)}
}

// A failure text is read by people: past these bounds it says how much it leaves out.
const (
	printedRows  = 20
	printedBytes = 4 << 10
)

func printRows(rows []Row) string {
	shown := rows[:min(len(rows), printedRows)]
	text := fmt.Sprint(shown)
	if left := len(rows) - len(shown); left > 0 {
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
