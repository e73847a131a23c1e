package dtql

import (
	"errors"
	"strconv"
	"strings"
)

// Unmarshal reads one document and validates it. What is wrong comes as an *Error, what is understood but not executed
// as an *UnsupportedError.
func Unmarshal(text []byte) (*Document, error) {
	root, err := read(text)
	if err != nil {
		return nil, err
	}
	var doc *Document
	err = placed(func(path *Path) (err error) {
		doc, err = parseDocument(root, path)
		return err
	})
	if err == nil {
		err = Validate(doc)
		locate(root, err)
	}
	if err != nil {
		return nil, err
	}
	return doc, nil
}

// locate gives an error of Validate, which knows no text, the position of the deepest node on its path.
func locate(root *node, err error) {
	var invalid *Error
	var unsupported *UnsupportedError
	path := ""
	switch {
	case errors.As(err, &invalid):
		path = invalid.Path
	case errors.As(err, &unsupported):
		path = unsupported.Path
	default:
		return
	}
	_ = root.find(path).at(err)
}

// find follows a path as errors print it. All keys in it are those of the grammar, because Validate comes last.
func (n *node) find(path string) *node {
	for path != "" {
		var inner *node
		rest := strings.TrimPrefix(path, ".")
		if index, after, ok := strings.Cut(strings.TrimPrefix(rest, "["), "]"); rest[0] == '[' && ok {
			if i, err := strconv.Atoi(index); err == nil && n.kind == list && i < len(n.items) {
				inner = &n.items[i]
			}
			rest = after
		} else {
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			inner, rest = n.child(rest[:end]), rest[end:]
		}
		if inner == nil {
			return n
		}
		n, path = inner, rest
	}
	return n
}

// members checks that n is a mapping whose keys are among known, each at most once.
func members(n *node, path *Path, known ...string) error {
	if n.kind != mapping {
		return n.at(path.is("must be a mapping, not %s", n.kind))
	}
	for i := 0; i < len(n.items); i += 2 {
		key := &n.items[i]
		if key.kind != scalar {
			return key.at(path.err("a key must be a name, not %s", key.kind))
		}
		if key.value == "<<" && !key.quoted {
			return key.at(path.err("merge keys are not allowed"))
		}
		// No more than the known keys and one other are ever compared.
		for j := 0; j < i; j += 2 {
			if n.items[j].value == key.value {
				return key.at(path.err("key %q is there twice, first on line %d", key.value, n.items[j].line))
			}
		}
		if !contains(known, key.value) {
			if construct := unsupportedKey(key.value); construct != "" {
				return key.at(path.Key(key.value).unsupported(construct))
			}
			return key.at(path.err("unknown key %q (known here: %s)", shorten(key.value), strings.Join(known, ", ")))
		}
	}
	return nil
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

func parseDocument(n *node, path *Path) (*Document, error) {
	if err := members(n, path, "as", "from", "where", "groupBy", "having", "orderBy", "limit", "offset", "columns"); err != nil {
		return nil, err
	}
	var doc Document
	p := parser{n: n, path: path}
	p.text("as", &doc.As)
	if from := p.need("from"); from != nil {
		p.keep(parseFrom(from, path.Key("from"), &doc.From, true))
	}
	p.condition("where", &doc.Where)
	doc.GroupBy = elements(&p, "groupBy", parseExpr)
	p.condition("having", &doc.Having)
	doc.OrderBy = elements(&p, "orderBy", parseOrder)
	p.count("limit", &doc.Limit)
	p.count("offset", &doc.Offset)
	doc.Columns = elements(&p, "columns", parseColumn)
	return &doc, p.err
}

func parseFrom(n *node, path *Path, from *From, top bool) error {
	if err := members(n, path, "name", "schema", "alias", "as", "joins"); err != nil {
		return err
	}
	if n.child("alias") != nil && n.child("as") != nil {
		return n.at(path.err("alias and as are the same: set one of them"))
	}
	p := parser{n: n, path: path}
	if p.need("name") != nil {
		p.text("name", &from.Name)
	}
	p.text("schema", &from.Schema)
	p.text("alias", &from.Alias)
	p.text("as", &from.Alias)
	if joins := n.child("joins"); joins != nil && !top {
		p.keep(joins.at(path.Key("joins").unsupported("joins inside a join")))
	}
	from.Joins = elements(&p, "joins", parseJoin)
	return p.err
}

func parseJoin(n *node, path *Path) (join Join, err error) {
	if err := members(n, path, "type", "from", "on"); err != nil {
		return join, err
	}
	p := parser{n: n, path: path}
	p.text("type", (*string)(&join.Type))
	if from := p.need("from"); from != nil {
		p.keep(parseFrom(from, path.Key("from"), &join.From, false))
	}
	p.need("on")
	join.On = elements(&p, "on", parseOn)
	return join, p.err
}

func parseOn(n *node, path *Path) (on On, err error) {
	if err := members(n, path, "op", "left", "right"); err != nil {
		return on, err
	}
	p := parser{n: n, path: path}
	var op string
	p.text("op", &op)
	if p.err == nil && op != string(Equal) {
		return on, n.at(path.err("a join compares with \"==\" only, not %q", shorten(op)))
	}
	side := func(key string, field *Field) {
		if inner := p.need(key); inner != nil {
			place := path.Key(key)
			if err := members(inner, place, "field", "source"); err != nil {
				p.keep(err)
				return
			}
			q := parser{n: inner, path: place}
			q.name(field)
			p.keep(q.err)
		}
	}
	side("left", &on.Left)
	side("right", &on.Right)
	return on, p.err
}

func parseOrder(n *node, path *Path) (order Order, err error) {
	order.Expr, err = parseExprWith(n, path, "desc")
	if err != nil {
		return order, err
	}
	p := parser{n: n, path: path}
	p.flag("desc", &order.Desc)
	return order, p.err
}

func parseColumn(n *node, path *Path) (column Column, err error) {
	wild := n.child("wildcard")
	if wild == nil {
		column.Expr, err = parseExprWith(n, path, "as", "wildcard")
		if err != nil {
			return column, err
		}
		p := parser{n: n, path: path}
		p.text("as", &column.As)
		return column, p.err
	}
	if err := members(n, path, "wildcard"); err != nil {
		return column, err
	}
	path = path.Key("wildcard")
	if err := members(wild, path, "source", "exclude"); err != nil {
		return column, err
	}
	column.Wildcard = new(Wildcard)
	p := parser{n: wild, path: path}
	p.text("source", &column.Wildcard.Source)
	column.Wildcard.Exclude = elements(&p, "exclude", parseText)
	return column, p.err
}
