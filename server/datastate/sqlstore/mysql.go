package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

// mysqlDialect is MySQL and MariaDB. They convert whatever is compared, so that nothing may reach them that was not
// coerced before.
type mysqlDialect struct {
	config  *mysql.Config
	timeout time.Duration
	dam     *dam
	schemas atomic.Uint64 // how often version was asked
}

// newMySQL translates a URL, whose parameters are "socket", the path of a Unix socket, and "tls" as the driver has it.
func newMySQL(u *url.URL, connect, statement time.Duration) (*mysqlDialect, error) {
	config := mysql.NewConfig()
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.DBName = strings.TrimPrefix(u.Path, "/")
	if config.DBName == "" || strings.Contains(config.DBName, "/") {
		return nil, errors.New("the path is to be the name of one database")
	}
	config.Net, config.Addr = "tcp", u.Host
	if u.Port() == "" {
		config.Addr = u.Hostname() + ":3306"
		if strings.Contains(u.Hostname(), ":") {
			config.Addr = "[" + u.Hostname() + "]:3306"
		}
	}
	for name, values := range u.Query() {
		switch name {
		case "socket":
			config.Net, config.Addr = "unix", values[0]
		case "tls":
			config.TLSConfig = values[0]
		default:
			return nil, fmt.Errorf("unknown parameter %q: there are socket and tls", clip(name))
		}
	}
	if config.Net == "tcp" && u.Hostname() == "" {
		return nil, errors.New("the host is missing")
	}
	config.Timeout = connect
	config.ReadTimeout = statement + connect // a server that is gone without a word
	config.Logger = &mysql.NopLogger{}       // its errors come back as errors
	d := &mysqlDialect{config: config, timeout: statement, dam: &dam{}}
	config.DialFunc = d.dam.around((&net.Dialer{Timeout: connect}).DialContext)
	return d, nil
}

func (d *mysqlDialect) open() (*sql.DB, error) {
	connector, err := mysql.NewConnector(d.config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(&mysqlConnector{connector, d.timeout}), nil
}

// A mysqlConnector makes connections that only read, and that stop reading in time.
type mysqlConnector struct {
	driver.Connector
	timeout time.Duration
}

func (c *mysqlConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.prepare(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func (c *mysqlConnector) prepare(ctx context.Context, conn driver.Conn) error {
	version, err := serverVersion(ctx, conn)
	if err != nil {
		return err
	}
	timeout := "max_execution_time = " + strconv.FormatInt(c.timeout.Milliseconds(), 10)
	if strings.Contains(version, "MariaDB") {
		timeout = "max_statement_time = " + strconv.FormatFloat(c.timeout.Seconds(), 'f', 3, 64)
	}
	for _, statement := range []string{
		"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
		"SET SESSION " + timeout,
		// Subtracting unsigned integers may give what is less than nothing, as elsewhere.
		"SET SESSION time_zone = '+00:00', sql_mode = 'NO_UNSIGNED_SUBTRACTION', innodb_lock_wait_timeout = 5",
	} {
		if _, err := conn.(driver.ExecerContext).ExecContext(ctx, statement, nil); err != nil {
			return err
		}
	}
	return nil
}

func serverVersion(ctx context.Context, conn driver.Conn) (string, error) {
	rows, err := conn.(driver.QueryerContext).QueryContext(ctx, "SELECT VERSION()", nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = rows.Close() }()
	row := make([]driver.Value, 1)
	if err := rows.Next(row); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s", row[0]), nil
}

func (*mysqlDialect) begin(context.Context, *sql.Conn, *sql.Tx) error { return nil } // the connection is prepared

// version is another one each time: MySQL says nothing of a column whose type was changed, it converts what the column is
// compared with, and 'abc' is 0.
func (d *mysqlDialect) version(context.Context, *sql.Tx) (string, error) {
	return strconv.FormatUint(d.schemas.Add(1), 10), nil
}

func (d *mysqlDialect) overflow() *dam { return d.dam }

func (*mysqlDialect) textAsBytes() bool { return true }

func (*mysqlDialect) changed() (bool, error) { return false, nil }

// isolation is that of the connection.
func (*mysqlDialect) isolation() sql.IsolationLevel { return sql.LevelDefault }

const mysqlVisible = `table_schema = IF(? = '', DATABASE(), ?) AND LOWER(table_schema) NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema')`

func (*mysqlDialect) tables(ctx context.Context, tx *sql.Tx, schema string) ([]string, error) {
	return texts(ctx, tx, "SELECT table_name FROM information_schema.tables WHERE "+mysqlVisible+" ORDER BY table_name", schema, schema)
}

func (*mysqlDialect) describe(ctx context.Context, tx *sql.Tx, schema, name string) (*table, error) {
	rows, err := tx.QueryContext(ctx, `SELECT table_schema, table_name, column_name, data_type, column_type, COALESCE(numeric_scale, 0), is_nullable, COALESCE(collation_name, '')
FROM information_schema.columns WHERE `+mysqlVisible+` AND table_name = ? ORDER BY ordinal_position`, schema, schema, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var found *table
	for rows.Next() {
		var c column
		var in, is, dataType, columnType, nullable string
		var scale int
		if err := rows.Scan(&in, &is, &c.name, &dataType, &columnType, &scale, &nullable, &c.collation); err != nil {
			return nil, err
		}
		if is != name || schema != "" && in != schema {
			continue // a collation that takes one case for the other
		}
		if found == nil {
			found = &table{schema: in, name: is}
		}
		c.datatype, c.nullable = mysqlType(strings.ToLower(dataType), strings.ToLower(columnType), scale), nullable == "YES"
		found.columns = append(found.columns, c)
	}
	if err := rows.Err(); err != nil || found == nil {
		return nil, err
	}
	return found, errors.Join(mysqlKey(ctx, tx, found), mariadbJSON(ctx, tx, found))
}

func mysqlKey(ctx context.Context, tx *sql.Tx, found *table) error {
	key, err := texts(ctx, tx, `SELECT column_name FROM information_schema.statistics
WHERE table_schema = ? AND table_name = ? AND index_name = 'PRIMARY' ORDER BY seq_in_index`, found.schema, found.name)
	for i, name := range key {
		if c := found.column(name); c != nil {
			c.primary = i + 1
		}
	}
	return err
}

// mariadbJSON finds the JSON columns of MariaDB, which are texts with a constraint.
func mariadbJSON(ctx context.Context, tx *sql.Tx, found *table) error {
	maybe := false
	for _, c := range found.columns {
		maybe = maybe || c.native == longText
	}
	if !maybe {
		return nil
	}
	var version string
	if err := tx.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil || !strings.Contains(version, "MariaDB") {
		return err
	}
	clauses, err := texts(ctx, tx, `SELECT check_clause FROM information_schema.check_constraints WHERE constraint_schema = ? AND table_name = ?`,
		found.schema, found.name)
	for _, clause := range clauses {
		for i := range found.columns {
			c := &found.columns[i]
			if c.native == longText && strings.EqualFold(clause, "json_valid(`"+strings.ReplaceAll(c.name, "`", "``")+"`)") {
				c.datatype = datatype{kind: kindJSON}
			}
		}
	}
	return err
}

// Ways in which columns of MySQL are written in SQL.
const (
	longText = "long text" // or JSON, on MariaDB
	enum     = "enum"
	bits     = "bits"
)

func mysqlType(dataType, columnType string, scale int) datatype {
	switch dataType {
	case "tinyint":
		if strings.HasPrefix(columnType, "tinyint(1)") {
			return datatype{kind: kindBool}
		}
		return datatype{kind: kindInt}
	case "smallint", "mediumint", "int", "bigint", "year":
		return datatype{kind: kindInt}
	case "bit":
		if columnType == "bit(1)" {
			return datatype{kind: kindBool}
		}
		return datatype{kind: kindInt, native: bits}
	case "float":
		return datatype{kind: kindFloat, bits: 32}
	case "double":
		return datatype{kind: kindFloat}
	case "decimal":
		return datatype{kind: kindDecimal, scale: scale}
	case "longtext":
		return datatype{kind: kindText, native: longText}
	case "char", "varchar", "tinytext", "text", "mediumtext":
		return datatype{kind: kindText}
	case "enum", "set":
		return datatype{kind: kindText, native: enum}
	case "datetime", "timestamp":
		return datatype{kind: kindTime}
	case "date":
		return datatype{kind: kindDate}
	case "time":
		return datatype{kind: kindClock}
	case "uuid":
		return datatype{kind: kindUUID}
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return datatype{kind: kindBinary}
	case "json":
		return datatype{kind: kindJSON}
	}
	return datatype{kind: kindOther, native: dataType}
}
