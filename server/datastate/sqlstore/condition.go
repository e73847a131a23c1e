package sqlstore

import (
	"errors"

	"chatwright.dev/tray/server/datastate/dtql"
)

// condition writes a condition.
func (c *compiler) condition(s *scope, condition dtql.Condition, path *dtql.Path) error {
	switch cond := condition.(type) {
	case dtql.Comparison:
		return c.comparison(s, cond, path)
	case dtql.And:
		return c.conditions(s, cond, " AND ", path.Key("and"))
	case dtql.Or:
		return c.conditions(s, cond, " OR ", path.Key("or"))
	case dtql.IsNull:
		return c.isNull(s, cond.Expr, "IS NULL", path.Key("isNull"))
	case dtql.IsNotNull:
		return c.isNull(s, cond.Expr, "IS NOT NULL", path.Key("isNotNull"))
	case dtql.Exists:
		return c.exists(s, cond.Query, path.Key("exists").Key("query"))
	case dtql.NotExists:
		c.write("NOT ")
		return c.exists(s, cond.Query, path.Key("notExists").Key("query"))
	}
	return fail(path, "a condition of this kind cannot stand here")
}

func (c *compiler) conditions(s *scope, list []dtql.Condition, word string, path *dtql.Path) error {
	for i, condition := range list {
		if i == 0 {
			c.write("(")
		} else {
			c.write(word)
		}
		if err := c.condition(s, condition, path.Index(i)); err != nil {
			return err
		}
	}
	c.write(")")
	return nil
}

func (c *compiler) isNull(s *scope, expr dtql.Expr, words string, path *dtql.Path) error {
	t, err := c.typeOf(s, expr, path)
	if err != nil {
		return err
	}
	field, isField := expr.(dtql.Field)
	c.write("(")
	if isField { // of any type, and without what would keep an index from being used
		from, column, err := s.resolve(field, path)
		if err != nil {
			return err
		}
		c.write(from.alias, ".", c.quote(column.name))
	} else if err := c.expr(s, expr, t, path); err != nil {
		return err
	}
	c.write(" ", words, ")")
	return nil
}

func isNull(expr dtql.Expr) bool {
	value, ok := expr.(dtql.Value)
	return ok && value.V == nil
}

func (c *compiler) comparison(s *scope, cond dtql.Comparison, path *dtql.Path) error {
	switch {
	case cond.Op == dtql.In:
		return c.in(s, cond, path)
	case cond.Op == dtql.Equal && isNull(cond.Right):
		return c.isNull(s, cond.Left, "IS NULL", path.Key("left"))
	case cond.Op == dtql.Equal && isNull(cond.Left):
		return c.isNull(s, cond.Right, "IS NULL", path.Key("right"))
	}
	left, right, err := c.meeting(s, cond, path)
	if err != nil {
		return err
	}
	l, _, err := c.text(s, cond.Left, left, path.Key("left"))
	if err != nil {
		return err
	}
	r, _, err := c.text(s, cond.Right, right, path.Key("right"))
	if err != nil {
		return err
	}
	if left.kind.number() && right.kind.number() && (left.kind == kindFloat) != (right.kind == kindFloat) {
		l, r = c.double(l), c.double(r) // SQLite alone compares an integer with a double exactly
	}
	op := string(cond.Op)
	if cond.Op == dtql.Equal {
		op = "="
	}
	c.write("(", l, " ", op, " ", r, ")")
	return nil
}

// meeting is the types of the sides of a comparison. A literal takes the type of the other side.
func (c *compiler) meeting(s *scope, cond dtql.Comparison, path *dtql.Path) (left, right datatype, err error) {
	if left, err = c.typeOf(s, cond.Left, path.Key("left")); err != nil {
		return left, right, err
	}
	if right, err = c.typeOf(s, cond.Right, path.Key("right")); err != nil {
		return left, right, err
	}
	if err := ordered(left, path.Key("left")); err != nil {
		return left, right, err
	}
	if err := ordered(right, path.Key("right")); err != nil {
		return left, right, err
	}
	_, leftIs := cond.Left.(dtql.Value)
	_, rightIs := cond.Right.(dtql.Value)
	switch {
	case leftIs && !rightIs:
		return right, right, nil
	case rightIs && !leftIs:
		return left, left, nil
	}
	same := left.kind == right.kind && left.zoned == right.zoned || left.kind.number() && right.kind.number() ||
		left.kind == kindAny || right.kind == kindAny
	if !same {
		return left, right, fail(path, "%s cannot be compared with %s", left.kind, right.kind)
	}
	if leftIs && left.kind == kindInt && right.kind == kindFloat { // two literals
		left = right
	} else if leftIs && right.kind == kindInt && left.kind == kindFloat {
		right = left
	}
	return left, right, nil
}

// ordered says whether values of a type have an order that all engines agree on.
func ordered(t datatype, path *dtql.Path) error {
	switch t.kind {
	case kindJSON, kindOther:
		if t.kind == kindOther && t.native != "" {
			return fail(path, "the type %s is one that cannot be compared", t.native)
		}
		return fail(path, "%s cannot be compared", t.kind)
	}
	return nil
}

// in writes membership; nothing is in an empty list.
func (c *compiler) in(s *scope, cond dtql.Comparison, path *dtql.Path) error {
	values, ok := cond.Right.(dtql.Values)
	if !ok {
		return fail(path.Key("right"), "In wants values, or a param that is a list, on the right")
	}
	t, err := c.typeOf(s, cond.Left, path.Key("left"))
	if err != nil {
		return err
	}
	if err := ordered(t, path.Key("left")); err != nil {
		return err
	}
	if len(values) == 0 {
		c.write("(1 = 0)")
		return nil
	}
	left, _, err := c.text(s, cond.Left, t, path.Key("left"))
	if err != nil {
		return err
	}
	c.write("(", left, " IN (")
	for i, value := range values {
		c.write(separator(i, ""))
		if value == nil {
			return fail(path.Key("right"), "a list holds no null")
		}
		if err := c.literal(value, t, path.Key("right")); err != nil {
			return err
		}
	}
	c.write("))")
	return nil
}

// placed puts the place before an error that has none.
func placed(err error, path *dtql.Path) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*dtql.Error](err); ok {
		return err
	}
	return fail(path, "%s", err.Error())
}
