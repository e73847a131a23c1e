package sqlstore

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"chatwright.dev/tray/server/datastate/dtql"
)

// A statement is SQL with what is bound to it.
type statement struct {
	text string
	args []any
}

// A plan is a document as one engine runs it.
type plan struct {
	statement
	columns   []resultColumn // of the rows, in order
	collation string
	count     statement // of all rows, as if the document had neither limit nor offset
	single    bool      // there is one row at most: nothing is left to count
}

type resultColumn struct {
	name string
	datatype
}

// maxArgs is how many values all engines bind to one statement.
const maxArgs = 30_000

// A compiler writes one statement. What it is given of the document's text it only ever looks up, counts or binds: the
// SQL is made of its own words, of names as the schema spells them, quoted, and of placeholders.
type compiler struct {
	dialect
	find func(schema, name string) (*table, error)

	sql        []byte
	args       []any
	numbers    map[string]int // of placeholders that can be used again
	aliases    int
	collations map[string]bool
}

// compile writes the statements for a valid document without params. most is how many rows are wanted.
func compile(d dialect, find func(schema, name string) (*table, error), doc *dtql.Document, most int) (*plan, error) {
	c := newCompiler(d, find)
	p := &plan{}
	if err := c.rows(p, doc, most); err != nil {
		return nil, err
	}
	p.statement = c.statement()
	p.collation = strings.Join(slices.Sorted(maps.Keys(c.collations)), ", ")
	if p.single {
		return p, nil
	}
	c = newCompiler(d, find)
	if err := c.total(doc); err != nil {
		return nil, err
	}
	p.count = c.statement()
	return p, nil
}

func newCompiler(d dialect, find func(schema, name string) (*table, error)) *compiler {
	return &compiler{dialect: d, find: find, numbers: map[string]int{}, collations: map[string]bool{}}
}

func (c *compiler) statement() statement { return statement{string(c.sql), c.args} }

func (c *compiler) write(parts ...string) {
	for _, part := range parts {
		c.sql = append(c.sql, part...)
	}
}

// rows writes the query itself. All keys of its order end in those of the tables, so that a query that is cut off gives
// the same rows every time, on every engine.
func (c *compiler) rows(p *plan, doc *dtql.Document, most int) error {
	s, err := c.scope(doc, nil, nil)
	if err != nil {
		return err
	}
	c.write("SELECT ")
	if p.columns, err = c.columns(s, doc); err != nil {
		return err
	}
	if err := c.body(s, doc, nil); err != nil {
		return err
	}
	if err := c.order(s, doc, nil); err != nil {
		return err
	}
	p.single = s.folded && len(doc.GroupBy) == 0
	limit := int64(most) + 1
	if doc.Limit > 0 {
		limit = min(limit, doc.Limit)
	}
	c.limit(limit, doc.Offset)
	if len(c.args) > maxArgs {
		return fail(nil, "the document has %d values, databases take %d", len(c.args), maxArgs)
	}
	return nil
}

// limit is spelt alike everywhere, and there is always one: MySQL and SQLite know no offset without it.
func (c *compiler) limit(limit, offset int64) {
	c.sql = fmt.Appendf(c.sql, " LIMIT %d", limit)
	if offset > 0 {
		c.sql = fmt.Appendf(c.sql, " OFFSET %d", offset)
	}
}

func (c *compiler) total(doc *dtql.Document) error {
	s, err := c.scope(doc, nil, nil)
	if err != nil {
		return err
	}
	if !s.folded {
		c.write("SELECT count(*)")
		return c.body(s, doc, nil)
	}
	c.write("SELECT count(*) FROM (SELECT 1 AS one")
	if err := c.body(s, doc, nil); err != nil {
		return err
	}
	c.write(") AS counted")
	return nil
}

// body writes everything from FROM to HAVING.
func (c *compiler) body(s *scope, doc *dtql.Document, path *dtql.Path) error {
	if err := c.from(s, doc, path.Key("from")); err != nil {
		return err
	}
	if doc.Where != nil {
		c.write(" WHERE ")
		if err := c.condition(s.plain(), doc.Where, path.Key("where")); err != nil {
			return err
		}
	}
	for i, expr := range doc.GroupBy {
		c.write(separator(i, " GROUP BY "))
		place := path.Key("groupBy").Index(i)
		t, err := c.typeOf(s.plain(), expr, place)
		if err != nil {
			return err
		}
		if err := ordered(t, place); err != nil {
			return err
		}
		if err := c.expr(s.plain(), expr, t, place); err != nil {
			return err
		}
	}
	if doc.Having != nil {
		c.write(" HAVING ")
		return c.condition(s, doc.Having, path.Key("having"))
	}
	return nil
}

func separator(i int, first string) string {
	if i == 0 {
		return first
	}
	return ", "
}

func (c *compiler) from(s *scope, doc *dtql.Document, path *dtql.Path) error {
	c.write(" FROM ")
	c.table(s.sources[0])
	for i, join := range doc.From.Joins {
		word := " INNER JOIN "
		if join.Type == dtql.LeftJoin {
			word = " LEFT JOIN "
		}
		c.write(word)
		c.table(s.sources[i+1])
		seen := &scope{sources: s.sources[:i+2]} // of those that come later no engine knows yet
		for j, on := range join.On {
			if j == 0 {
				c.write(" ON ")
			} else {
				c.write(" AND ")
			}
			place := path.Key("joins").Index(i).Key("on").Index(j)
			if err := c.comparison(seen, dtql.Comparison{Op: dtql.Equal, Left: on.Left, Right: on.Right}, place); err != nil {
				return err
			}
		}
	}
	return nil
}

// table gives every source an alias of our own.
func (c *compiler) table(s source) {
	c.write(c.quote(s.table.schema), ".", c.quote(s.table.name), " AS ", s.alias)
}

// order writes the keys of the document and then those that make the order a total one.
func (c *compiler) order(s *scope, doc *dtql.Document, path *dtql.Path) error {
	named := map[string]bool{}
	for i, order := range doc.OrderBy {
		expr := selected(doc.Columns, order.Expr)
		if _, constant := expr.(dtql.Value); constant {
			continue
		}
		if err := c.key(s, expr, order.Desc, named, path.Key("orderBy").Index(i)); err != nil {
			return err
		}
	}
	if s.folded {
		for i, group := range doc.GroupBy {
			if err := c.key(s, group, false, named, path.Key("groupBy").Index(i)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, source := range s.sources {
		for _, column := range source.table.key() {
			field := dtql.Field{Source: source.name, Name: column.name}
			if ordered(column.datatype, nil) != nil {
				continue
			}
			if err := c.key(s, field, false, named, path.Key("from")); err != nil {
				return err
			}
		}
	}
	return nil
}

// key writes one key of the order, if it does not stand there already.
func (c *compiler) key(s *scope, expr dtql.Expr, desc bool, named map[string]bool, path *dtql.Path) error {
	t, err := c.typeOf(s, expr, path)
	if err != nil {
		return err
	}
	if err := ordered(t, path); err != nil {
		return err
	}
	kept := len(c.args)
	key, nullable, err := c.text(s, expr, t, path)
	if err != nil {
		return err
	}
	if named[key] {
		c.args = c.args[:kept]
		c.forget(kept)
		return nil
	}
	c.write(separator(len(named), " ORDER BY "), c.orderKey(key, t, desc, nullable))
	named[key] = true
	return nil
}

// selected is what a key of the order stands for: a name of the result hides a field of that name.
func selected(columns []dtql.Column, expr dtql.Expr) dtql.Expr {
	field, ok := expr.(dtql.Field)
	if !ok || field.Source != "" {
		return expr
	}
	for _, column := range columns {
		if column.Wildcard == nil && column.Name() == field.Name {
			return column.Expr
		}
	}
	return expr
}

// text is an expression by itself, and whether it can be null.
func (c *compiler) text(s *scope, expr dtql.Expr, t datatype, path *dtql.Path) (text string, nullable bool, err error) {
	from := len(c.sql)
	if err := c.expr(s, expr, t, path); err != nil {
		return "", false, err
	}
	text = string(c.sql[from:])
	c.sql = c.sql[:from]
	nullable = true
	if field, ok := expr.(dtql.Field); ok {
		if source, column, err := s.resolve(field, path); err == nil {
			nullable = column.nullable || source.optional
		}
	}
	return text, nullable, nil
}

// exists writes a query of which only matters whether it has a row.
func (c *compiler) exists(s *scope, doc *dtql.Document, path *dtql.Path) error {
	inner, err := c.scope(doc, s, path)
	if err != nil {
		return err
	}
	// Columns are looked at for their mistakes, and thrown away.
	kept, args := len(c.sql), len(c.args)
	if _, err := c.columns(inner, doc); err != nil {
		return err
	}
	c.sql, c.args = c.sql[:kept], c.args[:args]
	c.forget(args)
	c.write("EXISTS (SELECT ")
	if inner.folded && len(doc.GroupBy) == 0 {
		c.write("count(*)") // which makes one row of any number
	} else {
		c.write("1")
	}
	if err := c.body(inner, doc, path); err != nil {
		return err
	}
	if doc.Limit > 0 || doc.Offset > 0 {
		limit := doc.Limit
		if limit == 0 {
			limit = 1<<63 - 1
		}
		c.limit(limit, doc.Offset)
	}
	c.write(")")
	return nil
}

// forget drops the numbers of placeholders past the n-th.
func (c *compiler) forget(n int) {
	maps.DeleteFunc(c.numbers, func(_ string, number int) bool { return number > n })
}

// fail is an error about a place in the document.
func fail(path *dtql.Path, format string, args ...any) error {
	return &dtql.Error{Path: path.String(), Message: fmt.Sprintf(format, args...)}
}
