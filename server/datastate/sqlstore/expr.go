package sqlstore

import (
	"fmt"
	"strings"

	"chatwright.dev/tray/server/datastate/dtql"
)

// typeOf says what an expression gives, and whether it may stand where it does. It writes nothing: a literal takes the
// type of what it meets, which has to be known before it is written.
func (c *compiler) typeOf(s *scope, expr dtql.Expr, path *dtql.Path) (datatype, error) {
	if s.folded && s.grouped(expr, path) {
		return c.typeOf(s.plain(), expr, path)
	}
	switch e := expr.(type) {
	case dtql.Field:
		from, column, err := s.resolve(e, path)
		if err != nil {
			return datatype{}, err
		}
		if s.folded && s.own(from) {
			return datatype{}, fail(path, "the field %q differs within a group: add it to groupBy, or fold it with an aggregate", clip(e.Name))
		}
		return column.datatype, nil
	case dtql.Value:
		return natural(e.V), nil
	case dtql.Aggregate:
		return c.typeOfAggregate(s, e, path.Key("aggregate"))
	case dtql.Binary:
		return c.typeOfBinary(s, e, path.Key("binary"))
	}
	return datatype{}, fail(path, "an expression of this kind cannot stand here")
}

func (c *compiler) typeOfAggregate(s *scope, e dtql.Aggregate, path *dtql.Path) (datatype, error) {
	if len(e.Args) != 1 {
		return datatype{}, fail(path, "%s wants one argument", e.Function)
	}
	if _, star := e.Args[0].(dtql.Star); star && e.Function == dtql.Count && !e.Distinct {
		return datatype{kind: kindInt}, nil
	}
	t, err := c.typeOf(s.plain(), e.Args[0], path.Key("args").Index(0))
	if err != nil {
		return datatype{}, err
	}
	folds := t.kind == kindAny || t.kind.number()
	switch e.Function {
	case dtql.Count:
		return datatype{kind: kindInt}, ordered(t, path)
	case dtql.Sum:
		if t.kind == kindFloat || t.kind == kindAny {
			t.digits = sure(t)
		}
		t.bits = 0
	case dtql.Avg:
		t = datatype{kind: kindFloat, digits: sure(t)}
	default: // min and max
		folds = folds || t.kind == kindText || t.kind == kindTime || t.kind == kindDate || t.kind == kindClock
	}
	if !folds {
		return datatype{}, fail(path, "%s of %s is not the same on all databases", e.Function, t.kind)
	}
	t.native = ""
	return t, nil
}

func sure(t datatype) int {
	if t.bits == 32 {
		return sureSingleDigits
	}
	return sureDigits
}

func (c *compiler) typeOfBinary(s *scope, e dtql.Binary, path *dtql.Path) (datatype, error) {
	left, right, err := c.sides(s, e.Left, e.Right, path)
	if err != nil {
		return datatype{}, err
	}
	for _, side := range []struct {
		t   datatype
		key string
	}{{left, "left"}, {right, "right"}} {
		if !side.t.kind.number() && side.t.kind != kindAny {
			return datatype{}, fail(path.Key(side.key), "%s cannot be calculated with", side.t.kind)
		}
	}
	digits := max(left.digits, right.digits)
	either := func(k kind) bool { return left.kind == k || right.kind == k }
	switch {
	case e.Op == dtql.Divide:
		return datatype{kind: kindFloat, digits: digits}, nil
	case either(kindAny):
		return datatype{}, nil
	case either(kindFloat):
		return datatype{kind: kindFloat, digits: digits}, nil
	case !either(kindDecimal):
		return datatype{kind: kindInt}, nil
	}
	return datatype{kind: kindDecimal, scale: scaleOf(e.Op, left, right)}, nil
}

// scaleOf is how many digits PostgreSQL and MySQL give the result of calculating with decimals.
func scaleOf(op dtql.BinaryOp, left, right datatype) int {
	if left.kind == kindInt {
		left.scale = 0
	}
	if right.kind == kindInt {
		right.scale = 0
	}
	switch {
	case left.scale == unknownScale || right.scale == unknownScale:
		return unknownScale
	case op == dtql.Multiply:
		return left.scale + right.scale
	}
	return max(left.scale, right.scale)
}

// sides are the types of two expressions that meet. A number in the document is of the kind of what it meets; beside an
// integer one with a fraction makes doubles.
func (c *compiler) sides(s *scope, l, r dtql.Expr, path *dtql.Path) (left, right datatype, err error) {
	if left, err = c.typeOf(s, l, path.Key("left")); err != nil {
		return left, right, err
	}
	if right, err = c.typeOf(s, r, path.Key("right")); err != nil {
		return left, right, err
	}
	adapt := func(mine dtql.Expr, own, other datatype, key string) (datatype, error) {
		value, ok := mine.(dtql.Value)
		if !ok || other.kind == kindInt || !other.kind.number() {
			return own, nil
		}
		_, t, err := coerce(value.V, other)
		return t, placed(err, path.Key(key))
	}
	adapted, err := adapt(l, left, right, "left")
	if err != nil {
		return left, right, err
	}
	right, err = adapt(r, right, left, "right")
	return adapted, right, err
}

// expr writes an expression; t is the type that typeOf said, or for a literal the type of what it is compared with.
func (c *compiler) expr(s *scope, expr dtql.Expr, t datatype, path *dtql.Path) error {
	switch e := expr.(type) {
	case dtql.Field:
		from, column, err := s.resolve(e, path)
		if err != nil {
			return err
		}
		if column.kind == kindText && column.collation != "" {
			c.collations[column.collation] = true
		}
		c.write(c.operand(from.alias+"."+c.quote(column.name), column.datatype))
		return nil
	case dtql.Value:
		return c.literal(e.V, t, path)
	case dtql.Aggregate:
		return c.aggregate(s, e, path.Key("aggregate"))
	case dtql.Binary:
		return c.binary(s.inGroup(expr, path), e, path.Key("binary"))
	}
	return fail(path, "an expression of this kind cannot stand here")
}

// inGroup is the scope for what is inside an expression: the parts of one that is grouped by need not be.
func (s *scope) inGroup(expr dtql.Expr, path *dtql.Path) *scope {
	if s.folded && s.grouped(expr, path) {
		return s.plain()
	}
	return s
}

// literal binds a value. It never becomes a part of the SQL.
func (c *compiler) literal(v any, t datatype, path *dtql.Path) error {
	if v == nil {
		c.write("NULL")
		return nil
	}
	coerced, own, err := coerce(v, t)
	if err != nil {
		return placed(err, path)
	}
	if own.kind == kindTime || own.kind == kindDate || own.kind == kindClock || own.kind == kindUUID {
		own = t // with what the engine has to know of the column
	}
	around, arg := c.bind(coerced, own)
	key := fmt.Sprintf("%s %T %v", around, arg, arg)
	number, known := c.numbers[key]
	if !known {
		c.args = append(c.args, arg)
		number = len(c.args)
	}
	text, numbered := c.placeholder(number)
	if numbered {
		c.numbers[key] = number
	}
	c.write(strings.Replace(around, "%s", text, 1))
	return nil
}

func (c *compiler) aggregate(s *scope, e dtql.Aggregate, path *dtql.Path) error {
	place := path.Key("args").Index(0)
	if _, star := e.Args[0].(dtql.Star); star {
		c.write("count(*)")
		return nil
	}
	inner := s.plain()
	t, err := c.typeOf(inner, e.Args[0], place)
	if err != nil {
		return err
	}
	operand, _, err := c.text(inner, e.Args[0], t, place)
	if err != nil {
		return err
	}
	distinct := ""
	if e.Distinct {
		distinct = "DISTINCT "
	}
	c.write(c.fold(string(e.Function), distinct, operand, t))
	return nil
}

func (c *compiler) binary(s *scope, e dtql.Binary, path *dtql.Path) error {
	left, right, err := c.sides(s, e.Left, e.Right, path)
	if err != nil {
		return err
	}
	l, _, err := c.text(s, e.Left, left, path.Key("left"))
	if err != nil {
		return err
	}
	r, _, err := c.text(s, e.Right, right, path.Key("right"))
	if err != nil {
		return err
	}
	switch {
	case e.Op == dtql.Divide:
		// Integers divide to integers on one engine, to decimals on another; and only PostgreSQL fails at zero.
		c.write("(", c.double(l), " / NULLIF(", c.double(r), ", 0))")
	case left.kind == kindFloat || right.kind == kindFloat:
		c.write("(", c.double(l), " ", string(e.Op), " ", c.double(r), ")")
	case left.kind == kindInt && right.kind == kindInt:
		c.write("(", c.integer(l), " ", string(e.Op), " ", c.integer(r), ")")
	default:
		c.write("(", l, " ", string(e.Op), " ", r, ")")
	}
	return nil
}
