package dtql

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
)

// maxList bounds a list that is bound to a param: databases take some tens of thousands of values in a statement.
const maxList = 10_000

// Bind returns a copy of a valid document in which every Param is a Value, or Values where it is the right of In.
// Every param needs a value and every value a param. A value is nil, a bool, a string, any Go number but NaN and the
// infinities, a json.Number, or a slice of these. The document stays as it is.
func Bind(doc *Document, params map[string]any) (*Document, error) {
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if !isDotted(name) {
			return nil, &Error{Message: fmt.Sprintf("param name %q is not a dotted identifier", shorten(name))}
		}
	}
	var bound *Document
	used := make(map[string]bool, len(params))
	err := placed(func(path *Path) error {
		b := binder{params: params, used: used}
		bound = b.document(doc, path)
		return b.err
	})
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if !used[name] {
			return nil, &Error{Message: fmt.Sprintf("param %q is not used", shorten(name))}
		}
	}
	if err := Validate(bound); err != nil {
		return nil, err
	}
	return bound, nil
}

// Params are the names of the params of a document, sorted, each once.
func Params(doc *Document) []string {
	b := binder{collect: true, used: map[string]bool{}}
	b.document(doc, nil)
	return slices.Sorted(maps.Keys(b.used))
}

// A binder copies a tree and replaces its params on the way.
type binder struct {
	params  map[string]any
	used    map[string]bool
	collect bool // only look for the names
	err     error
}

func (b *binder) document(doc *Document, path *Path) *Document {
	if doc == nil {
		return nil
	}
	bound := *doc
	bound.Where = b.condition(doc.Where, path.Key("where"))
	bound.GroupBy = b.exprs(doc.GroupBy, path.Key("groupBy"))
	bound.Having = b.condition(doc.Having, path.Key("having"))
	bound.OrderBy = slices.Clone(doc.OrderBy)
	for i := range bound.OrderBy {
		bound.OrderBy[i].Expr = b.expr(doc.OrderBy[i].Expr, path.Key("orderBy").Index(i), false)
	}
	bound.Columns = slices.Clone(doc.Columns)
	for i := range bound.Columns {
		bound.Columns[i].Expr = b.expr(doc.Columns[i].Expr, path.Key("columns").Index(i), false)
	}
	return &bound
}

func (b *binder) condition(condition Condition, path *Path) Condition {
	switch c := condition.(type) {
	case Comparison:
		c.Left = b.expr(c.Left, path.Key("left"), false)
		c.Right = b.expr(c.Right, path.Key("right"), c.Op == In)
		return c
	case And:
		return And(b.conditions(c, path.Key("and")))
	case Or:
		return Or(b.conditions(c, path.Key("or")))
	case IsNull:
		return IsNull{b.expr(c.Expr, path.Key("isNull"), false)}
	case IsNotNull:
		return IsNotNull{b.expr(c.Expr, path.Key("isNotNull"), false)}
	case Exists:
		return Exists{b.document(c.Query, path.Key("exists").Key("query"))}
	case NotExists:
		return NotExists{b.document(c.Query, path.Key("notExists").Key("query"))}
	}
	return condition
}

func (b *binder) conditions(conditions []Condition, path *Path) []Condition {
	bound := make([]Condition, len(conditions))
	for i, condition := range conditions {
		bound[i] = b.condition(condition, path.Index(i))
	}
	return bound
}

func (b *binder) exprs(exprs []Expr, path *Path) []Expr {
	if exprs == nil {
		return nil
	}
	bound := make([]Expr, len(exprs))
	for i, expr := range exprs {
		bound[i] = b.expr(expr, path.Index(i), false)
	}
	return bound
}

func (b *binder) expr(expr Expr, path *Path, list bool) Expr {
	switch e := expr.(type) {
	case Param:
		return b.param(e, path, list)
	case Aggregate:
		e.Args = b.exprs(e.Args, path.Key("aggregate").Key("args"))
		return e
	case Binary:
		path = path.Key("binary")
		e.Left, e.Right = b.expr(e.Left, path.Key("left"), false), b.expr(e.Right, path.Key("right"), false)
		return e
	}
	return expr
}

func (b *binder) param(param Param, path *Path, list bool) Expr {
	b.used[param.Name] = true
	if b.collect || b.err != nil {
		return param
	}
	value, ok := b.params[param.Name]
	if !ok {
		b.err = path.err("param %q is not bound", shorten(param.Name))
		return param
	}
	var expr Expr
	var err error
	if list {
		expr, err = listOf(value)
	} else {
		var v any
		v, err = Scalar(value)
		expr = Value{v}
	}
	if err != nil {
		b.err = path.err("param %q: %s", shorten(param.Name), err)
	}
	return expr
}

func listOf(value any) (Values, error) {
	v := reflect.ValueOf(value)
	if !v.IsValid() || v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
		return nil, fmt.Errorf("In wants a list, not %s", kindOf(value))
	}
	if v.Len() > maxList {
		return nil, fmt.Errorf("a list of %d values is over %d", v.Len(), maxList)
	}
	values := make(Values, v.Len())
	for i := range values {
		element, err := Scalar(v.Index(i).Interface())
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		values[i] = element
	}
	return values, nil
}

// Scalar is value as a Value holds it: nil, bool, string or json.Number, which keeps all digits.
func Scalar(value any) (any, error) {
	switch v := value.(type) {
	case nil, bool, string, json.Number:
		return v, literal(v)
	}
	v := reflect.ValueOf(value)
	switch {
	case v.Kind() == reflect.String:
		return v.String(), literal(v.String())
	case v.Kind() == reflect.Bool:
		return v.Bool(), nil
	case v.CanInt():
		return json.Number(strconv.FormatInt(v.Int(), 10)), nil
	case v.CanUint():
		return json.Number(strconv.FormatUint(v.Uint(), 10)), nil
	case v.CanFloat():
		if math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0) {
			return nil, fmt.Errorf("%v is not a number that data can be compared with", value)
		}
		return json.Number(strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits())), nil
	}
	return nil, fmt.Errorf("want a scalar, not %s", kindOf(value))
}

func kindOf(value any) string {
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.Invalid:
		return "null"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a mapping"
	}
	return "a " + v.Kind().String()
}

// isDotted reports whether name is identifiers with dots between them.
func isDotted(name string) bool {
	start := true
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z', !start && c >= '0' && c <= '9':
			start = false
		case c == '.' && !start:
			start = true
		default:
			return false
		}
	}
	return !start
}
