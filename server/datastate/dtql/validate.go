package dtql

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Validate checks a tree as Unmarshal does, for trees that were never text: names, sources, operators, where lists,
// nulls, aggregates and stars may stand. It also refuses what databases answer differently or by chance, so that the
// same document means the same on all of them.
func Validate(doc *Document) error {
	return placed(func(path *Path) error { return (&validator{}).document(doc, path, nil, 1) })
}

// A scope holds the sources that fields may name, the nearest document's first.
type scope struct {
	up      *scope
	sources []string
}

func (s *scope) has(source string) bool {
	for ; s != nil; s = s.up {
		if contains(s.sources, source) {
			return true
		}
	}
	return false
}

func (s *scope) known() string {
	var all []string
	for ; s != nil; s = s.up {
		all = append(all, s.sources...)
	}
	return strings.Join(all, ", ")
}

// A validator carries what is true where it is; it is copied, never changed, on the way down.
type validator struct {
	scope      *scope
	aggregates bool // may stand here
	list       bool // may stand here: the right of In
	depth      int  // of calculations in one another
}

func (v *validator) document(doc *Document, path *Path, around *scope, depth int) error {
	if doc == nil {
		return path.is("is required")
	}
	if depth > MaxDepth {
		return path.err("document is nested deeper than %d", MaxDepth)
	}
	if !utf8.ValidString(doc.As) {
		return path.Key("as").is("is not UTF-8")
	}
	in := &validator{scope: &scope{up: around}}
	if err := in.from(&doc.From, path.Key("from")); err != nil {
		return err
	}
	return in.clauses(doc, path, depth)
}

func (v *validator) from(from *From, path *Path) error {
	if err := named(from, path); err != nil {
		return err
	}
	v.scope.sources = append(v.scope.sources, from.Source())
	for i := range from.Joins {
		join, place := &from.Joins[i], path.Key("joins").Index(i)
		if t := join.Type; t != "" && t != InnerJoin && t != LeftJoin {
			return place.Key("type").err("unknown join type %q (want inner or left)", shorten(string(t)))
		}
		if err := named(&join.From, place.Key("from")); err != nil {
			return err
		}
		if len(join.From.Joins) > 0 {
			return place.Key("from").Key("joins").unsupported("joins inside a join")
		}
		if source := join.From.Source(); contains(v.scope.sources, source) {
			return place.Key("from").err("source %q is there twice: give one an alias", shorten(source))
		}
		v.scope.sources = append(v.scope.sources, join.From.Source())
		if len(join.On) == 0 {
			return place.Key("on").is("must have at least one element")
		}
		for j, on := range join.On {
			if err := v.on(on, place.Key("on").Index(j)); err != nil {
				return err
			}
		}
	}
	return nil
}

// named checks the names of a source.
func named(from *From, path *Path) error {
	switch {
	case from.Name == "":
		return path.Key("name").is("is required")
	case !utf8.ValidString(from.Name):
		return path.Key("name").is("is not UTF-8")
	case !utf8.ValidString(from.Schema):
		return path.Key("schema").is("is not UTF-8")
	case !utf8.ValidString(from.Alias):
		return path.Key("alias").is("is not UTF-8")
	}
	return nil
}

func (v *validator) on(on On, path *Path) error {
	for _, side := range []struct {
		key   string
		field Field
	}{{"left", on.Left}, {"right", on.Right}} {
		if side.field.Source == "" {
			return path.Key(side.key).Key("source").is("is required")
		}
		if err := v.field(side.field, path.Key(side.key)); err != nil {
			return err
		}
	}
	return nil
}

// clauses checks everything but from.
func (v *validator) clauses(doc *Document, path *Path, depth int) error {
	if doc.Where != nil {
		if err := v.condition(doc.Where, path.Key("where"), depth); err != nil {
			return err
		}
	}
	for i, expr := range doc.GroupBy {
		place := path.Key("groupBy").Index(i)
		if err := v.expr(expr, place); err != nil {
			return err
		}
		// GROUP BY 1 is the first column to some databases.
		if !namesField(expr) {
			return place.err("a key of the group must name a field")
		}
	}
	folded := &validator{scope: v.scope, aggregates: true}
	if err := folded.columns(doc, path.Key("columns")); err != nil {
		return err
	}
	if doc.Having != nil {
		if err := folded.condition(doc.Having, path.Key("having"), depth); err != nil {
			return err
		}
	}
	for i, order := range doc.OrderBy {
		place := path.Key("orderBy").Index(i)
		if err := folded.order(order.Expr, doc.Columns, place); err != nil {
			return err
		}
	}
	if doc.Limit < 0 {
		return path.Key("limit").is("must be an integer of 0 or more, not %d", doc.Limit)
	}
	if doc.Offset < 0 {
		return path.Key("offset").is("must be an integer of 0 or more, not %d", doc.Offset)
	}
	return v.groups(doc, path)
}

func (v *validator) columns(doc *Document, path *Path) error {
	names := make(map[string]bool, len(doc.Columns))
	for i, column := range doc.Columns {
		place := path.Index(i)
		if w := column.Wildcard; w != nil {
			if column.Expr != nil || column.As != "" {
				return place.err("a wildcard stands alone in its column")
			}
			if w.Source != "" && !contains(v.scope.sources, w.Source) {
				return place.Key("wildcard").Key("source").err("unknown source %q (known here: %s)", shorten(w.Source), strings.Join(v.scope.sources, ", "))
			}
			for j, name := range w.Exclude {
				if !utf8.ValidString(name) {
					return place.Key("wildcard").Key("exclude").Index(j).is("is not UTF-8")
				}
			}
			continue
		}
		if !utf8.ValidString(column.As) {
			return place.Key("as").is("is not UTF-8")
		}
		if err := v.expr(column.Expr, place); err != nil {
			return err
		}
		name := column.Name()
		switch {
		case name == "":
			return place.err("a column that is no field needs a name: set as")
		case names[name]:
			return place.err("column %q is there twice: set as", shorten(name))
		}
		names[name] = true
	}
	return nil
}

// order checks a key of the order; it may name a column of the result too, which hides a field of that name.
func (v *validator) order(expr Expr, columns []Column, path *Path) error {
	if field, ok := expr.(Field); ok && namesColumn(columns, field) {
		return nil
	}
	if err := v.expr(expr, path); err != nil {
		return err
	}
	// ORDER BY 1 is the first column to every database, and ORDER BY a value is no order at all.
	if !namesField(expr) && !hasAggregate(expr) {
		return path.err("a key of the order must name a field")
	}
	return nil
}

func namesColumn(columns []Column, field Field) bool {
	for _, column := range columns {
		if field.Source == "" && column.Wildcard == nil && column.Name() == field.Name {
			return true
		}
	}
	return false
}

func (v *validator) condition(condition Condition, path *Path, depth int) error {
	if depth > MaxDepth {
		return path.err("document is nested deeper than %d", MaxDepth)
	}
	switch c := condition.(type) {
	case Comparison:
		return v.comparison(c, path)
	case And:
		return v.group(c, path, "and", depth)
	case Or:
		return v.group(c, path, "or", depth)
	case IsNull:
		return v.expr(c.Expr, path.Key("isNull"))
	case IsNotNull:
		return v.expr(c.Expr, path.Key("isNotNull"))
	case Exists:
		return v.document(c.Query, path.Key("exists").Key("query"), v.scope, depth+1)
	case NotExists:
		return v.document(c.Query, path.Key("notExists").Key("query"), v.scope, depth+1)
	}
	return path.err("condition must be a comparison (op/left/right) or a group (and/or)")
}

func (v *validator) group(conditions []Condition, path *Path, key string, depth int) error {
	if len(conditions) == 0 {
		return path.err("group must have at least one condition")
	}
	for i, condition := range conditions {
		if err := v.condition(condition, path.Key(key).Index(i), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (v *validator) comparison(c Comparison, path *Path) error {
	if !c.Op.known() {
		return path.err("unknown comparison operator %q", shorten(string(c.Op)))
	}
	if c.Left == nil || c.Right == nil {
		return path.err("comparison requires both left and right")
	}
	if err := v.expr(c.Left, path.Key("left")); err != nil {
		return err
	}
	right := *v
	right.list = c.Op == In
	if err := right.expr(c.Right, path.Key("right")); err != nil {
		return err
	}
	if c.Op == In {
		switch c.Right.(type) {
		case Values, Param:
			return nil
		}
		return path.Key("right").err("In wants values, or a param that is a list, on the right")
	}
	if c.Op != Equal && (isNull(c.Left) || isNull(c.Right)) {
		return path.err("%s with null never holds; only == (or isNull) asks for null", c.Op)
	}
	return nil
}

func isNull(expr Expr) bool {
	value, ok := expr.(Value)
	return ok && value.V == nil
}

func (op Op) known() bool {
	switch op {
	case Equal, In, Greater, GreaterOrEqual, Less, LessOrEqual:
		return true
	}
	return false
}

// literal checks one value of a tree that may never have been text.
func literal(value any) error {
	switch value := value.(type) {
	case nil, bool:
		return nil
	case string:
		if !utf8.ValidString(value) {
			return errors.New("text is not UTF-8")
		}
		return nil
	case json.Number:
		if isNumber(string(value)) && sensible(string(value)) {
			return nil
		}
		return fmt.Errorf("%s is not a number", shorten(string(value)))
	}
	return fmt.Errorf("a value is nil, a bool, a string or a json.Number, not a %T", value)
}
