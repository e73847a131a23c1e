package sqlstore

import (
	"context"
	"database/sql"
)

// A dialect is all that differs between two database engines; a further engine is one more of them. The identifiers and
// expressions that it is given are SQL already.
type dialect interface {
	// changed reports whether what open opened is no longer what it would open now. The holder calls it and open one at a
	// time.
	changed() (bool, error)
	// open makes the pool. Every connection of it refuses to write.
	open() (*sql.DB, error)
	// isolation is what lets two statements of a transaction see the same data.
	isolation() sql.IsolationLevel
	// begin prepares a read-only transaction that has begun on conn: no statement in it runs for longer than the timeout.
	begin(ctx context.Context, conn *sql.Conn, tx *sql.Tx) error
	// overflow is what keeps answers from being longer than anybody reads; nil where the engine itself does.
	overflow() *dam
	// textAsBytes says that the driver gives texts and numbers as bytes. Else bytes are binary, whatever the column is.
	textAsBytes() bool
	// describe finds a table or view; nil when there is none of exactly that name. schema "" is where the engine looks first.
	describe(ctx context.Context, tx *sql.Tx, schema, name string) (*table, error)
	// tables lists what describe would find in a schema, for nearest.
	tables(ctx context.Context, tx *sql.Tx, schema string) ([]string, error)
	// version is the cheapest question there is. It changes when any table does; "" where the engine does not know.
	version(ctx context.Context, tx *sql.Tx) (string, error)

	quote(identifier string) string
	// placeholder is the n-th, from 1; numbered ones may be used more than once.
	placeholder(n int) (text string, numbered bool)
	// bind says how a literal that was coerced to t travels: the SQL around its placeholder ("%s::int8") and the argument.
	bind(v any, t datatype) (around string, arg any)

	// operand is a column where it is compared, grouped or folded: equal values have to be equal there.
	operand(column string, t datatype) string
	// output is a column in the list of columns, where nothing is done to it.
	output(column string, t datatype) string
	// orderKey is an operand in ORDER BY.
	orderKey(operand string, t datatype, desc, nullable bool) string
	// double is an expression of numbers as a double.
	double(expr string) string
	// integer is an integer that is calculated with, in the widest type.
	integer(expr string) string
	// fold is an aggregate of an operand; function is sum, min, max or count.
	fold(function, distinct, operand string, t datatype) string

	// lost tells an error of a connection from an answer of the database.
	lost(err error) bool
	// timedOut tells the error of the statement timeout.
	timedOut(err error) bool
	// stale tells an error that comes of a table which is not any more what describe said.
	stale(err error) bool
}
