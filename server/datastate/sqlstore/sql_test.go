package sqlstore_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"chatwright.dev/tray/server/datastate/dtql"
	"chatwright.dev/tray/server/datastate/sqlstore"
)

var update = flag.Bool("update", false, "write the golden files anew")

// goldenCases are documents whose SQL is worth reading.
var goldenCases = []struct{ name, document string }{
	{"the example", `{from: {name: lists, alias: l}, where: {and: [{op: '==', left: {field: status}, right: {value: active}}, {op: In, left: {field: title}, right: {values: [milk, eggs, milk]}}]}, orderBy: [{field: title}, {field: made, desc: true}], limit: 10}`},
	{"all columns", `{from: {name: lists}}`},
	{"offset without limit", `{from: {name: items}, offset: 5}`},
	{"every kind of literal", `{from: {name: lists}, columns: [{field: id}], where: {or: [{op: '==', left: {field: id}, right: {value: 5.0}}, {op: '>', left: {field: id}, right: {value: 1.5}}, {op: '==', left: {field: price}, right: {value: 12.50}}, {op: '<', left: {field: ratio}, right: {value: 1}}, {op: '==', left: {field: single}, right: {value: 0.1}}, {op: '==', left: {field: done}, right: {value: true}}, {op: '>=', left: {field: made}, right: {value: '2026-01-02T03:04:05Z'}}, {op: '==', left: {field: due}, right: {value: '2026-01-02'}}, {op: '==', left: {field: rings}, right: {value: '10:30'}}, {op: '==', left: {field: raw}, right: {value: 'base64:AP8='}}]}}`},
	{"nulls", `{from: {name: lists}, columns: [{field: id}], where: {and: [{op: '==', left: {field: status}, right: {value: null}}, {isNotNull: {field: made}}, {op: In, left: {field: id}, right: {values: []}}]}, orderBy: [{field: status}, {field: price, desc: true}, {field: title, desc: true}]}`},
	{"joins", `{from: {name: lists, alias: l, joins: [{type: left, from: {name: items, alias: i}, on: [{op: '==', left: {field: id, source: l}, right: {field: list_id, source: i}}]}]}, columns: [{field: title}, {wildcard: {source: i, exclude: [list_id]}}]}`},
	{"groups", `{from: {name: items}, groupBy: [{field: list_id}], having: {op: '>', left: {aggregate: {function: sum, args: [{field: n}]}}, right: {value: 2}}, orderBy: [{field: total, desc: true}], columns: [{field: list_id}, {aggregate: {function: sum, args: [{field: n}]}, as: total}, {aggregate: {function: avg, args: [{field: n}]}}, {aggregate: {function: count, distinct: true, args: [{field: name}]}, as: names}]}`},
	{"exists", `{from: {name: lists, alias: l}, columns: [{field: id}], where: {notExists: {query: {from: {name: items}, where: {and: [{op: '==', left: {field: list_id}, right: {field: id, source: l}}, {op: '==', left: {field: name}, right: {value: one}}]}}}}}`},
	{"calculation", `{from: {name: items}, columns: [{binary: {op: /, left: {field: n}, right: {value: 2}}, as: half}, {binary: {op: '*', left: {binary: {op: '+', left: {field: n}, right: {value: 1}}}, right: {field: id}}, as: product}, {binary: {op: '*', left: {field: n}, right: {value: 1.5}}, as: more}]}`},
}

// Every word of the SQL is ours, the schema's in quotes, or a placeholder.
func TestSQLOfEachDialect(t *testing.T) {
	for _, e := range engines(t, sameTables...) {
		t.Run(e.name, func(t *testing.T) {
			var got bytes.Buffer
			for _, c := range goldenCases {
				doc, err := dtql.Unmarshal([]byte(c.document))
				if err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
				text, err := sqlstore.SQL(t.Context(), e.handle(), doc, 20)
				if err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
				fmt.Fprintf(&got, "-- %s\n%s\n", c.name, text)
			}
			// The name of the database is the one thing that is another on every run.
			text := bytes.ReplaceAll(got.Bytes(), []byte("`"+sqlstore.Database(e.handle())+"`"), []byte("`data`"))
			path := filepath.Join("testdata", e.name+".sql")
			if *update {
				if err := os.WriteFile(path, text, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(text, want) {
				t.Errorf("got\n%s\nwant\n%s", text, want)
			}
		})
	}
}
