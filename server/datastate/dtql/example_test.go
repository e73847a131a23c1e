package dtql_test

import (
	"errors"
	"fmt"

	"chatwright.dev/tray/server/datastate/dtql"
)

func Example() {
	doc, err := dtql.Unmarshal([]byte(`
from: {name: lists, alias: l}
where: {op: '==', left: {field: space_id}, right: {param: space}}
limit: 10
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("params:", dtql.Params(doc))
	bound, err := dtql.Bind(doc, map[string]any{"space": "family"})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := dtql.Marshal(bound)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(text))
	// Output:
	// params: [space]
	// from:
	//   name: lists
	//   alias: l
	// where:
	//   op: "=="
	//   left: {field: space_id}
	//   right: {value: family}
	// limit: 10
}

// Errors name the place, and tell what is wrong from what is only not executed.
func ExampleUnmarshal_errors() {
	for _, text := range []string{
		"from: {name: lists}\nwhere:\n  and:\n    - {op: '!=', left: {field: id}, right: {value: 1}}",
		"from: {query: {from: {name: lists}}, alias: l}",
	} {
		_, err := dtql.Unmarshal([]byte(text))
		var unsupported *dtql.UnsupportedError
		fmt.Println(errors.As(err, &unsupported), err)
	}
	// Output:
	// false where.and[0]: unknown comparison operator "!=" (line 4, column 12)
	// true unsupported: derived table at from.query (line 1, column 8)
}

// A tree that a program builds is a document like any other.
func ExampleMarshal() {
	text, err := dtql.Marshal(&dtql.Document{
		From:    dtql.From{Name: "items"},
		GroupBy: []dtql.Expr{dtql.Field{Name: "list_id"}},
		Columns: []dtql.Column{
			{Expr: dtql.Field{Name: "list_id"}},
			{Expr: dtql.Aggregate{Function: dtql.Count, Args: []dtql.Expr{dtql.Star{}}}, As: "items"},
		},
	})
	fmt.Print(string(text), err)
	// Output:
	// from:
	//   name: items
	// groupBy:
	//   - {field: list_id}
	// columns:
	//   - {field: list_id}
	//   - aggregate:
	//       function: count
	//       args:
	//         - {star: true}
	//     as: items
	// <nil>
}
