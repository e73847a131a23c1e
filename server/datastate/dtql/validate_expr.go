package dtql

import (
	"slices"
	"unicode/utf8"
)

func (v *validator) expr(expr Expr, path *Path) error {
	if v.depth > MaxDepth {
		return path.err("document is nested deeper than %d", MaxDepth)
	}
	switch e := expr.(type) {
	case Field:
		return v.field(e, path)
	case Value:
		if err := literal(e.V); err != nil {
			return path.Key("value").err("%s", err)
		}
		return nil
	case Values:
		return v.values(e, path)
	case Param:
		if !isDotted(e.Name) {
			return path.Key("param").err("%q is not a dotted identifier", shorten(e.Name))
		}
		return nil
	case Star:
		return path.err("star stands only as the argument of count")
	case Aggregate:
		return v.aggregate(e, path.Key("aggregate"))
	case Binary:
		return v.binary(e, path.Key("binary"))
	}
	return path.err("expression must set exactly one of field, value or values")
}

func (v *validator) field(field Field, path *Path) error {
	if field.Name == "" {
		return path.Key("field").is("is required")
	}
	if !utf8.ValidString(field.Name) {
		return path.Key("field").is("is not UTF-8")
	}
	if field.Source != "" && !v.scope.has(field.Source) {
		return path.Key("source").err("unknown source %q (known here: %s)", shorten(field.Source), v.scope.known())
	}
	return nil
}

func (v *validator) values(values Values, path *Path) error {
	if !v.list {
		return path.Key("values").err("a list stands only on the right of In")
	}
	for i, value := range values {
		place := path.Key("values").Index(i)
		if value == nil {
			return place.err("null is never in a list; ask for it with isNull")
		}
		if err := literal(value); err != nil {
			return place.err("%s", err)
		}
	}
	return nil
}

func (v *validator) aggregate(a Aggregate, path *Path) error {
	switch a.Function {
	case Count, Sum, Avg, Min, Max:
	case "first", "last":
		return path.Key("function").unsupported(string(a.Function))
	default:
		return path.Key("function").err("unknown aggregate %q (want count, sum, avg, min or max)", shorten(string(a.Function)))
	}
	if !v.aggregates {
		return path.err("an aggregate stands only in columns, having and orderBy, and in no other aggregate")
	}
	if len(a.Args) != 1 {
		return path.Key("args").is("must have exactly one element")
	}
	if _, star := a.Args[0].(Star); star && a.Function == Count && !a.Distinct {
		return nil
	}
	inner := *v
	inner.aggregates, inner.list = false, false
	return inner.expr(a.Args[0], path.Key("args").Index(0))
}

func (v *validator) binary(b Binary, path *Path) error {
	switch b.Op {
	case Add, Subtract, Multiply, Divide:
	default:
		return path.err("unknown arithmetic operator %q", shorten(string(b.Op)))
	}
	inner := *v
	inner.list = false
	inner.depth++
	if err := inner.expr(b.Left, path.Key("left")); err != nil {
		return err
	}
	return inner.expr(b.Right, path.Key("right"))
}

// groups holds every expression of the result of a grouped query against the groups: some databases give the value of
// any row for a field that is no key of the group, others refuse, and neither proves anything.
func (v *validator) groups(doc *Document, path *Path) error {
	grouped := len(doc.GroupBy) > 0
	for _, column := range doc.Columns {
		grouped = grouped || hasAggregate(column.Expr)
	}
	if !grouped {
		for i, order := range doc.OrderBy {
			if hasAggregate(order.Expr) {
				return path.Key("orderBy").Index(i).err("an aggregate in the order needs groupBy or an aggregate in columns")
			}
		}
		if doc.Having != nil {
			return path.Key("having").is("needs groupBy or an aggregate in columns")
		}
		return nil
	}
	if len(doc.Columns) == 0 {
		return path.Key("columns").is("is required with groupBy")
	}
	g := grouping{v, doc.GroupBy}
	for i, column := range doc.Columns {
		place := path.Key("columns").Index(i)
		if column.Wildcard != nil {
			return place.err("a wildcard does not go with groups")
		}
		if err := g.expr(column.Expr, place); err != nil {
			return err
		}
	}
	for i, order := range doc.OrderBy {
		if field, ok := order.Expr.(Field); ok && namesColumn(doc.Columns, field) {
			continue
		}
		if err := g.expr(order.Expr, path.Key("orderBy").Index(i)); err != nil {
			return err
		}
	}
	return g.condition(doc.Having, path.Key("having"))
}

type grouping struct {
	v    *validator
	keys []Expr
}

func (g grouping) expr(expr Expr, path *Path) error {
	if slices.ContainsFunc(g.keys, func(key Expr) bool { return g.same(key, expr) }) {
		return nil
	}
	switch e := expr.(type) {
	case Field:
		if e.Source == "" || contains(g.v.scope.sources, e.Source) {
			return path.err("field %q is neither in groupBy nor in an aggregate", shorten(e.Name))
		}
	case Binary:
		if err := g.expr(e.Left, path.Key("binary").Key("left")); err != nil {
			return err
		}
		return g.expr(e.Right, path.Key("binary").Key("right"))
	}
	return nil
}

func (g grouping) condition(condition Condition, path *Path) error {
	switch c := condition.(type) {
	case Comparison:
		if err := g.expr(c.Left, path.Key("left")); err != nil {
			return err
		}
		return g.expr(c.Right, path.Key("right"))
	case And:
		return g.all(c, path.Key("and"))
	case Or:
		return g.all(c, path.Key("or"))
	case IsNull:
		return g.expr(c.Expr, path.Key("isNull"))
	case IsNotNull:
		return g.expr(c.Expr, path.Key("isNotNull"))
	}
	return nil
}

func (g grouping) all(conditions []Condition, path *Path) error {
	for i, condition := range conditions {
		if err := g.condition(condition, path.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// same compares two expressions; where there is one source only, naming it makes no difference.
func (g grouping) same(a, b Expr) bool {
	switch a := a.(type) {
	case Field:
		b, ok := b.(Field)
		if ok && len(g.v.scope.sources) == 1 {
			a.Source, b.Source = g.only(a.Source), g.only(b.Source)
		}
		return ok && a == b
	case Value:
		b, ok := b.(Value)
		return ok && a == b
	case Param:
		b, ok := b.(Param)
		return ok && a == b
	case Binary:
		b, ok := b.(Binary)
		return ok && a.Op == b.Op && g.same(a.Left, b.Left) && g.same(a.Right, b.Right)
	}
	return false
}

func (g grouping) only(source string) string {
	if source == "" {
		return g.v.scope.sources[0]
	}
	return source
}

func namesField(expr Expr) bool {
	switch e := expr.(type) {
	case Field:
		return true
	case Binary:
		return namesField(e.Left) || namesField(e.Right)
	}
	return false
}

func hasAggregate(expr Expr) bool {
	switch e := expr.(type) {
	case Aggregate:
		return true
	case Binary:
		return hasAggregate(e.Left) || hasAggregate(e.Right)
	}
	return false
}
