// Package sqlstore runs DTQL on the databases that an application really uses: SQLite, PostgreSQL, MySQL and MariaDB.
// It is a datastate.Selector: one document, the same JSON on every engine.
//
// # What reaches a database
//
// A document is a tree, and only trees become SQL: names are looked up in the schema and written as they stand there,
// quoted; values are bound. A transaction is read-only in two ways, ends with a rollback and takes no longer than the
// statement timeout. No more rows are read than are asked for, and one; the database counts the others.
//
// # What a row holds
//
// Integers and doubles are numbers, decimals text with their digits, booleans booleans, times RFC 3339 in UTC, binary
// the text BinaryMarker and base64, JSON columns, arrays and composites nested maps and lists, UUIDs lower-case text.
// SQLite has types for none of these: there the declared type of the column counts, DECIMAL(10,2) gives two digits, and
// a number in a time column is seconds since 1970.
// What a column holds against its type is shown as what it is and found as what is shown: bytes as binary, more digits than
// a decimal has, and in a boolean column, TINYINT(1) too, any number but 0 and 1 as that number.
//
// # Where engines disagree
//
// They are made to agree, or the document is refused, and never answered by chance:
//
//   - A literal has to be of the kind of the column that it meets. MySQL would find 0 when asked for 'abc'.
//   - A number that meets a double is the nearest double; one that meets an integer or a decimal is exact. SQLite keeps
//     decimals as doubles: beyond 15 digits it is SQLite that has lost them.
//   - Division gives a double, and null where it is by zero. Sums of integers are integers, averages doubles. Sums and
//     averages of doubles are rounded to 14 digits, since the order of the rows decides about the last ones.
//   - Nulls come first ascending, last descending.
//   - The order of a query on plain rows ends in the primary keys of its tables, so that one that is cut off always gives
//     the same rows. Without a primary key, and with a limit or more rows than are read, which rows these are is for the
//     database to decide.
//   - All rows of a group have to agree on what is selected of it.
//   - A row that the rights of the DSN's user hide, such as by row security, is not there.
//   - Texts are compared by the collation of the database, which the result names where it is known: MySQL's usual ones
//     ignore case.
//   - Of two columns of a wildcard that are called alike the later one is source.column.
//   - Table and column names are exact, their case too.
//
// # SQLite files
//
// A file that an application is writing is read without blocking it. In the write-ahead mode SQLite needs a shared index
// beside the file; where there is none and the folder cannot be written, and no log is left, the file is read as one
// that nobody changes, and whether that was so is looked at afterwards. Where a log is left but no index, nothing can be
// read: the error says so.
package sqlstore
