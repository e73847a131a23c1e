package sqlstore_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"chatwright.dev/tray/server/datastate"
	"chatwright.dev/tray/server/datastate/dtql"
)

// The naive evaluator: what a document means, on rows in memory, by nested loops. It shares no line with the store.

// A number is exact, as integers and decimals are, or a double.
type number struct {
	exact  *big.Rat // nil: double counts
	double float64
	scale  int  // of a decimal; -1: an integer
	folded bool // a double that was made of many
}

func integer(n int64) number { return number{exact: new(big.Rat).SetInt64(n), scale: -1} }

func (n number) float() float64 {
	if n.exact == nil {
		return n.double
	}
	f, _ := n.exact.Float64()
	return f
}

// json is how rows show it.
func (n number) json() any {
	switch {
	case n.exact == nil && n.folded:
		f, _ := strconv.ParseFloat(strconv.FormatFloat(n.double, 'g', 14, 64), 64)
		return f
	case n.exact == nil:
		return n.double
	case n.scale < 0:
		return json.Number(n.exact.Num().String())
	}
	return n.exact.FloatString(n.scale)
}

type memoryTable struct {
	name    string
	columns []string
	rows    []map[string]any // nil, bool, string, time.Time or number
}

// An environment is one row of each source, and those of the documents around.
type environment struct {
	up    *environment
	names []string
	rows  []map[string]any
}

func (e *environment) field(f dtql.Field) any {
	for at := e; at != nil; at = at.up {
		for i, name := range at.names {
			if f.Source != "" && f.Source != name {
				continue
			}
			if at.rows[i] == nil { // of a left join
				if f.Source != "" {
					return nil
				}
				continue
			}
			if v, ok := at.rows[i][f.Name]; ok {
				return v
			}
		}
	}
	return nil
}

type naive struct{ tables map[string]memoryTable }

// run returns all rows of a document in their order, before limit and offset are applied, and after.
func (n naive) run(doc *dtql.Document, up *environment) []datastate.Row {
	envs := n.from(doc, up)
	envs = slices.DeleteFunc(envs, func(e *environment) bool { return doc.Where != nil && n.condition(doc.Where, []*environment{e}) != yes })
	groups := make([][]*environment, 0, len(envs))
	if folded := len(doc.GroupBy) > 0 || doc.Having != nil || slices.ContainsFunc(doc.Columns, func(c dtql.Column) bool { _, is := c.Expr.(dtql.Aggregate); return is }); folded {
		groups = n.groups(doc, envs)
	} else {
		for _, e := range envs {
			groups = append(groups, []*environment{e})
		}
	}
	type keyed struct {
		row  datastate.Row
		keys []any
	}
	var list []keyed
	for _, group := range groups {
		if doc.Having != nil && n.condition(doc.Having, group) != yes {
			continue
		}
		k := keyed{row: datastate.Row{}}
		for _, column := range doc.Columns {
			k.row[column.Name()] = shown(n.expr(column.Expr, group))
		}
		for _, order := range doc.OrderBy {
			k.keys = append(k.keys, n.expr(order.Expr, group))
		}
		for _, expr := range doc.GroupBy {
			k.keys = append(k.keys, n.expr(expr, group))
		}
		if len(group) > 0 && len(doc.GroupBy) == 0 {
			for i := range group[0].rows {
				k.keys = append(k.keys, group[0].rows[i]["id"])
			}
		}
		list = append(list, k)
	}
	slices.SortStableFunc(list, func(a, b keyed) int {
		for i := range a.keys {
			c := compareNulls(a.keys[i], b.keys[i])
			if i < len(doc.OrderBy) && doc.OrderBy[i].Desc {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
	rows := []datastate.Row{}
	for _, k := range list {
		rows = append(rows, k.row)
	}
	rows = rows[min(int(doc.Offset), len(rows)):]
	if doc.Limit > 0 {
		rows = rows[:min(int(doc.Limit), len(rows))]
	}
	return rows
}

func (n naive) from(doc *dtql.Document, up *environment) []*environment {
	var envs []*environment
	for _, row := range n.tables[doc.From.Name].rows {
		envs = append(envs, &environment{up, []string{doc.From.Source()}, []map[string]any{row}})
	}
	for _, join := range doc.From.Joins {
		var joined []*environment
		for _, e := range envs {
			found := false
			for _, row := range append(slices.Clone(n.tables[join.From.Name].rows), nil) {
				if row == nil && (found || join.Type != dtql.LeftJoin) {
					continue
				}
				next := &environment{up, append(slices.Clone(e.names), join.From.Source()), append(slices.Clone(e.rows), row)}
				if row != nil && slices.ContainsFunc(join.On, func(on dtql.On) bool {
					return equal(next.field(on.Left), next.field(on.Right)) != yes
				}) {
					continue
				}
				found = true
				joined = append(joined, next)
			}
		}
		envs = joined
	}
	return envs
}

func (n naive) groups(doc *dtql.Document, envs []*environment) [][]*environment {
	if len(doc.GroupBy) == 0 {
		return [][]*environment{envs}
	}
	byKey := map[string][]*environment{}
	for _, e := range envs {
		var key strings.Builder
		for _, expr := range doc.GroupBy {
			fmt.Fprintf(&key, "%T %v|", n.expr(expr, []*environment{e}), shown(n.expr(expr, []*environment{e})))
		}
		byKey[key.String()] = append(byKey[key.String()], e)
	}
	var groups [][]*environment
	for _, group := range byKey {
		groups = append(groups, group)
	}
	return groups
}

func shown(v any) any {
	switch v := v.(type) {
	case number:
		return v.json()
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	}
	return v
}

// truth has three values, as in SQL.
type truth int

const (
	no truth = iota
	unknown
	yes
)

func of(b bool) truth {
	if b {
		return yes
	}
	return no
}

func (n naive) condition(c dtql.Condition, group []*environment) truth {
	switch c := c.(type) {
	case dtql.And:
		result := yes
		for _, part := range c {
			result = min(result, n.condition(part, group))
		}
		return result
	case dtql.Or:
		result := no
		for _, part := range c {
			result = max(result, n.condition(part, group))
		}
		return result
	case dtql.IsNull:
		return of(n.expr(c.Expr, group) == nil)
	case dtql.IsNotNull:
		return of(n.expr(c.Expr, group) != nil)
	case dtql.Exists:
		return of(len(n.run(c.Query, group[0])) > 0)
	case dtql.NotExists:
		return of(len(n.run(c.Query, group[0])) == 0)
	case dtql.Comparison:
		return n.comparison(c, group)
	}
	panic(fmt.Sprintf("%T", c))
}

func (n naive) comparison(c dtql.Comparison, group []*environment) truth {
	left := n.expr(c.Left, group)
	if c.Op == dtql.In {
		result := no
		for _, v := range c.Right.(dtql.Values) {
			result = max(result, equal(left, literalOf(v, left)))
		}
		return result
	}
	right := n.expr(c.Right, group)
	if value, ok := c.Right.(dtql.Value); ok {
		if value.V == nil {
			return of(left == nil)
		}
		right = literalOf(value.V, left)
	}
	if left == nil || right == nil {
		return unknown
	}
	order := compare(left, right)
	switch c.Op {
	case dtql.Equal:
		return of(order == 0)
	case dtql.Greater:
		return of(order > 0)
	case dtql.GreaterOrEqual:
		return of(order >= 0)
	case dtql.Less:
		return of(order < 0)
	}
	return of(order <= 0)
}

// literalOf is a literal as what it is compared with.
func literalOf(v, beside any) any {
	if text, ok := v.(string); ok {
		if _, is := beside.(time.Time); is {
			at, err := time.Parse(time.RFC3339Nano, text)
			if err != nil {
				panic(err)
			}
			return at
		}
		return text
	}
	if n, ok := v.(json.Number); ok {
		return parsed(n)
	}
	return v
}

func parsed(n json.Number) number {
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		panic(n)
	}
	if r.IsInt() {
		return number{exact: r, scale: -1}
	}
	_, fraction, _ := strings.Cut(string(n), ".")
	return number{exact: r, scale: len(fraction)}
}

func equal(a, b any) truth {
	if a == nil || b == nil {
		return unknown
	}
	return of(compare(a, b) == 0)
}

func compareNulls(a, b any) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return compare(a, b)
}

func compare(a, b any) int {
	switch a := a.(type) {
	case string:
		return strings.Compare(a, b.(string))
	case time.Time:
		return a.Compare(b.(time.Time))
	case bool:
		return cmp.Compare(of(a), of(b.(bool)))
	case number:
		b := b.(number)
		if a.exact != nil && b.exact != nil {
			return a.exact.Cmp(b.exact)
		}
		return cmp.Compare(a.float(), b.float())
	}
	panic(fmt.Sprintf("%T", a))
}
