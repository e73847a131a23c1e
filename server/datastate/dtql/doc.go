// Package dtql reads DTQL: a YAML (or JSON) document that stands for one read-only, structured query. Unmarshal parses and
// validates text, Bind puts values where the document has params, Marshal writes the canonical form, the same bytes for
// the same query. Who executes a query walks the tree, which holds plain values only. The package knows no database.
//
//	document  := as?, from, where?, groupBy?, having?, orderBy?, limit?, offset?, columns?
//	from      := {name, schema?, alias?|as?, joins?: [join…]}
//	join      := {type?: inner|left, from, on: [{op: '==', left: {field, source}, right: {field, source}}…]}
//	groupBy   := [expr…]
//	orderBy   := [expr + {desc?: bool}…]
//	columns   := [expr + {as?} | {wildcard: {source?, exclude?: [name…]}}…]     absent: all columns
//	condition := {op, left: expr, right: expr} | {and: [condition…]} | {or: [condition…]}
//	           | {isNull: expr} | {isNotNull: expr} | {exists: {query: document}} | {notExists: {query: document}}
//	op        := '==' | In | '>' | '>=' | '<' | '<='
//	expr      := {field, source?} | {value: scalar} | {values: [scalar…]} | {param: name} | {star: true}
//	           | {aggregate: {function: count|sum|avg|min|max, distinct?, args: [expr]}}
//	           | {binary: {op: '+'|'-'|'*'|'/', left: expr, right: expr}}
//
// # Scalars
//
// In quotes, and in block scalars, everything is text. Without quotes null (~, nothing) is null, true and false are
// booleans, and what JSON takes for a number is one, with all its digits: json.Number. Everything else is text: yes and
// no, dates, times and addresses. What readers of YAML disagree about (0x10, 017, 1_000, +1, .5, 1.) is refused, and so
// are .nan and .inf.
//
// # Strictness
//
// Unknown keys, keys that are there twice, a second document, anchors, aliases, merge keys, tags, text over MaxBytes and
// nesting over MaxDepth are errors. So is what databases answer in different ways: a field that is neither a key of the
// group nor in an aggregate, an order by a number, two columns of one name.
//
// What DTQL has and nothing here executes (derived tables, parented collections and key paths, first and last, money,
// scalar subqueries) is an UnsupportedError.
package dtql
