// Package hint attaches the way out to an error: what happened is the error's own text, what to do about it is its
// hint. The command line prints the two as "error:" and "hint:" lines; the tray shows them in a notice.
package hint

import "errors"

type hinted struct {
	error
	way string
}

func (h hinted) Unwrap() error { return h.error }

// With returns err with a hint: one sentence that says what to do, if possible the command to run. A nil err stays
// nil.
func With(err error, way string) error {
	if err == nil {
		return nil
	}
	return hinted{err, way}
}

// Of returns the hint nearest to the surface of err's chain, or "" when there is none.
func Of(err error) string {
	if h, ok := errors.AsType[hinted](err); ok {
		return h.way
	}
	return ""
}
