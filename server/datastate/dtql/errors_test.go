package dtql_test

import (
	"errors"
	"strings"
	"testing"

	"chatwright.dev/tray/server/datastate/dtql"
)

// where is a document with this condition.
func where(condition string) string { return "from: {name: a}\nwhere: " + condition }

// Every way to be wrong, the whole text of its error. A line and a column end it.
func TestErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		// The document as YAML.
		{"nothing", "", `document is empty`},
		{"a comment only", "# nothing", `document is empty`},
		{"a list", "[]", `document must be a mapping, not a list (line 1, column 1)`},
		{"a scalar", "--- lists", `document must be a mapping, not a scalar (line 1, column 5)`},
		{"a second document", "from: {name: a}\n---\nfrom: {name: b}", `a second document follows: one query is one document (line 2, column 1)`},
		{"an empty second document", "from: {name: a}\n---\n", `a second document follows: one query is one document (line 2, column 1)`},
		{"an anchor", "from: &f {name: a}", `from: anchors are not allowed (&f) (line 1, column 7)`},
		{"an alias", "from: {name: a}\nwhere:\n  and: [*x]", `reading YAML: unknown anchor 'x' referenced (line 3, column 9)`},
		{"a merge key", "from:\n  name: a\n  <<: {alias: b}", `from: merge keys are not allowed (line 3, column 3)`},
		{"a tag", "from: {name: !!str a}", `from.name: tags are not allowed (!!str) (line 1, column 14)`},
		{"a tag of one's own", "from: {name: !mine a}", `from.name: tags are not allowed (!mine) (line 1, column 14)`},
		{"a key twice", "from: {name: a}\nlimit: 1\nfrom: {name: b}", `key "from" is there twice, first on line 1 (line 3, column 1)`},
		{"a key twice, deep", where("\n  and:\n  - op: In\n    op: In"), `where.and[0]: key "op" is there twice, first on line 4 (line 5, column 5)`},
		{"a key twice in JSON", `{"from": {"name": "a", "name": "b"}}`, `from: key "name" is there twice, first on line 1 (line 1, column 24)`},
		{"a key that is a list", "? [a]\n: b", `a key must be a name, not a list (line 1, column 3)`},
		{"not UTF-8", "from: {name: \xff}", `document is not UTF-8 text`},
		{"over 64 KiB", "from: {name: a}\n" + strings.Repeat("#\n", 32<<10), `document is over 64 KiB (line 32762)`},
		{"too deep", where(strings.Repeat("{and: [", 16) + strings.Repeat("]}", 16)), "where." + strings.Repeat("and[0].", 15) + "and: document is nested deeper than 32 (line 2, column 119)"},

		// Keys and shapes.
		{"no from", "limit: 1", `from is required (line 1, column 1)`},
		{"no name", "from: {alias: l}", `from.name is required (line 1, column 7)`},
		{"an empty name", "from: {name: ''}", `from.name must not be empty (line 1, column 14)`},
		{"a name that is a number", "from: {name: 5}", `from.name must be text, not 5; put it in quotes (line 1, column 14)`},
		{"a name that is null", "from: {name: }", `from.name must be text, not null; put it in quotes (line 1, column 14)`},
		{"from as text", "from: a", `from must be a mapping, not a scalar (line 1, column 7)`},
		{"an unknown key", "from: {name: a}\nfrm: b", `unknown key "frm" (known here: as, from, where, groupBy, having, orderBy, limit, offset, columns) (line 2, column 1)`},
		{"an unknown key, deep", where("{op: '==', left: {filed: a}, right: {value: 1}}"), `where.left: unknown key "filed" (known here: field, source, value, values, param, star, aggregate, binary) (line 2, column 26)`},
		{"alias and as", "from: {name: a, alias: b, as: c}", `from: alias and as are the same: set one of them (line 1, column 7)`},
		{"a limit below 0", "from: {name: a}\nlimit: -1", `limit must be an integer of 0 or more, not -1 (line 2, column 8)`},
		{"a limit with a fraction", "from: {name: a}\nlimit: 1.5", `limit must be an integer of 0 or more, not 1.5 (line 2, column 8)`},
		{"an offset that is text", "from: {name: a}\noffset: '1'", `offset must be an integer of 0 or more, not "1" (line 2, column 9)`},
		{"an offset past 64 bits", "from: {name: a}\noffset: 9223372036854775808", `offset must be an integer of 0 or more, not 9223372036854775808 (line 2, column 9)`},
		{"desc as text", "from: {name: a}\norderBy: [{field: b, desc: yes}]", `orderBy[0].desc must be true or false, not "yes" (line 2, column 28)`},
		{"no columns", "from: {name: a}\ncolumns: []", `columns must have at least one element (line 2, column 10)`},
		{"columns as a mapping", "from: {name: a}\ncolumns: {field: b}", `columns must be a list, not a mapping (line 2, column 10)`},

		// Joins.
		{"an unknown join", "from:\n  name: a\n  joins:\n  - type: outer\n    from: {name: b}\n    on: [{op: '==', left: {field: x, source: a}, right: {field: x, source: b}}]", `from.joins[0].type: unknown join type "outer" (want inner or left) (line 4, column 11)`},
		{"a join without on", "from: {name: a, joins: [{from: {name: b}}]}", `from.joins[0].on is required (line 1, column 25)`},
		{"a join on an order", "from: {name: a, joins: [{from: {name: b}, on: [{op: '<', left: {field: x, source: a}, right: {field: x, source: b}}]}]}", `from.joins[0].on[0]: a join compares with "==" only, not "<" (line 1, column 48)`},
		{"a join without source", "from: {name: a, joins: [{from: {name: b}, on: [{op: '==', left: {field: x}, right: {field: x, source: b}}]}]}", `from.joins[0].on[0].left.source is required (line 1, column 65)`},
		{"a join with a value", "from: {name: a, joins: [{from: {name: b}, on: [{op: '==', left: {value: x}, right: {field: x, source: b}}]}]}", `from.joins[0].on[0].left: unknown key "value" (known here: field, source) (line 1, column 66)`},
		{"one table twice", "from: {name: a, joins: [{from: {name: a}, on: [{op: '==', left: {field: x, source: a}, right: {field: x, source: a}}]}]}", `from.joins[0].from: source "a" is there twice: give one an alias (line 1, column 32)`},
		{"an unknown source", where("{isNull: {field: x, source: b}}"), `where.isNull.source: unknown source "b" (known here: a) (line 2, column 36)`},
		{"a name that an alias hides", "from: {name: a, alias: l}\nwhere: {isNull: {field: x, source: a}}", `where.isNull.source: unknown source "a" (known here: l) (line 2, column 36)`},

		// Conditions.
		{"no condition", where("{}"), `where: condition must be a comparison (op/left/right) or a group (and/or) (line 2, column 8)`},
		{"an unknown operator", where("\n  and:\n    - {op: '!=', left: {field: b}, right: {value: 1}}"), `where.and[0]: unknown comparison operator "!=" (line 4, column 12)`},
		{"the case of an operator", where("{op: in, left: {field: b}, right: {values: [1]}}"), `where: unknown comparison operator "in" (line 2, column 13)`},
		{"no left", where("{op: '==', right: {value: 1}}"), `where: comparison requires both left and right (line 2, column 8)`},
		{"no right", where("{op: '==', left: {field: b}}"), `where: comparison requires both left and right (line 2, column 8)`},
		{"no operator", where("{left: {field: b}, right: {value: 1}}"), `where.op is required (line 2, column 8)`},
		{"both forms", where("{op: '==', left: {field: b}, right: {value: 1}, and: []}"), `where: condition mixes comparison and group forms (line 2, column 8)`},
		{"two groups", where("{and: [], or: []}"), `where: condition must set exactly one of and, or, isNull, isNotNull, exists or notExists (line 2, column 8)`},
		{"an empty group", where("{and: []}"), `where: group must have at least one condition (line 2, column 8)`},
		{"a group that is no list", where("{or: {isNull: {field: b}}}"), `where.or must be a list, not a mapping (line 2, column 13)`},
		{"exists without query", where("{exists: {}}"), `where.exists.query is required (line 2, column 17)`},
		{"wrong inside exists", where("{exists: {query: {from: {}}}}"), `where.exists.query.from.name is required (line 2, column 32)`},
		{"In with a value", where("{op: In, left: {field: b}, right: {value: 1}}"), `where.right: In wants values, or a param that is a list, on the right (line 2, column 42)`},
		{"a list beside ==", where("{op: '==', left: {field: b}, right: {values: [1]}}"), `where.right.values: a list stands only on the right of In (line 2, column 53)`},
		{"null in a list", where("{op: In, left: {field: b}, right: {values: [1, null]}}"), `where.right.values[1]: null is never in a list; ask for it with isNull (line 2, column 55)`},
		{"an order with null", where("{op: '<', left: {field: b}, right: {value: null}}"), `where: < with null never holds; only == (or isNull) asks for null (line 2, column 8)`},

		// Expressions.
		{"no expression", where("{isNull: {}}"), `where.isNull: expression must set exactly one of field, value or values (line 2, column 17)`},
		{"two expressions", where("{isNull: {field: b, value: 1}}"), `where.isNull: expression must set exactly one of field, value or values (line 2, column 17)`},
		{"an expression in columns", "from: {name: a}\ncolumns: [{field: b}, {as: c}]", `columns[1]: expression must set exactly one of field, value or values (line 2, column 23)`},
		{"a source alone", where("{isNull: {value: 1, source: a}}"), `where.isNull: source goes with field only (line 2, column 36)`},
		{"a value that is a list", where("{isNull: {value: [1]}}"), `where.isNull.value must be a scalar, not a list (line 2, column 25)`},
		{"NaN", where("{isNull: {value: .nan}}"), `where.isNull.value: .nan is not a number that data can be compared with (line 2, column 25)`},
		{"star that is false", "from: {name: a}\ncolumns: [{aggregate: {function: count, args: [{star: false}]}}]", `columns[0].aggregate.args[0].star must be true (line 2, column 55)`},
		{"star alone", "from: {name: a}\ncolumns: [{star: true, as: b}]", `columns[0]: star stands only as the argument of count (line 2, column 11)`},
		{"an unknown aggregate", "from: {name: a}\ncolumns: [{aggregate: {function: median, args: [{field: b}]}}]", `columns[0].aggregate.function: unknown aggregate "median" (want count, sum, avg, min or max) (line 2, column 34)`},
		{"two arguments", "from: {name: a}\ncolumns: [{aggregate: {function: sum, args: [{field: b}, {field: c}]}}]", `columns[0].aggregate.args must have exactly one element (line 2, column 45)`},
		{"an aggregate in where", where("{isNull: {aggregate: {function: sum, args: [{field: b}]}}}"), `where.isNull.aggregate: an aggregate stands only in columns, having and orderBy, and in no other aggregate (line 2, column 29)`},
		{"an unknown calculation", "from: {name: a}\ncolumns: [{binary: {op: '%', left: {field: b}, right: {value: 2}}, as: c}]", `columns[0].binary: unknown arithmetic operator "%" (line 2, column 20)`},
		{"a calculation without right", "from: {name: a}\ncolumns: [{binary: {op: '+', left: {field: b}}, as: c}]", `columns[0].binary.right is required (line 2, column 20)`},
		{"a param that is no name", where("{op: '==', left: {field: b}, right: {param: a-b}}"), `where.right.param: "a-b" is not a dotted identifier (line 2, column 52)`},

		// Columns, groups, order.
		{"a column without a name", "from: {name: a}\ncolumns: [{value: 1}]", `columns[0]: a column that is no field needs a name: set as (line 2, column 11)`},
		{"a column twice", "from: {name: a}\ncolumns: [{field: b}, {field: c, as: b}]", `columns[1]: column "b" is there twice: set as (line 2, column 23)`},
		{"a wildcard with as", "from: {name: a}\ncolumns: [{wildcard: {}, as: b}]", `columns[0]: unknown key "as" (known here: wildcard) (line 2, column 26)`},
		{"a wildcard of nobody", "from: {name: a}\ncolumns: [{wildcard: {source: b}}]", `columns[0].wildcard.source: unknown source "b" (known here: a) (line 2, column 31)`},
		{"groups without columns", "from: {name: a}\ngroupBy: [{field: b}]", `columns is required with groupBy (line 1, column 1)`},
		{"a field outside the groups", "from: {name: a}\ngroupBy: [{field: b}]\ncolumns: [{field: b}, {field: c}]", `columns[1]: field "c" is neither in groupBy nor in an aggregate (line 3, column 23)`},
		{"a field beside an aggregate", "from: {name: a}\ncolumns: [{field: b}, {aggregate: {function: count, args: [{star: true}]}}]", `columns[0]: field "b" is neither in groupBy nor in an aggregate (line 2, column 11)`},
		{"a wildcard in groups", "from: {name: a}\ngroupBy: [{field: b}]\ncolumns: [{wildcard: {}}]", `columns[0]: a wildcard does not go with groups (line 3, column 11)`},
		{"having without groups", "from: {name: a}\nhaving: {isNull: {field: b}}", `having needs groupBy or an aggregate in columns (line 2, column 9)`},
		{"having outside the groups", "from: {name: a}\ngroupBy: [{field: b}]\nhaving: {or: [{isNull: {field: c}}]}\ncolumns: [{field: b}]", `having.or[0].isNull: field "c" is neither in groupBy nor in an aggregate (line 3, column 24)`},
		{"an order outside the groups", "from: {name: a}\ngroupBy: [{field: b}]\norderBy: [{field: c}]\ncolumns: [{field: b}]", `orderBy[0]: field "c" is neither in groupBy nor in an aggregate (line 3, column 11)`},
		{"an order by a number", "from: {name: a}\norderBy: [{value: 1}]", `orderBy[0]: a key of the order must name a field (line 2, column 11)`},
		{"an order by an aggregate", "from: {name: a}\norderBy: [{aggregate: {function: count, args: [{star: true}]}}]", `orderBy[0]: an aggregate in the order needs groupBy or an aggregate in columns (line 2, column 11)`},
		{"a group by a number", "from: {name: a}\ngroupBy: [{value: 1}]\ncolumns: [{field: b}]", `groupBy[0]: a key of the group must name a field (line 2, column 11)`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := dtql.Unmarshal([]byte(test.text))
			var invalid *dtql.Error
			if !errors.As(err, &invalid) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if got := err.Error(); got != test.want {
				t.Errorf("\ngot  %s\nwant %s", got, test.want)
			}
		})
	}
}

// What the language has and no holder here executes is told from what is wrong.
func TestUnsupported(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a derived table", "from: {query: {from: {name: a}}, alias: b}", `unsupported: derived table at from.query (line 1, column 8)`},
		{"a derived table that is joined", "from: {name: a, joins: [{from: {query: {}, alias: b}, on: []}]}", `unsupported: derived table at from.joins[0].from.query (line 1, column 33)`},
		{"a parented collection", "from: {name: a, parent: {name: b}}", `unsupported: parented collection at from.parent (line 1, column 17)`},
		{"a key path as a source", "from: {path: a/b}", `unsupported: key path at from.path (line 1, column 8)`},
		{"a key path as a field", where("{isNull: {field: [a, b]}}"), `unsupported: key path at where.isNull.field (line 2, column 25)`},
		{"a key", where("{op: '==', left: {key: [a]}, right: {value: 1}}"), `unsupported: key path at where.left.key (line 2, column 26)`},
		{"first", "from: {name: a}\ncolumns: [{aggregate: {function: first, args: [{field: b}]}}]", `unsupported: first at columns[0].aggregate.function (line 2, column 34)`},
		{"last", "from: {name: a}\nlast: 3", `unsupported: last at last (line 2, column 1)`},
		{"money", where("{op: '==', left: {field: b}, right: {value: {money: 5, currency: EUR}}}"), `unsupported: money at where.right.value (line 2, column 52)`},
		{"money as an expression", where("{op: '==', left: {field: b}, right: {money: {}}}"), `unsupported: money at where.right.money (line 2, column 45)`},
		{"a scalar subquery", where("{op: '==', left: {field: b}, right: {query: {from: {name: c}}}}"), `unsupported: scalar subquery at where.right.query (line 2, column 52)`},
		{"a join in a join", "from: {name: a, joins: [{from: {name: b, joins: []}, on: []}]}", `unsupported: joins inside a join at from.joins[0].from.joins (line 1, column 49)`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := dtql.Unmarshal([]byte(test.text))
			var unsupported *dtql.UnsupportedError
			if !errors.As(err, &unsupported) {
				t.Fatalf("got %v, want an *UnsupportedError", err)
			}
			if got := err.Error(); got != test.want {
				t.Errorf("\ngot  %s\nwant %s", got, test.want)
			}
		})
	}
}

// Deep aliases that would unfold to millions of nodes are refused where the first anchor stands.
func TestBombs(t *testing.T) {
	bomb := "from: {name: a}\nwhere:\n  and:\n    - &a [x, x, x, x, x, x, x, x, x]\n    - &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\n    - &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\n"
	for _, text := range []string{bomb, strings.Repeat("[", 30_000), strings.Repeat("{a: ", 15_000), strings.Repeat("- ", 30_000), strings.Repeat("? ", 30_000)} {
		if _, err := dtql.Unmarshal([]byte(text)); err == nil {
			t.Errorf("%.60q was accepted", text)
		}
	}
}
