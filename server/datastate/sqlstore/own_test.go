package sqlstore_test

import (
	"path/filepath"
	"testing"
)

// Types that only one engine has come out as what they are nearest to.
func TestTypesOfOneEngine(t *testing.T) {
	for _, c := range []struct {
		engine, dsn string
		statements  []string
		cases       []struct{ document, want string }
	}{
		{"postgres", servers.Postgres().Database(t), []string{
			`CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')`, `CREATE DOMAIN euro AS numeric(8,3)`, `CREATE TYPE pair AS (a int, b text)`,
			`CREATE TABLE own (id int PRIMARY KEY, m mood, c char(5), u uuid, n numeric, e euro, l int[], p pair, i interval, a inet, f float8, s smallint, ts timestamp, j json)`,
			`INSERT INTO own VALUES (1, 'happy', 'ab', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', 1.10, 2.5, '{1,NULL,3}', '(7,x)', '1 day', '10.0.0.1', 'NaN', 7, '2026-01-02 03:04:05', '{"a":1}')`,
			`INSERT INTO own VALUES (2, 'ok', 'b', NULL, 'NaN', NULL, NULL, NULL, NULL, NULL, 'Infinity', NULL, 'infinity', NULL), (3, 'sad', '', NULL, 12345678901234567890.123456789, NULL, '{}', NULL, NULL, NULL, '-0', NULL, NULL, 'null')`,
		}, []struct{ document, want string }{
			{`{from: {name: own}, where: {op: ==, left: {field: u}, right: {value: a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}}}`,
				`[{"a":"10.0.0.1/32","c":"ab","e":"2.500","f":"NaN","i":"1 day","id":1,"j":{"a":1},"l":[1,null,3],"m":"happy","n":"1.10","p":{"a":7,"b":"x"},"s":7,"ts":"2026-01-02T03:04:05Z","u":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}]`},
			{`{from: {name: own}, where: {op: '>', left: {field: id}, right: {value: 1}}, columns: [{field: n}, {field: f}, {field: ts}, {field: l}, {field: j}]}`,
				`[{"f":"+Inf","j":null,"l":null,"n":"NaN","ts":"infinity"},{"f":0,"j":null,"l":[],"n":"12345678901234567890.123456789","ts":null}]`},
			{`{from: {name: own}, orderBy: [{field: m}], columns: [{field: m}]}`, `[{"m":"happy"},{"m":"ok"},{"m":"sad"}]`},
			{`{from: {name: own}, where: {op: ==, left: {field: c}, right: {value: ab}}, columns: [{field: id}]}`, `[{"id":1}]`},
			{`{from: {name: own}, where: {op: ==, left: {field: n}, right: {value: '12345678901234567890.123456789'}}, columns: [{field: id}]}`, `[{"id":3}]`},
			{`{from: {name: own}, groupBy: [{field: m}], where: {op: In, left: {field: m}, right: {values: [ok, sad]}}, columns: [{field: m}, {aggregate: {function: count, args: [{star: true}]}, as: n}]}`, `[{"m":"ok","n":1},{"m":"sad","n":1}]`},
			{`{from: {name: own}, orderBy: [{field: a}]}`, `error: orderBy[0]: the type inet is one that cannot be compared`},
			{`{from: {name: own}, where: {op: ==, left: {field: u}, right: {value: nonsense}}}`, `error: where.right: the text "nonsense" cannot be compared with a UUID`},
			{`{from: {name: own}, columns: [{aggregate: {function: sum, args: [{field: n}]}, as: s}], where: {op: '==', left: {field: id}, right: {value: 3}}}`, `[{"s":"12345678901234567890.123456789"}]`},
		}},
		{"mysql", servers.MariaDB().Database(t), []string{
			`CREATE TABLE own (id int unsigned PRIMARY KEY, m enum('sad','ok','happy'), c char(5), u uuid, big bigint unsigned, b1 bit(1), b5 bit(5), y year, d0 datetime, ts timestamp NULL, t time, bin varbinary(4), ti tinyint, j json, st set('x','y'))`,
			`INSERT INTO own VALUES (1, 'happy', 'ab', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', 18446744073709551615, 1, 5, 2026, '2026-01-02 03:04:05', '2026-01-02 03:04:05', '-100:30:00', x'0001', 7, '{"a": [1.50]}', 'x,y')`,
			`INSERT INTO own (id, m) VALUES (2, 'ok'), (3, 'sad')`,
		}, []struct{ document, want string }{
			{`{from: {name: own}, where: {op: ==, left: {field: big}, right: {value: 18446744073709551615}}}`,
				`[{"b1":true,"b5":5,"big":18446744073709551615,"bin":"base64:AAE=","c":"ab","d0":"2026-01-02T03:04:05Z","id":1,"j":{"a":[1.5]},"m":"happy","st":"x,y","t":"-100:30:00","ti":7,"ts":"2026-01-02T03:04:05Z","u":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","y":2026}]`},
			{`{from: {name: own}, orderBy: [{field: m}], columns: [{field: m}]}`, `[{"m":"happy"},{"m":"ok"},{"m":"sad"}]`},
			{`{from: {name: own}, where: {and: [{op: ==, left: {field: b5}, right: {value: 5}}, {op: ==, left: {field: b1}, right: {value: true}}, {op: ==, left: {field: u}, right: {value: A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}}]}, columns: [{binary: {op: '-', left: {value: 0}, right: {field: id}}, as: n}]}`, `[{"n":-1}]`},
			{`{from: {name: own}, columns: [{aggregate: {function: max, args: [{field: m}]}, as: a}, {aggregate: {function: min, args: [{field: m}]}, as: b}]}`, `[{"a":"sad","b":"happy"}]`},
		}},
		{"sqlite", "sqlite:" + filepath.Join(t.TempDir(), "own.db"), []string{
			`CREATE TABLE own (id INTEGER PRIMARY KEY, free, made DATETIME, day DATE, n NUMERIC, b BOOLEAN)`,
			`INSERT INTO own VALUES (1, 5, 1767323045, '2026-01-02', 1.5, 1), (2, 'text', '2026-01-02T03:04:05.5Z', '2026-01-03T00:00:00Z', 2, 0), (3, x'00ff', '2026-01-02 04:04:05 +0100 CET', 'soon', NULL, NULL), (4, 2.5, 'never', NULL, 12, 7)`,
			`CREATE TABLE keyless (a TEXT, b INTEGER)`, `INSERT INTO keyless VALUES ('x', 9223372036854775807), ('y', 5)`,
			`CREATE VIEW seen AS SELECT id + 1 AS next, upper(free) AS up FROM own`,
		}, []struct{ document, want string }{
			{`{from: {name: own}, columns: [{field: id}, {field: free}, {field: made}, {field: day}, {field: n}, {field: b}]}`,
				`[{"b":true,"day":"2026-01-02","free":5,"id":1,"made":"2026-01-02T03:04:05Z","n":"1.5"},{"b":false,"day":"2026-01-03","free":"text","id":2,"made":"2026-01-02T03:04:05.5Z","n":"2"},` +
					`{"b":null,"day":"soon","free":"base64:AP8=","id":3,"made":"2026-01-02T03:04:05Z","n":null},{"b":7,"day":null,"free":2.5,"id":4,"made":"never","n":"12"}]`},
			{`{from: {name: own}, where: {op: ==, left: {field: made}, right: {value: '2026-01-02T03:04:05Z'}}, columns: [{field: id}]}`, `[{"id":1},{"id":3}]`},
			{`{from: {name: own}, where: {op: '<', left: {field: made}, right: {value: '2027-01-01'}}, orderBy: [{field: made, desc: true}], columns: [{field: id}]}`, `[{"id":2},{"id":1},{"id":3}]`},
			{`{from: {name: own}, where: {op: ==, left: {field: free}, right: {value: 5}}, columns: [{field: id}]}`, `[{"id":1}]`},
			{`{from: {name: own}, where: {op: ==, left: {field: free}, right: {value: text}}, columns: [{field: id}]}`, `[{"id":2}]`},
			{`{from: {name: own}, where: {op: ==, left: {field: b}, right: {value: true}}, columns: [{field: id}]}`, `[{"id":1}]`},
			{`{from: {name: seen}, where: {op: '>', left: {field: next}, right: {value: 4}}, columns: [{field: next}]}`, `[{"next":5}]`},
			{`{from: {name: keyless}, where: {op: ==, left: {field: a}, right: {value: x}}, columns: [{binary: {op: '+', left: {field: b}, right: {value: 1}}, as: c}]}`, `error: holder "db": column "c": integer overflow: the result of a calculation is out of range`},
			{`{from: {name: keyless, schema: main}, where: {op: ==, left: {field: a}, right: {value: '"a"'}}}`, `[]`},
		}},
	} {
		t.Run(c.engine, func(t *testing.T) {
			e := newEngine(t, c.engine, c.dsn, c.statements)
			for _, q := range c.cases {
				if got := e.ask(t, q.document, nil); got != q.want {
					t.Errorf("%s:\n got %s\nwant %s", q.document, got, q.want)
				}
			}
		})
	}
}
