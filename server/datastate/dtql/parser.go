package dtql

import (
	"encoding/json"
	"strconv"
)

// A parser takes the members of one mapping, and keeps the first error, so that the grammar above it reads like the
// grammar.
type parser struct {
	n    *node
	path *Path
	err  error
}

func (p *parser) keep(err error) {
	if p.err == nil {
		p.err = err
	}
}

// need is the member at key, which the document must have.
func (p *parser) need(key string) *node {
	inner := p.n.child(key)
	if inner == nil && p.err == nil {
		p.err = p.n.at(p.path.Key(key).is("is required"))
	}
	return inner
}

func (p *parser) text(key string, into *string) {
	inner := p.n.child(key)
	if inner != nil && inner.kind == scalar && isPlain(inner.value) {
		*into = inner.value // nearly always, and it needs no Path
	} else if inner != nil {
		text, err := parseText(inner, p.path.Key(key))
		p.keep(err)
		*into = text
	}
}

func (p *parser) flag(key string, into *bool) {
	inner := p.n.child(key)
	if inner == nil {
		return
	}
	value, err := parseScalar(inner, p.path.Key(key))
	p.keep(err)
	is, ok := value.(bool)
	if err == nil && !ok {
		p.keep(inner.at(p.path.Key(key).is("must be true or false, not %s", describe(value))))
	}
	*into = is
}

func (p *parser) count(key string, into *int64) {
	inner := p.n.child(key)
	if inner == nil {
		return
	}
	value, err := parseScalar(inner, p.path.Key(key))
	p.keep(err)
	number, _ := value.(json.Number)
	n, notWhole := strconv.ParseInt(string(number), 10, 64)
	if err == nil && (notWhole != nil || n < 0) {
		p.keep(inner.at(p.path.Key(key).is("must be an integer of 0 or more, not %s", describe(value))))
	}
	*into = n
}

func (p *parser) condition(key string, into *Condition) {
	if inner := p.n.child(key); inner != nil {
		condition, err := parseCondition(inner, p.path.Key(key))
		p.keep(err)
		*into = condition
	}
}

func (p *parser) expr(key string, into *Expr) {
	if inner := p.n.child(key); inner != nil {
		expr, err := parseExpr(inner, p.path.Key(key))
		p.keep(err)
		*into = expr
	}
}

// name takes field and source. A field that is not a name is a path into a key, which some stores have.
func (p *parser) name(into *Field) {
	field := p.need("field")
	if field == nil {
		return
	}
	if field.kind != scalar {
		p.keep(field.at(p.path.Key("field").unsupported("key path")))
		return
	}
	p.text("field", &into.Name)
	p.text("source", &into.Source)
}

// elements takes a list. Where a document has the key at all, an empty list is a slip.
func elements[T any](p *parser, key string, parse func(*node, *Path) (T, error)) []T {
	inner := p.n.child(key)
	if inner == nil || p.err != nil {
		return nil
	}
	path := p.path.Key(key)
	all, err := parseList(inner, path, parse)
	if err == nil && len(all) == 0 {
		err = inner.at(path.is("must have at least one element"))
	}
	p.keep(err)
	return all
}

func parseList[T any](n *node, path *Path, parse func(*node, *Path) (T, error)) ([]T, error) {
	if n.kind != list {
		return nil, n.at(path.is("must be a list, not %s", n.kind))
	}
	all := make([]T, len(n.items))
	for i := range n.items {
		var err error
		if all[i], err = parse(&n.items[i], path.Index(i)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// parseScalar is the value of a scalar: nil, bool, string or json.Number.
func parseScalar(n *node, path *Path) (any, error) {
	if n.kind != scalar {
		if n.child("money") != nil {
			return nil, n.at(path.unsupported("money"))
		}
		return nil, n.at(path.is("must be a scalar, not %s", n.kind))
	}
	if n.quoted {
		return n.value, nil
	}
	value, err := plain(n.value)
	if err != nil {
		return nil, n.at(path.err("%s", err))
	}
	return value, nil
}

func parseText(n *node, path *Path) (string, error) {
	value, err := parseScalar(n, path)
	if err != nil {
		return "", err
	}
	text, ok := value.(string)
	if !ok {
		return "", n.at(path.is("must be text, not %s; put it in quotes", describe(value)))
	}
	if text == "" {
		return "", n.at(path.is("must not be empty"))
	}
	return text, nil
}

func describe(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(value)
	case json.Number:
		return shorten(string(value))
	case string:
		return strconv.Quote(shorten(value))
	}
	return "something else"
}

// ParseValue reads the value of a param as a person writes it on a command line: what it would be in a document without
// quotes, a text in quotes, or a list in brackets. Everything else that YAML gives a meaning to is text.
func ParseValue(text string) (any, error) {
	if text == "" {
		return "", nil
	}
	if first := text[0]; first != '[' && first != '"' && first != '\'' {
		return plain(text)
	}
	n, err := read([]byte(text))
	if err != nil {
		return nil, err
	}
	if n.kind == list {
		return parseList(n, nil, parseScalar)
	}
	return parseScalar(n, nil)
}
