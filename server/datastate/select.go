package datastate

import "context"

// A Selector is an Executor on data that may be too large to be read whole: a database. It reads no more rows than it
// is asked for and has the database count the others.
type Selector interface {
	Executor
	// Select returns at most most rows of the query, in its order, and how many there are.
	Select(ctx context.Context, handle any, query Query, most int) (Result, error)
}

// Result is what a query gave.
type Result struct {
	Rows  []Row
	Total int // of the query; more than len(Rows): the others were counted, not read
	// Collation is by which rule the database compared texts in this query; "": it compared none, or the rule is not known.
	Collation string
	// Canonical is the query as evidence keeps it: however it was written, the same query is the same text. "": as it came.
	Canonical string
	// Ordered says that the query itself puts its rows in order.
	Ordered bool
}

func (r Result) unread() int { return r.Total - len(r.Rows) }

// query runs a query on the holder and reads as many rows as are going to be looked at.
func (r *Runner) query(ctx context.Context, holder string, q Query, most int) (Result, error) {
	if selector, ok := r.executor.(Selector); ok {
		return selector.Select(ctx, r.handles[holder], q, most)
	}
	rows, err := r.executor.Execute(ctx, r.handles[holder], q)
	return Result{Rows: rows, Total: len(rows)}, err
}
