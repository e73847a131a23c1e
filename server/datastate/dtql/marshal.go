package dtql

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Marshal writes the canonical form of a valid document: the keys in the order of the grammar, two spaces a level, what
// is the default left out, and fields, values and params, which hold nothing else, on one line. It is written here and
// not by a YAML library, because evidence is compared byte for byte over years.
func Marshal(doc *Document) ([]byte, error) {
	if err := Validate(doc); err != nil {
		return nil, err
	}
	var w writer
	w.document(doc, 0)
	return w.b, nil
}

// A writer writes block YAML. Each method begins where its first key may stand: after the indent, or after "- ".
type writer struct{ b []byte }

// key begins a line with the key of a mapping at a level. The first key of an element follows its dash.
func (w *writer) key(level int, key string) {
	if n := len(w.b); n > 0 && w.b[n-1] == '\n' {
		w.indent(level)
	}
	w.b = append(w.b, key...)
	w.b = append(w.b, ':')
}

func (w *writer) indent(level int) {
	for range level {
		w.b = append(w.b, "  "...)
	}
}

func (w *writer) line() { w.b = append(w.b, '\n') }

// dash begins an element of a list at a level; its keys stand one level further.
func (w *writer) dash(level int) {
	w.indent(level)
	w.b = append(w.b, "- "...)
}

// text writes "key: value" unless the value is empty.
func (w *writer) text(level int, key, value string) {
	if value != "" {
		w.key(level, key)
		w.b = append(w.b, ' ')
		w.quote(value)
		w.line()
	}
}

func (w *writer) document(doc *Document, level int) {
	w.text(level, "as", doc.As)
	w.key(level, "from")
	w.line()
	w.from(&doc.From, level+1)
	if doc.Where != nil {
		w.key(level, "where")
		w.line()
		w.condition(doc.Where, level+1)
	}
	w.exprs(level, "groupBy", doc.GroupBy)
	if doc.Having != nil {
		w.key(level, "having")
		w.line()
		w.condition(doc.Having, level+1)
	}
	if len(doc.OrderBy) > 0 {
		w.key(level, "orderBy")
		w.line()
	}
	for _, order := range doc.OrderBy {
		w.dash(level + 1)
		beside := ""
		if order.Desc {
			beside = "desc: true"
		}
		w.expr(order.Expr, level+2, beside)
	}
	w.count(level, "limit", doc.Limit)
	w.count(level, "offset", doc.Offset)
	w.columns(level, doc.Columns)
}

func (w *writer) count(level int, key string, n int64) {
	if n != 0 {
		w.key(level, key)
		w.b = append(w.b, ' ')
		w.b = strconv.AppendInt(w.b, n, 10)
		w.line()
	}
}

func (w *writer) from(from *From, level int) {
	w.text(level, "name", from.Name)
	w.text(level, "schema", from.Schema)
	w.text(level, "alias", from.Alias)
	if len(from.Joins) > 0 {
		w.key(level, "joins")
		w.line()
	}
	for i := range from.Joins {
		join := &from.Joins[i]
		w.dash(level + 1)
		if join.Type == LeftJoin {
			w.text(level+2, "type", string(LeftJoin))
		}
		w.key(level+2, "from")
		w.line()
		w.from(&join.From, level+3)
		w.key(level+2, "on")
		w.line()
		for _, on := range join.On {
			w.dash(level + 3)
			w.sides(string(Equal), on.Left, on.Right, level+4)
		}
	}
}

func (w *writer) columns(level int, columns []Column) {
	if len(columns) > 0 {
		w.key(level, "columns")
		w.line()
	}
	for _, column := range columns {
		w.dash(level + 1)
		if column.Wildcard != nil {
			w.wildcard(column.Wildcard)
			continue
		}
		beside := ""
		if column.As != "" {
			beside = "as: " + quoted(column.As)
		}
		w.expr(column.Expr, level+2, beside)
	}
}

func (w *writer) wildcard(wildcard *Wildcard) {
	var members []string
	if wildcard.Source != "" {
		members = append(members, "source: "+quoted(wildcard.Source))
	}
	if len(wildcard.Exclude) > 0 {
		names := make([]string, len(wildcard.Exclude))
		for i, name := range wildcard.Exclude {
			names[i] = quoted(name)
		}
		members = append(members, "exclude: ["+strings.Join(names, ", ")+"]")
	}
	w.b = append(w.b, "wildcard: {"+strings.Join(members, ", ")+"}\n"...)
}

func (w *writer) condition(condition Condition, level int) {
	switch c := condition.(type) {
	case Comparison:
		w.sides(string(c.Op), c.Left, c.Right, level)
	case And:
		w.conditions("and", c, level)
	case Or:
		w.conditions("or", c, level)
	case IsNull:
		w.member("isNull", c.Expr, level)
	case IsNotNull:
		w.member("isNotNull", c.Expr, level)
	case Exists:
		w.query("exists", c.Query, level)
	case NotExists:
		w.query("notExists", c.Query, level)
	}
}

func (w *writer) conditions(key string, conditions []Condition, level int) {
	w.key(level, key)
	w.line()
	for _, condition := range conditions {
		w.dash(level + 1)
		w.condition(condition, level+2)
	}
}

func (w *writer) query(key string, doc *Document, level int) {
	w.key(level, key)
	w.line()
	w.key(level+1, "query")
	w.line()
	w.document(doc, level+2)
}

func (w *writer) sides(op string, left, right Expr, level int) {
	w.text(level, "op", op)
	w.member("left", left, level)
	w.member("right", right, level)
}

// member writes an expression that is the value of a key.
func (w *writer) member(key string, expr Expr, level int) {
	w.key(level, key)
	if leaf(expr) {
		w.b = append(w.b, ' ')
	} else {
		w.line()
	}
	w.expr(expr, level+1, "")
}

func (w *writer) exprs(level int, key string, exprs []Expr) {
	if len(exprs) == 0 {
		return
	}
	w.key(level, key)
	w.line()
	for _, expr := range exprs {
		w.dash(level + 1)
		w.expr(expr, level+2, "")
	}
}

func leaf(expr Expr) bool {
	switch expr.(type) {
	case Aggregate, Binary:
		return false
	}
	return true
}

// expr writes an expression; beside is what shares its mapping with it.
func (w *writer) expr(expr Expr, level int, beside string) {
	switch e := expr.(type) {
	case Aggregate:
		w.key(level, "aggregate")
		w.line()
		w.text(level+1, "function", string(e.Function))
		if e.Distinct {
			w.key(level+1, "distinct")
			w.b = append(w.b, " true\n"...)
		}
		w.exprs(level+1, "args", e.Args)
	case Binary:
		w.key(level, "binary")
		w.line()
		w.sides(string(e.Op), e.Left, e.Right, level+1)
	default:
		if beside != "" {
			beside = ", " + beside
		}
		w.b = append(w.b, "{"+leafMembers(expr)+beside+"}\n"...)
		return
	}
	if beside != "" {
		w.indent(level)
		w.b = append(w.b, beside+"\n"...)
	}
}

// leafMembers are the members of an expression that holds no other.
func leafMembers(expr Expr) string {
	switch e := expr.(type) {
	case Field:
		if e.Source != "" {
			return "field: " + quoted(e.Name) + ", source: " + quoted(e.Source)
		}
		return "field: " + quoted(e.Name)
	case Value:
		return "value: " + literalText(e.V)
	case Values:
		texts := make([]string, len(e))
		for i, value := range e {
			texts[i] = literalText(value)
		}
		return "values: [" + strings.Join(texts, ", ") + "]"
	case Param:
		return "param: " + quoted(e.Name)
	}
	return "star: true"
}

func literalText(value any) string {
	switch value := value.(type) {
	case bool:
		return strconv.FormatBool(value)
	case json.Number:
		return string(value)
	case string:
		return quoted(value)
	}
	return "null"
}

func quoted(text string) string {
	var w writer
	w.quote(text)
	return string(w.b)
}

// quote writes text plain where every reader of YAML takes it for text, else as a JSON string, which is YAML too.
func (w *writer) quote(text string) {
	if isPlain(text) {
		w.b = append(w.b, text...)
		return
	}
	w.b = append(w.b, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			w.b = append(w.b, '\\', byte(r))
		case r == '\n':
			w.b = append(w.b, `\n`...)
		case r == '\t':
			w.b = append(w.b, `\t`...)
		case r < 0x20 || r == 0x7F || !unicode.IsPrint(r) && r <= 0xFFFF:
			w.b = fmt.Appendf(w.b, `\u%04x`, r)
		case !unicode.IsPrint(r):
			w.b = fmt.Appendf(w.b, `\U%08x`, r)
		default:
			w.b = append(w.b, string(r)...)
		}
	}
	w.b = append(w.b, '"')
}

// isPlain reports whether text is a word that no version of YAML gives another type.
func isPlain(text string) bool {
	if !isPlainKey(text) {
		return false
	}
	switch strings.ToLower(text) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return false
	}
	return true
}

// isPlainKey reports whether text is letters, digits, _ and, not at the start, - and dots.
func isPlainKey(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		case i > 0 && (c >= '0' && c <= '9' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return text != ""
}
