// Package datastate proves what an application stored, not what its bot said. An Assertion names a holder (a database
// that was configured by name), a query in DTQL and an Expectation of its rows; a Runner executes it and returns
// Evidence: a bounded, redacted account that may leave the machine.
//
// The package knows no database and no query language of its own: an Executor does. Rows are compared by value, so
// JSON's 5, an int64 5 and 5.0 are the same number, and everything that is printed or ordered is the same on every run.
package datastate

import (
	"context"
	"errors"
)

// Row is one row of a result: column names to values. A value is nil, a bool, a string, a number (any Go number or a
// json.Number), a list, a map, or anything that encoding/json can write.
type Row = map[string]any

// Query is one read-only query with the values that are bound to its params.
type Query struct {
	DTQL   string
	Params map[string]any
}

// Handles are the registered holders: name to what the Executor needs to reach each.
type Handles map[string]any

// Executor runs a query on one holder. It must not be asked to change data, and its rows stay its own: the Runner
// never writes to them.
type Executor interface {
	Execute(ctx context.Context, handle any, query Query) ([]Row, error)
}

// AttachmentPoint says at which moment of a conversation an assertion is checked.
type AttachmentPoint string

// The attachment points.
const (
	AfterMessage     AttachmentPoint = "after-message"
	Checkpoint       AttachmentPoint = "checkpoint"
	BranchCompletion AttachmentPoint = "branch-completion"
)

func (p AttachmentPoint) valid() bool {
	return p == AfterMessage || p == Checkpoint || p == BranchCompletion
}

// Outcome is how an assertion ended. A query that did not run is a failure, never a pass.
type Outcome string

// The outcomes.
const (
	Passed Outcome = "passed"
	Failed Outcome = "failed"
)

// Normalization prepares rows for comparison.
type Normalization struct {
	// SortKeys order the rows by these columns, numbers by value. Empty: by canonical JSON.
	SortKeys []string
	// ExcludedFields leave the comparison (and the order), but never the evidence: timestamps, generated ids.
	ExcludedFields []string
	// KeepOrder leaves rows as the query orders them, for a person who asked for an order and wants to see it. A query
	// that orders nothing, and SortKeys, are not touched by it. Whether rows are as expected never depends on their order.
	KeepOrder bool
}

// Assertion is one claim about stored data.
type Assertion struct {
	Name          string
	Holder        string // may be empty when exactly one holder is registered
	Query         Query
	Normalization Normalization
	Redact        []string    // fields, at any depth, whose values never leave: evidence and our failure texts show RedactedValue
	Claims        []Claim     // all have to hold; of a Selector, those about the number of rows hold for all there are
	Expect        Expectation // looked at after Claims, and only with all rows; nil: nothing more is wanted
}

// What Run, RunAll and Gate fail with, wrapped with the particulars. The texts are part of the wire contract.
var (
	ErrNilExecutor            = errors.New("datastate: executor is nil")
	ErrEmptyQuery             = errors.New("datastate: query is empty")
	ErrNoHolders              = errors.New("datastate: no holders are registered")
	ErrUnknownHolder          = errors.New("datastate: unknown holder")
	ErrAmbiguousHolder        = errors.New("datastate: holder name is required when more than one holder is registered")
	ErrAssertionFailed        = errors.New("datastate: assertion failed")
	ErrUnknownAttachmentPoint = errors.New("datastate: unknown attachment point")
)
