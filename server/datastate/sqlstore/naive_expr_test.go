package sqlstore_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"

	"chatwright.dev/tray/server/datastate/dtql"
)

// expr is the value of an expression for a group of rows: of the one row that a plain query has, else of its first.
func (n naive) expr(expr dtql.Expr, group []*environment) any {
	switch e := expr.(type) {
	case dtql.Field:
		if len(group) == 0 {
			return nil
		}
		return group[0].field(e)
	case dtql.Value:
		if v, ok := e.V.(json.Number); ok {
			return parsed(v)
		}
		return e.V
	case dtql.Aggregate:
		return n.aggregate(e, group)
	case dtql.Binary:
		return n.binary(e, group)
	}
	panic(fmt.Sprintf("%T", expr))
}

func (n naive) binary(e dtql.Binary, group []*environment) any {
	l, r := n.expr(e.Left, group), n.expr(e.Right, group)
	if l == nil || r == nil {
		return nil
	}
	left, right := l.(number), r.(number)
	_, literal := e.Right.(dtql.Value)
	beside := left.exact != nil && left.scale < 0 && right.scale >= 0 && literal // a fraction beside an integer
	folded := left.folded || right.folded
	if e.Op == dtql.Divide {
		if right.float() == 0 {
			return nil
		}
		return number{double: left.float() / right.float(), folded: folded}
	}
	if left.exact == nil || right.exact == nil || beside {
		a, b := left.float(), right.float()
		switch e.Op {
		case dtql.Add:
			a += b
		case dtql.Subtract:
			a -= b
		default:
			a *= b
		}
		return number{double: a, folded: folded}
	}
	result := number{exact: new(big.Rat), scale: max(left.scale, right.scale)}
	switch e.Op {
	case dtql.Add:
		result.exact.Add(left.exact, right.exact)
	case dtql.Subtract:
		result.exact.Sub(left.exact, right.exact)
	default:
		result.exact.Mul(left.exact, right.exact)
		if result.scale >= 0 {
			result.scale = max(left.scale, 0) + max(right.scale, 0)
		}
	}
	return result
}

func (n naive) aggregate(e dtql.Aggregate, group []*environment) any {
	if _, star := e.Args[0].(dtql.Star); star {
		return integer(int64(len(group)))
	}
	var values []any
	for _, env := range group {
		v := n.expr(e.Args[0], []*environment{env})
		if v == nil || e.Distinct && slices.ContainsFunc(values, func(have any) bool { return compare(have, v) == 0 }) {
			continue
		}
		values = append(values, v)
	}
	switch {
	case e.Function == dtql.Count:
		return integer(int64(len(values)))
	case len(values) == 0:
		return nil
	case e.Function == dtql.Min:
		return slices.MinFunc(values, compare)
	case e.Function == dtql.Max:
		return slices.MaxFunc(values, compare)
	}
	sum := values[0].(number)
	total := 0.0
	for i, v := range values {
		v := v.(number)
		total += v.float()
		if i > 0 && sum.exact != nil {
			sum.exact = new(big.Rat).Add(sum.exact, v.exact)
		}
	}
	switch {
	case e.Function == dtql.Avg:
		return number{double: total / float64(len(values)), folded: true}
	case sum.exact == nil:
		return number{double: total, folded: true}
	}
	return sum
}
