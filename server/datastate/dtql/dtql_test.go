package dtql_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"chatwright.dev/tray/server/datastate/dtql"
)

// The example of the language's description.
const example = `from: {name: lists, alias: l}
where:
  and:
    - {op: '==', left: {field: space_id}, right: {param: family_space_id}}
    - {op: In, left: {field: status}, right: {values: [active, done]}}
orderBy:
  - {field: title}
  - {field: updated_at, desc: true}
limit: 10
`

func parse(t *testing.T, text string) *dtql.Document {
	t.Helper()
	doc, err := dtql.Unmarshal([]byte(text))
	if err != nil {
		t.Fatalf("reading\n%s\n%v", text, err)
	}
	return doc
}

func number(text string) dtql.Value { return dtql.Value{V: json.Number(text)} }

func field(name string) dtql.Field { return dtql.Field{Name: name} }

// Each production of the grammar, and the tree it becomes.
func TestGrammar(t *testing.T) {
	tests := []struct {
		name, text string
		want       dtql.Document
	}{
		{"the shortest", `from: {name: lists}`, dtql.Document{From: dtql.From{Name: "lists"}}},
		{"a name for the whole", "as: q\nfrom: {name: lists}", dtql.Document{As: "q", From: dtql.From{Name: "lists"}}},
		{"schema and alias", `from: {name: lists, schema: app, alias: l}`,
			dtql.Document{From: dtql.From{Name: "lists", Schema: "app", Alias: "l"}}},
		{"as is alias", `from: {name: lists, as: l}`, dtql.Document{From: dtql.From{Name: "lists", Alias: "l"}}},
		{"limit and offset", "from: {name: lists}\nlimit: 3\noffset: 4",
			dtql.Document{From: dtql.From{Name: "lists"}, Limit: 3, Offset: 4}},
		{"limit 0 is none", "from: {name: lists}\nlimit: 0", dtql.Document{From: dtql.From{Name: "lists"}}},
		{"joins", `
from:
  name: lists
  alias: l
  joins:
    - {from: {name: items, alias: i}, on: [{op: '==', left: {field: id, source: l}, right: {field: list_id, source: i}}]}
    - {type: left, from: {name: people}, on: [{op: '==', left: {field: owner, source: l}, right: {field: id, source: people}}]}
`, dtql.Document{From: dtql.From{Name: "lists", Alias: "l", Joins: []dtql.Join{
			{From: dtql.From{Name: "items", Alias: "i"}, On: []dtql.On{{Left: dtql.Field{Name: "id", Source: "l"}, Right: dtql.Field{Name: "list_id", Source: "i"}}}},
			{Type: dtql.LeftJoin, From: dtql.From{Name: "people"}, On: []dtql.On{{Left: dtql.Field{Name: "owner", Source: "l"}, Right: dtql.Field{Name: "id", Source: "people"}}}},
		}}}},
		{"columns", `
from: {name: lists}
columns:
  - {field: title}
  - {field: id, source: lists, as: number}
  - {binary: {op: '*', left: {field: price}, right: {value: 1.20}}, as: gross}
  - wildcard: {source: lists, exclude: [secret]}
`, dtql.Document{From: dtql.From{Name: "lists"}, Columns: []dtql.Column{
			{Expr: field("title")},
			{Expr: dtql.Field{Name: "id", Source: "lists"}, As: "number"},
			{Expr: dtql.Binary{Op: dtql.Multiply, Left: field("price"), Right: number("1.20")}, As: "gross"},
			{Wildcard: &dtql.Wildcard{Source: "lists", Exclude: []string{"secret"}}},
		}}},
		{"groups", `
from: {name: items}
groupBy: [{field: list_id}]
having: {op: '>', left: {aggregate: {function: count, args: [{star: true}]}}, right: {value: 1}}
orderBy: [{field: n, desc: true}, {field: list_id}]
columns:
  - field: list_id
  - {aggregate: {function: count, distinct: true, args: [{field: title}]}, as: n}
`, dtql.Document{From: dtql.From{Name: "items"}, GroupBy: []dtql.Expr{field("list_id")},
			Having:  dtql.Comparison{Op: dtql.Greater, Left: dtql.Aggregate{Function: dtql.Count, Args: []dtql.Expr{dtql.Star{}}}, Right: number("1")},
			OrderBy: []dtql.Order{{Expr: field("n"), Desc: true}, {Expr: field("list_id")}},
			Columns: []dtql.Column{{Expr: field("list_id")}, {Expr: dtql.Aggregate{Function: dtql.Count, Distinct: true, Args: []dtql.Expr{field("title")}}, As: "n"}},
		}},
		{"conditions", `
from: {name: lists, alias: l}
where:
  or:
    - and:
        - {op: '>=', left: {field: a}, right: {value: 1}}
        - {op: '<=', left: {field: a}, right: {value: 9}}
        - {op: '<', left: {field: b}, right: {value: x}}
    - {isNull: {field: c}}
    - {isNotNull: {field: d}}
    - {exists: {query: {from: {name: items}, where: {op: '==', left: {field: list_id, source: items}, right: {field: id, source: l}}}}}
    - {notExists: {query: {from: {name: items}}}}
`, dtql.Document{From: dtql.From{Name: "lists", Alias: "l"}, Where: dtql.Or{
			dtql.And{
				dtql.Comparison{Op: dtql.GreaterOrEqual, Left: field("a"), Right: number("1")},
				dtql.Comparison{Op: dtql.LessOrEqual, Left: field("a"), Right: number("9")},
				dtql.Comparison{Op: dtql.Less, Left: field("b"), Right: dtql.Value{V: "x"}},
			},
			dtql.IsNull{Expr: field("c")},
			dtql.IsNotNull{Expr: field("d")},
			dtql.Exists{Query: &dtql.Document{From: dtql.From{Name: "items"},
				Where: dtql.Comparison{Op: dtql.Equal, Left: dtql.Field{Name: "list_id", Source: "items"}, Right: dtql.Field{Name: "id", Source: "l"}}}},
			dtql.NotExists{Query: &dtql.Document{From: dtql.From{Name: "items"}}},
		}}},
		{"the example", example, dtql.Document{
			From: dtql.From{Name: "lists", Alias: "l"},
			Where: dtql.And{
				dtql.Comparison{Op: dtql.Equal, Left: field("space_id"), Right: dtql.Param{Name: "family_space_id"}},
				dtql.Comparison{Op: dtql.In, Left: field("status"), Right: dtql.Values{"active", "done"}},
			},
			OrderBy: []dtql.Order{{Expr: field("title")}, {Expr: field("updated_at"), Desc: true}},
			Limit:   10,
		}},
		{"JSON", `{"from": {"name": "lists"}, "where": {"op": "==", "left": {"field": "a"}, "right": {"value": "Gr\u00fc\u00dfe"}}}`,
			dtql.Document{From: dtql.From{Name: "lists"}, Where: dtql.Comparison{Op: dtql.Equal, Left: field("a"), Right: dtql.Value{V: "Grüße"}}}},
		{"an empty list", `{from: {name: a}, where: {op: In, left: {field: b}, right: {values: []}}}`,
			dtql.Document{From: dtql.From{Name: "a"}, Where: dtql.Comparison{Op: dtql.In, Left: field("b"), Right: dtql.Values{}}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := parse(t, test.text)
			if !reflect.DeepEqual(*got, test.want) {
				t.Errorf("got  %#v\nwant %#v", *got, test.want)
			}
			again, err := dtql.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if back := parse(t, string(again)); !reflect.DeepEqual(back, got) {
				t.Errorf("the canonical form\n%s\nreads as %#v", again, *back)
			}
		})
	}
}

// What a scalar is, as every reader of YAML would agree, or why it is refused.
func TestScalars(t *testing.T) {
	tests := []struct {
		text string
		want any // an error's text as error
	}{
		{`abc`, "abc"}, {`two words`, "two words"}, {`'5'`, "5"}, {`"5"`, "5"}, {`"true"`, "true"}, {`"\u00e4\n"`, "ä\n"}, {`''`, ""},
		{"|\n      5\n", "5\n"}, {">-\n      a\n      b\n", "a b"},
		{`null`, nil}, {`~`, nil}, {``, nil}, {`Null`, nil},
		{`true`, true}, {`False`, false},
		{`yes`, "yes"}, {`no`, "no"}, {`on`, "on"}, {`y`, "y"}, {`NULl`, "NULl"},
		{`5`, json.Number("5")}, {`-0`, json.Number("-0")}, {`5.0`, json.Number("5.0")}, {`1.230`, json.Number("1.230")}, {`-1.5e-3`, json.Number("-1.5e-3")},
		{`9007199254740993`, json.Number("9007199254740993")},
		{`123456789012345678901234567890.123456789`, json.Number("123456789012345678901234567890.123456789")},
		{`2026-11-30`, "2026-11-30"}, {`2026-11-30T12:00:00Z`, "2026-11-30T12:00:00Z"}, {`12:30`, "12:30"}, {`127.0.0.1`, "127.0.0.1"}, {`1.2.3`, "1.2.3"},
		{`5 apples`, "5 apples"}, {`-`, errors.New("")}, {`+`, "+"}, {`.`, "."}, {`e5`, "e5"}, {`1e`, "1e"}, {`0xyz`, "0xyz"}, {`12345678-1234`, "12345678-1234"},
		{`.nan`, errors.New(".nan is not a number that data can be compared with")},
		{`-.Inf`, errors.New("-.Inf is not a number that data can be compared with")},
		{`0x10`, errors.New("0x10 is a number to some readers of YAML and text to others")},
		{`1_000`, errors.New("1_000 is a number to some")}, {`017`, errors.New("017 is a number to some")}, {`0o17`, errors.New("0o17 is a number to some")},
		{`0b11`, errors.New("0b11 is a number to some")}, {`+1`, errors.New("+1 is a number to some")}, {`.5`, errors.New(".5 is a number to some")},
		{`1.`, errors.New("1. is a number to some")}, {`1_0.5e3`, errors.New("1_0.5e3 is a number to some")},
		{`1e9999`, errors.New("the number 1e9999 is out of range")},
	}
	for _, test := range tests {
		doc, err := dtql.Unmarshal([]byte("from: {name: a}\nwhere:\n  op: '=='\n  left: {field: b}\n  right:\n    value: " + test.text))
		if want, ok := test.want.(error); ok {
			if err == nil || !strings.Contains(err.Error(), want.Error()) {
				t.Errorf("%s: got the error %v, want one with %q", test.text, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if got := doc.Where.(dtql.Comparison).Right.(dtql.Value).V; got != test.want {
			t.Errorf("%s: got %#v, want %#v", test.text, got, test.want)
		}
	}
}

// The canonical form, as a person may read it.
func TestCanonicalForm(t *testing.T) {
	text, err := os.ReadFile("testdata/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := dtql.Marshal(parse(t, string(text)))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/everything.canonical.yaml", got)
	again, err := dtql.Marshal(parse(t, string(got)))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again, got) {
		t.Errorf("the canonical form of the canonical form is\n%s", again)
	}
}
