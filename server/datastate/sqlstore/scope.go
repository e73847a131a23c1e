package sqlstore

import (
	"errors"
	"reflect"
	"slices"
	"strconv"

	"chatwright.dev/tray/server/datastate/dtql"
)

// A source is a table that fields of a document refer to.
type source struct {
	name     string // in the document
	alias    string // in SQL
	table    *table
	optional bool // the right side of a left join: its columns can be null whatever they say
}

// A scope is what a document knows, and what those around it know.
type scope struct {
	up      *scope
	sources []source
	// folded says that rows are made of groups: fields may stand only where all rows of a group have the same value.
	folded bool
	groups []dtql.Expr
}

// plain is the scope before the rows are folded.
func (s *scope) plain() *scope { return &scope{up: s.up, sources: s.sources} }

// scope looks the tables of a document up.
func (c *compiler) scope(doc *dtql.Document, up *scope, path *dtql.Path) (*scope, error) {
	s := &scope{up: up, groups: doc.GroupBy, folded: len(doc.GroupBy) > 0 || doc.Having != nil || folds(doc)}
	place := path.Key("from")
	if err := c.source(s, doc.From, false, place); err != nil {
		return nil, err
	}
	for i, join := range doc.From.Joins {
		if err := c.source(s, join.From, join.Type == dtql.LeftJoin, place.Key("joins").Index(i).Key("from")); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (c *compiler) source(s *scope, from dtql.From, optional bool, path *dtql.Path) error {
	found, err := c.find(from.Schema, from.Name)
	if _, ok := errors.AsType[databaseError](err); ok {
		return err
	}
	if err != nil {
		return placed(err, path)
	}
	s.sources = append(s.sources, source{from.Source(), "t" + strconv.Itoa(c.aliases), found, optional})
	c.aliases++
	return nil
}

// folds reports whether an aggregate makes one row of many.
func folds(doc *dtql.Document) bool {
	return slices.ContainsFunc(doc.Columns, func(column dtql.Column) bool { return hasAggregate(column.Expr) }) ||
		slices.ContainsFunc(doc.OrderBy, func(order dtql.Order) bool { return hasAggregate(order.Expr) })
}

func hasAggregate(expr dtql.Expr) bool {
	switch e := expr.(type) {
	case dtql.Aggregate:
		return true
	case dtql.Binary:
		return hasAggregate(e.Left) || hasAggregate(e.Right)
	}
	return false
}

// resolve finds the column of a field: in the document itself, then in those around it.
func (s *scope) resolve(field dtql.Field, path *dtql.Path) (source, *column, error) {
	var known []string
	for at := s; at != nil; at = at.up {
		var found []source
		for _, source := range at.sources {
			if field.Source != "" && field.Source != source.name {
				continue
			}
			known = append(known, source.table.columnNames()...)
			if source.table.column(field.Name) != nil {
				found = append(found, source)
			}
		}
		switch {
		case len(found) > 1:
			return source{}, nil, fail(path, "the field %q is in both %s and %s: set its source", clip(field.Name), found[0].name, found[1].name)
		case len(found) == 1:
			return found[0], found[0].table.column(field.Name), nil
		case field.Source != "" && len(known) > 0:
			return source{}, nil, fail(path, "unknown column %q in %s: %s", clip(field.Name), field.Source, nearest(field.Name, known))
		}
	}
	return source{}, nil, fail(path, "unknown column %q: %s", clip(field.Name), nearest(field.Name, known))
}

// own reports whether a source is of this document, and not of one around it.
func (s *scope) own(found source) bool {
	return slices.ContainsFunc(s.sources, func(mine source) bool { return mine.alias == found.alias })
}

// grouped reports whether all rows of a group have the same value of expr.
func (s *scope) grouped(expr dtql.Expr, path *dtql.Path) bool {
	field, isField := expr.(dtql.Field)
	for _, group := range s.groups {
		if reflect.DeepEqual(group, expr) {
			return true
		}
		other, ok := group.(dtql.Field)
		if !isField || !ok || other.Name != field.Name {
			continue
		}
		a, _, errA := s.resolve(field, path)
		b, _, errB := s.resolve(other, path)
		if errA == nil && errB == nil && a.alias == b.alias {
			return true
		}
	}
	return false
}

// columns writes the list of what is selected.
func (c *compiler) columns(s *scope, doc *dtql.Document) ([]resultColumn, error) {
	list := doc.Columns
	path := (*dtql.Path)(nil).Key("columns")
	if len(list) == 0 {
		list = []dtql.Column{{Wildcard: &dtql.Wildcard{}}}
	}
	var out []resultColumn
	taken := map[string]bool{}
	for i, column := range list {
		place := path.Index(i)
		var err error
		if column.Wildcard != nil {
			out, err = c.wildcard(s, column.Wildcard, out, taken, place)
		} else {
			out, err = c.column(s, column, out, taken, place)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, fail(path, "no column is left")
	}
	return out, nil
}

func (c *compiler) column(s *scope, column dtql.Column, out []resultColumn, taken map[string]bool, path *dtql.Path) ([]resultColumn, error) {
	name := column.Name()
	if taken[name] {
		return nil, fail(path, "column %q is there twice: set as, or exclude it from the wildcard", clip(name))
	}
	taken[name] = true
	t, err := c.typeOf(s, column.Expr, path)
	if err != nil {
		return nil, err
	}
	c.write(separator(len(out), ""))
	field, ok := column.Expr.(dtql.Field)
	if !ok || s.folded {
		return append(out, resultColumn{name, t}), c.expr(s, column.Expr, t, path)
	}
	from, _, err := s.resolve(field, path)
	if err != nil {
		return nil, err
	}
	c.write(c.output(from.alias+"."+c.quote(field.Name), t))
	return append(out, resultColumn{name, t}), nil
}

// wildcard writes all columns of the sources. Of two that are called alike the later one is source.column, since a row
// has each name once.
func (c *compiler) wildcard(s *scope, w *dtql.Wildcard, out []resultColumn, taken map[string]bool, path *dtql.Path) ([]resultColumn, error) {
	path = path.Key("wildcard")
	excluded := map[string]bool{}
	var known []string
	for _, source := range s.sources {
		if w.Source != "" && w.Source != source.name {
			continue
		}
		known = append(known, source.table.columnNames()...)
		for _, column := range source.table.columns {
			if slices.Contains(w.Exclude, column.name) {
				excluded[column.name] = true
				continue
			}
			field := dtql.Field{Name: column.name, Source: source.name}
			as := column.name
			if taken[as] {
				as = source.name + "." + column.name
			}
			var err error
			if out, err = c.column(s, dtql.Column{Expr: field, As: as}, out, taken, path); err != nil {
				return nil, err
			}
		}
	}
	for i, name := range w.Exclude {
		if !excluded[name] {
			return nil, fail(path.Key("exclude").Index(i), "unknown column %q: %s", clip(name), nearest(name, known))
		}
	}
	return out, nil
}

// clip keeps a foreign text from filling an error.
func clip(text string) string {
	const most = 64
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}
