package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// postgresDialect is PostgreSQL. It is the strictest of the three: what it takes means the same everywhere.
type postgresDialect struct {
	config  *pgx.ConnConfig
	timeout time.Duration
	dam     *dam
}

func newPostgres(dsn string, connect, statement time.Duration) (*postgresDialect, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.ConnectTimeout = connect
	// Prepared for one use: a plan that is kept outlives the table that it was made for, and poolers lose it.
	config.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "chatwright-tray"
	}
	// Without it both sides would speak the encoding of the database, which nobody here reads.
	config.RuntimeParams["client_encoding"] = "UTF8"
	d := &postgresDialect{config, statement, &dam{}}
	config.DialFunc = pgconn.DialFunc(d.dam.around(dialer(config.DialFunc)))
	config.BuildFrontend = d.dam.frontend
	return d, nil
}

func (d *postgresDialect) open() (*sql.DB, error) {
	return stdlib.OpenDB(*d.config, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "SET default_transaction_read_only = on")
		return err
	})), nil
}

// begin says it again for this transaction, since a pooler may have put it on a connection that knows nothing.
func (d *postgresDialect) begin(ctx context.Context, _ *sql.Conn, tx *sql.Tx) error {
	ms := strconv.FormatInt(d.timeout.Milliseconds(), 10)
	_, err := tx.ExecContext(ctx, "SET LOCAL statement_timeout = "+ms+"; SET LOCAL lock_timeout = "+ms+"; SET LOCAL TimeZone = 'UTC'")
	return err
}

func (*postgresDialect) version(context.Context, *sql.Tx) (string, error) { return "", nil } // begin was a question

func (d *postgresDialect) overflow() *dam { return d.dam }

func (*postgresDialect) textAsBytes() bool { return false }

func (*postgresDialect) changed() (bool, error) { return false, nil }

func (*postgresDialect) isolation() sql.IsolationLevel { return sql.LevelRepeatableRead }

// visible is what may be asked for: everything but the catalogues, in which there are other people's secrets.
const visible = `c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_toast%' AND (n.nspname = $1::text OR ($1::text = '' AND n.nspname = ANY (current_schemas(false))))`

func (*postgresDialect) tables(ctx context.Context, tx *sql.Tx, schema string) ([]string, error) {
	return texts(ctx, tx, "SELECT DISTINCT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE "+visible+
		" AND has_table_privilege(c.oid, 'SELECT') ORDER BY 1", schema)
}

const describePostgres = `
SELECT n.nspname::text, a.attname::text, a.attnotnull, COALESCE(base.typname, t.typname)::text, COALESCE(base.typtype, t.typtype)::text,
  COALESCE(base.typcategory, t.typcategory)::text, CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END,
  COALESCE(array_position(i.indkey::int2[], a.attnum) + 1 - array_lower(i.indkey::int2[], 1), 0),
  COALESCE(CASE WHEN l.collname = 'default' THEN (SELECT datcollate FROM pg_database WHERE datname = current_database()) ELSE l.collname END, '')::text
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_type base ON t.typtype = 'd' AND base.oid = t.typbasetype
LEFT JOIN pg_collation l ON l.oid = a.attcollation
LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
WHERE ` + visible + ` AND c.relname = $2::text
ORDER BY array_position(current_schemas(false), n.nspname), n.nspname, a.attnum`

func (d *postgresDialect) describe(ctx context.Context, tx *sql.Tx, schema, name string) (*table, error) {
	rows, err := tx.QueryContext(ctx, describePostgres, schema, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var found *table
	for rows.Next() {
		var c column
		var in, typname, typtype, category string
		var notNull bool
		var modifier int
		if err := rows.Scan(&in, &c.name, &notNull, &typname, &typtype, &category, &modifier, &c.primary, &c.collation); err != nil {
			return nil, err
		}
		if found == nil {
			found = &table{schema: in, name: name}
		}
		if in != found.schema { // the same name further down the search path
			break
		}
		c.datatype, c.nullable = postgresType(typname, typtype, category, modifier), !notNull
		found.columns = append(found.columns, c)
	}
	return found, rows.Err()
}

// Ways in which columns of PostgreSQL are written in SQL.
const (
	asText = "as text" // enums, and texts that are padded
	asJSON = "as JSON" // arrays and composites
	// caseless texts are of an extension, which can be in any schema.
	caseless = "citext"
)

func postgresType(name, typtype, category string, modifier int) datatype {
	switch {
	case typtype == "e":
		return datatype{kind: kindText, native: asText}
	case category == "A" || typtype == "c":
		return datatype{kind: kindJSON, native: asJSON}
	}
	switch name {
	case "bool":
		return datatype{kind: kindBool}
	case "int2", "int4", "int8":
		return datatype{kind: kindInt}
	case "float4":
		return datatype{kind: kindFloat, bits: 32}
	case "float8":
		return datatype{kind: kindFloat}
	case "numeric":
		scale := unknownScale
		if modifier >= 4 {
			scale = (modifier - 4) & 0x7ff
		}
		return datatype{kind: kindDecimal, scale: scale}
	case "text", "varchar":
		return datatype{kind: kindText}
	case "citext": // a literal that is not one too would be compared as text is
		return datatype{kind: kindText, native: caseless}
	case "bpchar", "name", "char":
		return datatype{kind: kindText, native: asText}
	case "timestamp":
		return datatype{kind: kindTime}
	case "timestamptz":
		return datatype{kind: kindTime, zoned: true}
	case "date":
		return datatype{kind: kindDate}
	case "time":
		return datatype{kind: kindClock}
	case "uuid":
		return datatype{kind: kindUUID}
	case "bytea":
		return datatype{kind: kindBinary}
	case "json", "jsonb":
		return datatype{kind: kindJSON}
	}
	return datatype{kind: kindOther, native: name}
}

func (*postgresDialect) quote(identifier string) string {
	return `"` + strings.ReplaceAll(identifier, `"`, `""`) + `"`
}

func (*postgresDialect) placeholder(n int) (string, bool) { return "$" + strconv.Itoa(n), true }

// bind gives every value a type, since PostgreSQL would guess one from where it stands.
func (*postgresDialect) bind(v any, t datatype) (string, any) {
	switch v := v.(type) {
	case bool:
		return "%s::bool", v
	case int64:
		return "%s::int8", v
	case float64:
		return "%s::float8", v
	case decimalText:
		return "%s::numeric", v.text
	case []byte:
		return "%s::bytea", v
	case time.Time:
		if t.zoned {
			return "%s::timestamptz", v
		}
		return "%s::timestamp", v.UTC()
	}
	switch t.kind {
	case kindDate:
		return "%s::date", v
	case kindClock:
		return "%s::time", v
	case kindUUID:
		return "%s::uuid", v
	}
	if t.native == caseless {
		return "%s::citext", v
	}
	return "%s::text", v
}

func (*postgresDialect) operand(column string, t datatype) string {
	if t.native == asText {
		return column + "::text"
	}
	return column
}

func (*postgresDialect) output(column string, t datatype) string {
	switch {
	case t.native == asText, t.kind == kindOther, t.kind == kindClock, t.kind == kindUUID, t.kind == kindJSON && t.native == "":
		return column + "::text"
	case t.native == asJSON:
		return "to_jsonb(" + column + ")::text"
	}
	return column
}

// orderKey says where nulls go only where there can be some: an index serves the order otherwise.
func (*postgresDialect) orderKey(operand string, _ datatype, desc, nullable bool) string {
	key := descending(operand, desc)
	switch {
	case !nullable:
		return key
	case desc:
		return key + " NULLS LAST"
	}
	return key + " NULLS FIRST"
}

func (*postgresDialect) double(expr string) string { return expr + "::float8" }

func (*postgresDialect) integer(expr string) string { return expr + "::int8" }

func (d *postgresDialect) fold(function, distinct, operand string, t datatype) string {
	if function == "avg" || function == "sum" && t.kind == kindFloat {
		operand = d.double(operand)
	}
	return function + "(" + distinct + operand + ")"
}

func (*postgresDialect) timedOut(err error) bool {
	coded, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (coded.Code == "57014" || coded.Code == "55P03") // query_canceled, lock_not_available
}

func (*postgresDialect) stale(err error) bool {
	coded, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (strings.HasPrefix(coded.Code, "42") && coded.Code != "42501" || coded.Code == "0A000")
}

// lost takes whatever PostgreSQL did not say itself for the connection's fault, and its farewells.
func (*postgresDialect) lost(err error) bool {
	coded, ok := errors.AsType[*pgconn.PgError](err)
	if ok {
		return strings.HasPrefix(coded.Code, "57P") || strings.HasPrefix(coded.Code, "08")
	}
	return isNetwork(err)
}
