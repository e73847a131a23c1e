package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strconv"
	"strings"

	"modernc.org/sqlite"
)

// sqliteDialect is SQLite. It has neither booleans nor decimals nor times of its own: the declared type of a column
// says what its values are meant to be, and two functions of ours make times comparable that are written differently.
type sqliteDialect struct {
	path string
	sqliteFile
}

const (
	timeFunction = "chatwright_time"
	dateFunction = "chatwright_date"
	// sortableTime is of one length, so that texts compare as the times do.
	sortableTime = "2006-01-02T15:04:05.000000000Z"
)

// pool opens the file at a URI that makes it read-only.
func pool(uri string) (*sql.DB, error) {
	drv := &sqlite.Driver{} // its functions are for these connections alone
	for name, layout := range map[string]string{timeFunction: sortableTime, dateFunction: "2006-01-02"} {
		err := drv.RegisterDeterministicScalarFunction(name, 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			if at, ok := asTime(args[0]); ok {
				return at.Format(layout), nil
			}
			return args[0], nil
		})
		if err != nil {
			return nil, err
		}
	}
	return sql.OpenDB(&sqliteConnector{drv, uri}), nil
}

type sqliteConnector struct {
	driver *sqlite.Driver
	uri    string
}

func (c *sqliteConnector) Driver() driver.Driver { return c.driver }

func (c *sqliteConnector) Connect(ctx context.Context) (driver.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return c.driver.Open(c.uri)
}

// begin bounds a value; the context ends a statement that takes too long.
func (*sqliteDialect) begin(_ context.Context, conn *sql.Conn, _ *sql.Tx) error {
	_, err := sqlite.Limit(conn, limitLength, maxBytes)
	return err
}

func (*sqliteDialect) overflow() *dam { return nil }

func (*sqliteDialect) textAsBytes() bool { return false }

func (*sqliteDialect) version(ctx context.Context, tx *sql.Tx) (string, error) {
	var version string
	err := tx.QueryRowContext(ctx, "PRAGMA schema_version").Scan(&version)
	return version, err
}

func (*sqliteDialect) tables(ctx context.Context, tx *sql.Tx, schema string) ([]string, error) {
	if schema != "" && schema != "main" {
		return nil, nil
	}
	return texts(ctx, tx, `SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`)
}

func (*sqliteDialect) describe(ctx context.Context, tx *sql.Tx, schema, name string) (*table, error) {
	if schema != "" && schema != "main" || strings.HasPrefix(strings.ToLower(name), "sqlite_") {
		return nil, nil
	}
	var definition sql.NullString
	err := tx.QueryRowContext(ctx, "SELECT sql FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ?", name).Scan(&definition)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	collation := "BINARY"
	if strings.Contains(strings.ToLower(definition.String), "collate") || !strings.HasPrefix(strings.ToLower(definition.String), "create table") {
		collation = "" // which column has which, SQLite does not tell
	}
	rows, err := tx.QueryContext(ctx, "SELECT name, type, \"notnull\", pk FROM pragma_table_xinfo(?) WHERE hidden <> 1", name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	found := &table{schema: "main", name: name}
	for rows.Next() {
		c := column{collation: collation}
		var declared string
		var notNull bool
		if err := rows.Scan(&c.name, &declared, &notNull, &c.primary); err != nil {
			return nil, err
		}
		c.datatype, c.nullable = sqliteType(declared), !notNull
		found.columns = append(found.columns, c)
	}
	return found, rows.Err()
}

// likeNumber is a column that is meant for text, and where SQLite would make numbers of texts that look like one.
const likeNumber = "numeric"

// limitLength names the limit of the bytes of a value.
const limitLength = 0

// sqliteType goes by the rules of SQLite for a declared type, after the names that other databases have.
func sqliteType(declared string) datatype {
	declared = strings.ToUpper(declared)
	name, size, _ := strings.Cut(declared, "(")
	name = strings.TrimSpace(name)
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(name, part) {
				return true
			}
		}
		return false
	}
	switch {
	case has("BOOL"), name == "TINYINT" && strings.HasPrefix(size, "1)"):
		return datatype{kind: kindBool}
	case has("DATETIME", "TIMESTAMP"):
		return datatype{kind: kindTime}
	case name == "DATE":
		return datatype{kind: kindDate}
	case name == "TIME":
		return datatype{kind: kindClock}
	case has("JSON"):
		return datatype{kind: kindJSON}
	case has("INT"):
		return datatype{kind: kindInt}
	case has("CHAR", "CLOB", "TEXT"):
		return datatype{kind: kindText}
	case has("UUID"):
		return datatype{kind: kindText, native: likeNumber}
	case has("BLOB", "BINARY"):
		return datatype{kind: kindBinary}
	case has("REAL", "FLOAT", "DOUBLE"):
		return datatype{kind: kindFloat}
	case has("DEC", "NUMERIC"):
		return datatype{kind: kindDecimal, scale: declaredScale(size)}
	}
	return datatype{}
}

// declaredScale reads "10,2)": of SQLite's doubles it says how many digits there were.
func declaredScale(size string) int {
	if size == "" {
		return unknownScale
	}
	_, scale, ok := strings.Cut(strings.TrimSuffix(strings.TrimSpace(size), ")"), ",")
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(scale))
	if err != nil || n < 0 || n > maxDigits {
		return unknownScale
	}
	return n
}

func (*sqliteDialect) quote(identifier string) string {
	return `"` + strings.ReplaceAll(identifier, `"`, `""`) + `"`
}

func (*sqliteDialect) placeholder(n int) (string, bool) { return "?" + strconv.Itoa(n), true }

func (*sqliteDialect) bind(v any, t datatype) (string, any) {
	switch v := v.(type) {
	case bool:
		if v {
			return "%s", int64(1)
		}
		return "%s", int64(0)
	case decimalText:
		f, _ := strconv.ParseFloat(v.text, 64) // at most 65 digits: it is in range
		return "%s", f
	}
	if at, ok := asTime(v); ok && t.kind == kindTime {
		return "%s", at.Format(sortableTime)
	}
	return "%s", v
}

func (*sqliteDialect) operand(column string, t datatype) string {
	switch t.kind {
	case kindBool: // as rows show it
		return "CASE typeof(" + column + ") WHEN 'text' THEN CASE lower(" + column + ")" +
			" WHEN 'true' THEN 1 WHEN 't' THEN 1 WHEN '1' THEN 1 WHEN 'false' THEN 0 WHEN 'f' THEN 0 WHEN '0' THEN 0 ELSE " + column + " END ELSE " + column + " END"
	case kindTime:
		return timeFunction + "(" + column + ")"
	case kindDate:
		return dateFunction + "(" + column + ")"
	case kindAny, kindText:
		if t.kind == kindAny || t.native == likeNumber {
			return "+" + column // without an affinity, for which '5 ' would be 5
		}
	}
	return column
}

func (*sqliteDialect) output(column string, _ datatype) string { return column }

func (*sqliteDialect) orderKey(operand string, _ datatype, desc, _ bool) string {
	return descending(operand, desc)
}

// descending is all there is to say where nulls count as the least, as they do in DTQL.
func descending(operand string, desc bool) string {
	if desc {
		return operand + " DESC"
	}
	return operand
}

func (*sqliteDialect) double(expr string) string { return "CAST(" + expr + " AS REAL)" }

func (*sqliteDialect) integer(expr string) string { return expr }

func (*sqliteDialect) fold(function, distinct, operand string, _ datatype) string {
	return function + "(" + distinct + operand + ")"
}

func (*sqliteDialect) timedOut(err error) bool {
	return sqliteCode(err) == codeInterrupt
}

func (*sqliteDialect) lost(error) bool { return false } // there is no connection

// isolation needs no word: every transaction of SQLite sees one state.
func (*sqliteDialect) isolation() sql.IsolationLevel { return sql.LevelDefault }

func (*sqliteDialect) stale(error) bool { return false } // version knows before

// texts runs a query of one column.
func texts(ctx context.Context, tx *sql.Tx, query string, args ...any) ([]string, error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var list []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, rows.Err()
}
