package sqlstore

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

func (*mysqlDialect) quote(identifier string) string {
	return "`" + strings.ReplaceAll(identifier, "`", "``") + "`"
}

func (*mysqlDialect) placeholder(int) (string, bool) { return "?", false }

func (*mysqlDialect) bind(v any, t datatype) (string, any) {
	switch v := v.(type) {
	case bool:
		if v {
			return "%s", int64(1)
		}
		return "%s", int64(0)
	case decimalText: // a text would be compared as a double
		return fmt.Sprintf("CAST(%%s AS DECIMAL(%d,%d))", v.precision, v.scale), v.text
	case []byte: // as text it would have to be valid in some character set
		return "UNHEX(%s)", hex.EncodeToString(v)
	case time.Time:
		return "CAST(%s AS DATETIME(6))", v.UTC().Format("2006-01-02 15:04:05.000000")
	}
	switch t.kind {
	case kindDate:
		return "CAST(%s AS DATE)", v
	case kindClock:
		return "CAST(%s AS TIME(6))", v
	}
	return "%s", v
}

func (*mysqlDialect) operand(column string, t datatype) string {
	switch {
	case t.kind == kindBool, t.native == bits:
		return "(" + column + " + 0)"
	}
	return column
}

func (*mysqlDialect) output(column string, t datatype) string {
	switch {
	case t.kind == kindBool, t.native == bits:
		return "(" + column + " + 0)"
	case t.native == "geometry", t.native == "point", t.native == "polygon", t.native == "linestring":
		return "ST_AsText(" + column + ")"
	case t.kind == kindOther:
		return "CAST(" + column + " AS CHAR)"
	}
	return column
}

// orderKey orders enums by their text: by themselves they have the order of their declaration.
func (*mysqlDialect) orderKey(operand string, t datatype, desc, _ bool) string {
	if t.native == enum {
		operand = "CONCAT(" + operand + ")"
	}
	return descending(operand, desc)
}

func (*mysqlDialect) double(expr string) string { return "(" + expr + " + 0e0)" }

func (*mysqlDialect) integer(expr string) string { return expr }

func (d *mysqlDialect) fold(function, distinct, operand string, t datatype) string {
	switch {
	case function == "avg": // of integers it would have four digits after the point
		operand = d.double(operand)
	case t.native == enum:
		operand = "CONCAT(" + operand + ")"
	}
	return function + "(" + distinct + operand + ")"
}

// Numbers of MySQL's errors.
const (
	errMaxExecutionTime = 3024 // MySQL
	errStatementTimeout = 1969 // MariaDB
	errLockWaitTimeout  = 1205
	errServerShutdown   = 1053
	errConnectionKilled = 1927
	errUnknownColumn    = 1054
	errUnknownTable     = 1146
)

func (*mysqlDialect) timedOut(err error) bool {
	coded, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && (coded.Number == errMaxExecutionTime || coded.Number == errStatementTimeout || coded.Number == errLockWaitTimeout)
}

func (*mysqlDialect) lost(err error) bool {
	if coded, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return coded.Number == errServerShutdown || coded.Number == errConnectionKilled
	}
	return isNetwork(err) || errors.Is(err, mysql.ErrInvalidConn)
}

func (*mysqlDialect) stale(err error) bool {
	coded, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && (coded.Number == errUnknownColumn || coded.Number == errUnknownTable)
}
