package datastate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"chatwright.dev/tray/server/hint"
)

// Runner runs assertions against the registered holders. It is safe for concurrent use when its Executor is.
type Runner struct {
	executor Executor
	handles  Handles
	limits   Limits
}

// NewRunner returns a Runner. The handles are copied. What is missing is an error of Run, not of NewRunner, so that
// evidence can say it.
func NewRunner(executor Executor, handles Handles, limits Limits) *Runner {
	return &Runner{executor, maps.Clone(handles), limits.orDefault()}
}

// Run checks one assertion. The Evidence is complete whether or not the error is nil, and its FailureMessage is the
// error's text.
func (r *Runner) Run(ctx context.Context, point AttachmentPoint, a Assertion) (Evidence, error) {
	hide := newFieldSet(a.Redact)
	e := Evidence{
		Name:            a.Name,
		AttachmentPoint: point,
		Holder:          a.Holder,
		Query:           strings.TrimSpace(a.Query.DTQL),
		Outcome:         Passed,
		RedactedFields:  hide.names(),
		ExcludedFields:  newFieldSet(a.Normalization.ExcludedFields).names(),
	}
	if len(a.Query.Params) > 0 {
		e.Params = hide.row(a.Query.Params)
	}
	err := r.run(ctx, a, hide, &e)
	if err != nil {
		e.Outcome, e.FailureMessage = Failed, err.Error()
	}
	return e, err
}

// run fills in what e does not know yet.
func (r *Runner) run(ctx context.Context, a Assertion, hide fieldSet, e *Evidence) error {
	switch {
	case !e.AttachmentPoint.valid():
		return fmt.Errorf("%w: %q", ErrUnknownAttachmentPoint, e.AttachmentPoint)
	case r.executor == nil:
		return ErrNilExecutor
	case e.Query == "":
		return ErrEmptyQuery
	}
	holder, err := r.resolve(a.Holder)
	if err != nil {
		return err
	}
	e.Holder = holder
	most := max(r.limits.Rows, sees(a.Claims, r.limits))
	if a.Expect != nil { // what it looks at nobody knows
		most = r.limits.Compared
	}
	result, err := r.query(ctx, holder, Query{DTQL: e.Query, Params: a.Query.Params}, most)
	if err != nil {
		return fmt.Errorf("datastate: query execution failed: %w", err)
	}
	if result.Canonical != "" {
		e.Query = result.Canonical
	}
	set := arrange(result.Rows, a.Normalization, result.Ordered)
	e.TotalRows, e.Collation = result.Total, result.Collation
	e.Preview, e.Truncated = preview(set.full, r.limits, hide)
	e.ReturnedRows = len(e.Preview)
	e.Truncated = e.Truncated || result.unread() > 0
	if err := a.judge(set.compared, result); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrAssertionFailed, a.Name, redactError(err, hide))
	}
	return nil
}

func (a Assertion) judge(rows []Row, result Result) error {
	if err := judge(a.Claims, rows, result.Total); err != nil {
		return err
	}
	switch {
	case a.Expect == nil:
		return nil
	case result.unread() > 0:
		return errUnread(len(rows), result.Total)
	}
	return a.Expect(rows)
}

// redactError takes the redacted values out of the texts that this package writes. An expectation of the caller's own
// answers for its text.
func redactError(err error, hide fieldSet) error {
	if printed, ok := errors.AsType[redactable](err); ok && len(hide) > 0 {
		return printed.redacted(hide)
	}
	return err
}

// resolve finds the holder; naming none is allowed only when there is no choice.
func (r *Runner) resolve(name string) (string, error) {
	known := slices.Sorted(maps.Keys(r.handles))
	switch {
	case len(known) == 0:
		return "", ErrNoHolders
	case name == "" && len(known) == 1:
		return known[0], nil
	case name == "":
		return "", hint.With(ErrAmbiguousHolder, "name one of: "+strings.Join(known, ", "))
	case !slices.Contains(known, name):
		return "", hint.With(fmt.Errorf("%w: %s", ErrUnknownHolder, name), "name one of: "+strings.Join(known, ", "))
	}
	return name, nil
}

// RunAll checks the assertions in order and stops at the first failure, whose evidence is the last of the list.
func (r *Runner) RunAll(ctx context.Context, point AttachmentPoint, assertions []Assertion) ([]Evidence, error) {
	evidence := make([]Evidence, 0, len(assertions))
	for _, a := range assertions {
		e, err := r.Run(ctx, point, a)
		evidence = append(evidence, e)
		if err != nil {
			return evidence, err
		}
	}
	return evidence, nil
}

// Gate runs commit only when all assertions pass and ctx still holds.
func (r *Runner) Gate(ctx context.Context, point AttachmentPoint, assertions []Assertion, commit func(context.Context) error) ([]Evidence, error) {
	evidence, err := r.RunAll(ctx, point, assertions)
	if err != nil {
		return evidence, err
	}
	if err := ctx.Err(); err != nil {
		return evidence, fmt.Errorf("datastate: not committed: %w", err)
	}
	if err := commit(ctx); err != nil {
		return evidence, fmt.Errorf("datastate: committing: %w", err)
	}
	return evidence, nil
}
