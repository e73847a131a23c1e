package dtql_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"chatwright.dev/tray/server/datastate/dtql"
)

const withParams = `
from: {name: lists}
where:
  and:
    - {op: '==', left: {field: a}, right: {param: one}}
    - {op: In, left: {field: b}, right: {param: many.of.them}}
    - {exists: {query: {from: {name: items}, where: {op: '>', left: {binary: {op: '+', left: {field: n}, right: {param: one}}}, right: {value: 3}}}}}
`

func TestBind(t *testing.T) {
	doc := parse(t, withParams)
	if got, want := dtql.Params(doc), []string{"many.of.them", "one"}; !reflect.DeepEqual(got, want) {
		t.Errorf("params: got %q, want %q", got, want)
	}
	before, err := dtql.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	bound, err := dtql.Bind(doc, map[string]any{"one": 5, "many.of.them": []string{"x", "yes"}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := dtql.Marshal(bound)
	if err != nil {
		t.Fatal(err)
	}
	want := `from:
  name: lists
where:
  and:
    - op: "=="
      left: {field: a}
      right: {value: 5}
    - op: In
      left: {field: b}
      right: {values: [x, "yes"]}
    - exists:
        query:
          from:
            name: items
          where:
            op: ">"
            left:
              binary:
                op: "+"
                left: {field: "n"}
                right: {value: 5}
            right: {value: 3}
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if after, err := dtql.Marshal(doc); err != nil || string(after) != string(before) {
		t.Errorf("the document changed: %v\n%s", err, after)
	}
	if left := dtql.Params(bound); len(left) != 0 {
		t.Errorf("still params: %q", left)
	}
}

// Wherever an expression may stand, a param may, and is replaced.
func TestBindEverywhere(t *testing.T) {
	doc := parse(t, `
from: {name: a}
where: {or: [{isNull: {param: p}}, {isNotNull: {param: p}}, {notExists: {query: {from: {name: b}, columns: [{param: p, as: x}]}}}]}
groupBy: [{binary: {op: '-', left: {field: c}, right: {param: p}}}]
having: {op: '<=', left: {aggregate: {function: sum, args: [{param: p}]}}, right: {param: p}}
orderBy: [{binary: {op: '-', left: {field: c}, right: {param: p}}}]
columns: [{binary: {op: '-', left: {field: c}, right: {param: p}}, as: d}]
`)
	bound, err := dtql.Bind(doc, map[string]any{"p": 7})
	if err != nil {
		t.Fatal(err)
	}
	text, err := dtql.Marshal(bound)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "param") || strings.Count(string(text), "value: 7") != 8 {
		t.Errorf("got\n%s", text)
	}
}

func TestBindErrors(t *testing.T) {
	many := []any{"x"}
	tests := []struct {
		name   string
		params map[string]any
		want   string
	}{
		{"unbound", map[string]any{"many.of.them": many}, `where.and[0].right: param "one" is not bound`},
		{"unused", map[string]any{"one": 1, "many.of.them": many, "two": 2}, `param "two" is not used`},
		{"no name", map[string]any{"one": 1, "many.of.them": many, "a b": 2}, `param name "a b" is not a dotted identifier`},
		{"a list for a scalar", map[string]any{"one": many, "many.of.them": many}, `where.and[0].right: param "one": want a scalar, not a list`},
		{"a mapping", map[string]any{"one": map[string]any{}, "many.of.them": many}, `where.and[0].right: param "one": want a scalar, not a mapping`},
		{"a scalar for a list", map[string]any{"one": 1, "many.of.them": "x"}, `where.and[1].right: param "many.of.them": In wants a list, not a string`},
		{"null for a list", map[string]any{"one": 1, "many.of.them": nil}, `where.and[1].right: param "many.of.them": In wants a list, not null`},
		{"a list in a list", map[string]any{"one": 1, "many.of.them": []any{many}}, `where.and[1].right: param "many.of.them": element 0: want a scalar, not a list`},
		{"null in a list", map[string]any{"one": 1, "many.of.them": []any{nil}}, `where.and[1].right.values[0]: null is never in a list; ask for it with isNull`},
		{"a long list", map[string]any{"one": 1, "many.of.them": make([]int, 10_001)}, `where.and[1].right: param "many.of.them": a list of 10001 values is over 10000`},
		{"NaN", map[string]any{"one": math.NaN(), "many.of.them": many}, `where.and[0].right: param "one": NaN is not a number that data can be compared with`},
		{"infinity", map[string]any{"one": float32(math.Inf(-1)), "many.of.them": many}, `where.and[0].right: param "one": -Inf is not a number that data can be compared with`},
		{"no number", map[string]any{"one": json.Number("0x10"), "many.of.them": many}, `where.and[0].right: param "one": 0x10 is not a number`},
		{"not UTF-8", map[string]any{"one": "\xff", "many.of.them": many}, `where.and[0].right: param "one": text is not UTF-8`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := dtql.Bind(parse(t, withParams), test.params)
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
	doc := parse(t, where("{op: '<', left: {field: b}, right: {param: p}}"))
	if _, err := dtql.Bind(doc, map[string]any{"p": nil}); err == nil || err.Error() != "where: < with null never holds; only == (or isNull) asks for null" {
		t.Errorf("an order with null: %v", err)
	}
}

// Numbers keep their digits, whatever Go has them as.
func TestScalar(t *testing.T) {
	type name string
	for _, test := range []struct{ give, want any }{
		{nil, nil}, {true, true}, {"x", "x"}, {name("x"), "x"},
		{5, json.Number("5")}, {int8(-5), json.Number("-5")}, {uint64(math.MaxUint64), json.Number("18446744073709551615")},
		{int64(1)<<53 + 1, json.Number("9007199254740993")}, {0.1, json.Number("0.1")}, {float32(0.1), json.Number("0.1")}, {1e21, json.Number("1e+21")},
		{json.Number("1.50"), json.Number("1.50")},
	} {
		if got, err := dtql.Scalar(test.give); err != nil || got != test.want {
			t.Errorf("%#v: got %#v, %v, want %#v", test.give, got, err, test.want)
		}
	}
}

// A tree that was never text is held to the same rules, and its errors have places but no lines.
func TestTreesOfOnesOwn(t *testing.T) {
	a := dtql.From{Name: "a"}
	tests := []struct {
		name string
		doc  *dtql.Document
		want string
	}{
		{"nothing", nil, "document is required"},
		{"no name", &dtql.Document{}, "from.name is required"},
		{"a Go number", &dtql.Document{From: a, Where: dtql.IsNull{Expr: dtql.Value{V: 5}}}, "where.isNull.value: a value is nil, a bool, a string or a json.Number, not a int"},
		{"no number", &dtql.Document{From: a, Where: dtql.IsNull{Expr: number("05")}}, "where.isNull.value: 05 is not a number"},
		{"not UTF-8", &dtql.Document{From: dtql.From{Name: "\xff"}}, "from.name is not UTF-8"},
		{"an alias that is not UTF-8", &dtql.Document{From: dtql.From{Name: "a", Alias: "\xff"}}, "from.alias is not UTF-8"},
		{"an operator of one's own", &dtql.Document{From: a, Where: dtql.Comparison{Op: "~", Left: field("b"), Right: field("b")}}, `where: unknown comparison operator "~"`},
		{"no sides", &dtql.Document{From: a, Where: dtql.Comparison{Op: dtql.Equal}}, "where: comparison requires both left and right"},
		{"an empty group", &dtql.Document{From: a, Where: dtql.Or{}}, "where: group must have at least one condition"},
		{"a nil condition", &dtql.Document{From: a, Where: dtql.And{nil}}, "where.and[0]: condition must be a comparison (op/left/right) or a group (and/or)"},
		{"a nil expression", &dtql.Document{From: a, Columns: []dtql.Column{{}}}, "columns[0]: expression must set exactly one of field, value or values"},
		{"a wildcard and more", &dtql.Document{From: a, Columns: []dtql.Column{{Wildcard: &dtql.Wildcard{}, As: "b"}}}, "columns[0]: a wildcard stands alone in its column"},
		{"a limit below 0", &dtql.Document{From: a, Limit: -1}, "limit must be an integer of 0 or more, not -1"},
		{"an offset below 0", &dtql.Document{From: a, Offset: -1}, "offset must be an integer of 0 or more, not -1"},
		{"exists nothing", &dtql.Document{From: a, Where: dtql.Exists{}}, "where.exists.query is required"},
		{"a join without on", &dtql.Document{From: dtql.From{Name: "a", Joins: []dtql.Join{{From: dtql.From{Name: "b"}}}}}, "from.joins[0].on must have at least one element"},
		{"a join without name", &dtql.Document{From: dtql.From{Name: "a", Joins: []dtql.Join{{}}}}, "from.joins[0].from.name is required"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := dtql.Validate(test.doc)
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
			if _, second := dtql.Marshal(test.doc); second == nil || second.Error() != test.want {
				t.Errorf("Marshal: got %v", second)
			}
		})
	}

	var deep dtql.Condition = dtql.IsNull{Expr: field("b")}
	var calc dtql.Expr = field("b")
	for range 100 {
		deep = dtql.And{deep}
		calc = dtql.Binary{Op: dtql.Add, Left: calc, Right: field("b")}
	}
	for _, where := range []dtql.Condition{deep, dtql.IsNull{Expr: calc}} {
		var invalid *dtql.Error
		if err := dtql.Validate(&dtql.Document{From: a, Where: where}); !errors.As(err, &invalid) || invalid.Message != "document is nested deeper than 32" {
			t.Errorf("a deep tree: %v", err)
		}
	}
	if err := dtql.Validate(&dtql.Document{From: dtql.From{Name: "a", Joins: []dtql.Join{{From: dtql.From{Name: "b", Joins: []dtql.Join{{}}}}}}}); err == nil || err.Error() != "unsupported: joins inside a join at from.joins[0].from.joins" {
		t.Errorf("a join in a join: %v", err)
	}
}

func TestJSON(t *testing.T) {
	text := "{\r\n\t\"from\": {\"name\" :\t\"a\"},\r\n\t\"where\": {\"op\": \"==\", \"left\": {\"field\": \"b\"},\r\n\t\t\"right\": {\"value\": \"\\ud83e\\udd5a \\/ \\u00e9\"}}\r\n}\r\n"
	doc := parse(t, text)
	if got, want := doc.Where.(dtql.Comparison).Right, (dtql.Value{V: "🥚 / é"}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := dtql.Unmarshal([]byte(strings.Replace(text, `"op"`, `"ops"`, 1))); err == nil || !strings.HasPrefix(err.Error(), `where: unknown key "ops"`) || !strings.HasSuffix(err.Error(), "(line 3, column 12)") {
		t.Errorf("an unknown key: %v", err)
	}
}

func TestParseValue(t *testing.T) {
	for text, want := range map[string]any{
		"": "", "x": "x", "two words": "two words", "5": json.Number("5"), "1.50": json.Number("1.50"), "true": true, "null": nil, "yes": "yes",
		"a: b # c": "a: b # c", "*x": "*x", "{a: 1}": "{a: 1}", `"5"`: "5", `'5'`: "5", `""`: "",
		"[]": []any{}, "[a, 5, '5', true]": []any{"a", json.Number("5"), "5", true},
	} {
		if got, err := dtql.ParseValue(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, %v, want %#v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"0x10": "0x10 is a number to some readers of YAML", "[1": "reading YAML: ", "[[1]]": "[0] must be a scalar, not a list", `"a" b`: "reading YAML: ", ".inf": ".inf is not a number",
	} {
		if got, err := dtql.ParseValue(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %#v, %v, want an error with %q", text, got, err, want)
		}
	}
}
