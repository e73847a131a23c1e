package dtql

// Document is one read-only query. The zero value of every field but From means that the document does not say it.
type Document struct {
	As      string // a name for the whole; it changes nothing
	From    From
	Where   Condition // nil: all rows
	GroupBy []Expr
	Having  Condition // nil: all groups
	OrderBy []Order
	Limit   int64    // 0: none
	Offset  int64    // works without Limit
	Columns []Column // nil: all columns of all sources, in the order of the tables
}

// From names the table or view that is read, and what is joined to it.
type From struct {
	Name   string
	Schema string // "": where the holder looks first
	Alias  string // "": the source is known by its Name
	Joins  []Join // in the order of the document; the From of a Join has none
}

// Source is the name by which fields refer to this From.
func (f From) Source() string {
	if f.Alias != "" {
		return f.Alias
	}
	return f.Name
}

// JoinType says what happens to rows that find no partner.
type JoinType string

// The types of joins.
const (
	InnerJoin JoinType = "inner" // they are left out
	LeftJoin  JoinType = "left"  // they stay, with nulls
)

// Join adds the columns of another table where all of On hold.
type Join struct {
	Type JoinType // "": InnerJoin
	From From
	On   []On
}

// On is one equality between a field of the one side and a field of the other. Its operator is always Equal.
type On struct {
	Left, Right Field // both with their Source
}

// Order is one key of the order: nulls come first ascending, last descending.
type Order struct {
	Expr Expr
	Desc bool
}

// Column is one column of the result: Expr, or Wildcard and neither Expr nor As.
type Column struct {
	Expr     Expr
	As       string // "": see Name
	Wildcard *Wildcard
}

// Name is what the column is called in a row: As, else a field's own name, else an aggregate's function. It is "" for a
// wildcard, and for a bare value or calculation, which Validate wants to have an As.
func (c Column) Name() string {
	switch expr := c.Expr.(type) {
	case Field:
		if c.As == "" {
			return expr.Name
		}
	case Aggregate:
		if c.As == "" {
			return string(expr.Function)
		}
	}
	return c.As
}

// Wildcard stands for all columns of a source, but for some.
type Wildcard struct {
	Source  string // "": all sources
	Exclude []string
}

// Op is a comparison operator, spelt as a document spells it.
type Op string

// The comparison operators; there are no others.
const (
	Equal          Op = "=="
	In             Op = "In"
	Greater        Op = ">"
	GreaterOrEqual Op = ">="
	Less           Op = "<"
	LessOrEqual    Op = "<="
)

// Condition is a Comparison, And, Or, IsNull, IsNotNull, Exists or NotExists (values, never pointers).
type Condition interface{ condition() }

type (
	// Comparison compares two expressions. With a null Value on one side Equal means "is null", and no other operator is
	// valid. The Right of In is Values or, before Bind, a Param.
	Comparison struct {
		Op          Op
		Left, Right Expr
	}
	// And holds when all of its conditions do; it has at least one.
	And []Condition
	// Or holds when one of its conditions does; it has at least one.
	Or []Condition
	// IsNull holds where the expression has no value.
	IsNull struct{ Expr Expr }
	// IsNotNull holds where the expression has a value.
	IsNotNull struct{ Expr Expr }
	// Exists holds when Query has a row. Query sees the sources of the documents around it.
	Exists struct{ Query *Document }
	// NotExists holds when Query has no row.
	NotExists struct{ Query *Document }
)

func (Comparison) condition() {}
func (And) condition()        {}
func (Or) condition()         {}
func (IsNull) condition()     {}
func (IsNotNull) condition()  {}
func (Exists) condition()     {}
func (NotExists) condition()  {}

// Expr is a Field, Value, Values, Param, Star, Aggregate or Binary (values, never pointers).
type Expr interface{ expr() }

type (
	// Field is a column of a source. In OrderBy it may also be the name of one of Columns.
	Field struct {
		Name   string
		Source string // "": the one source that has such a column
	}
	// Value is one literal: nil, bool, string or json.Number.
	Value struct{ V any }
	// Values is a list of literals, none of them null. It is only valid as the Right of In, and may be empty.
	Values []any
	// Param stands for what Bind puts there.
	Param struct{ Name string }
	// Star is the argument of count(*), and valid nowhere else.
	Star struct{}
	// Aggregate folds the rows of a group (of all, without GroupBy) into one value.
	Aggregate struct {
		Function Function
		Distinct bool
		Args     []Expr // exactly one
	}
	// Binary calculates with two expressions.
	Binary struct {
		Op          BinaryOp
		Left, Right Expr
	}
)

func (Field) expr()     {}
func (Value) expr()     {}
func (Values) expr()    {}
func (Param) expr()     {}
func (Star) expr()      {}
func (Aggregate) expr() {}
func (Binary) expr()    {}

// Function is the name of an aggregate.
type Function string

// The aggregates.
const (
	Count Function = "count"
	Sum   Function = "sum"
	Avg   Function = "avg"
	Min   Function = "min"
	Max   Function = "max"
)

// BinaryOp is an arithmetic operator.
type BinaryOp string

// The arithmetic operators.
const (
	Add      BinaryOp = "+"
	Subtract BinaryOp = "-"
	Multiply BinaryOp = "*"
	Divide   BinaryOp = "/"
)
