package sqlstore_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/datastate/dtql"
)

// A generator makes documents that are valid and mean something on its tables. What it makes of numbers is a multiple of
// a quarter, which doubles hold exactly: SQLite has no decimals, and that is declared, not found out here.
type generator struct {
	*rand.Rand
	aliases int
}

// A kind of expression: int, decimal, float, text, bool or time.
var differentialColumns = []struct{ name, kind, declared string }{
	{"id", "int", "{int} PRIMARY KEY"}, {"i", "int", "{int}"}, {"j", "int", "{int}"}, {"d", "decimal", "{decimal}"}, {"f", "float", "{double}"},
	{"t", "text", "{key}"}, {"b", "bool", "{bool}"}, {"m", "time", "{time}"},
}

func (g *generator) table(name string) (memoryTable, []string) {
	table := memoryTable{name: name}
	var declared []string
	for _, c := range differentialColumns {
		table.columns = append(table.columns, c.name)
		declared = append(declared, c.name+" "+c.declared)
	}
	statements := []string{"CREATE TABLE " + name + " (" + strings.Join(declared, ", ") + ")"}
	for id := range g.IntN(9) {
		row := map[string]any{"id": integer(int64(id))}
		texts := []string{fmt.Sprint(id)}
		for _, c := range differentialColumns[1:] {
			value, text := g.value(c.kind)
			row[c.name] = value
			texts = append(texts, text)
		}
		table.rows = append(table.rows, row)
		statements = append(statements, "INSERT INTO "+name+" VALUES ("+strings.Join(texts, ", ")+")")
	}
	return table, statements
}

// value is one for a table: in memory, and as a literal of SQL.
func (g *generator) value(kind string) (any, string) {
	if g.IntN(4) == 0 {
		return nil, "NULL"
	}
	quarters := int64(g.IntN(33) - 16)
	switch kind {
	case "int":
		return integer(quarters / 4), fmt.Sprint(quarters / 4)
	case "decimal":
		r := big.NewRat(quarters, 4)
		return number{exact: r, scale: 2}, r.FloatString(2)
	case "float":
		f := float64(quarters) / 4
		return number{double: f}, fmt.Sprint(f)
	case "text":
		text := g.text()
		return text, "'" + text + "'"
	case "bool":
		return quarters%2 == 0, fmt.Sprint(quarters%2 == 0)
	}
	at := g.time()
	return at, "'" + at.Format("2006-01-02 15:04:05.999999") + "'"
}

func (g *generator) text() string { return []string{"", "a", "A", "ab", "b", "B"}[g.IntN(6)] }

func (g *generator) time() time.Time {
	return time.Date(2026, 1, 1+g.IntN(3), g.IntN(2), 0, 0, g.IntN(2)*500_000_000, time.UTC)
}

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

// field is a column of a kind.
func (g *generator) field(source, kind string) dtql.Expr {
	var names []string
	for _, c := range differentialColumns {
		if c.kind == kind {
			names = append(names, c.name)
		}
	}
	return dtql.Field{Name: pick(g, names...), Source: source}
}

func (g *generator) literal(kind string) dtql.Value {
	quarters := g.IntN(33) - 16
	switch kind {
	case "int":
		return dtql.Value{V: json.Number(fmt.Sprint(quarters / 4))}
	case "decimal", "float":
		return dtql.Value{V: json.Number(big.NewRat(int64(quarters), 4).FloatString(2))}
	case "text":
		return dtql.Value{V: g.text()}
	case "bool":
		return dtql.Value{V: quarters%2 == 0}
	}
	return dtql.Value{V: g.time().Format(time.RFC3339Nano)}
}

// expr is of a kind and has no literal on its left, which is where its type comes from.
func (g *generator) expr(source, kind string, depth int) dtql.Expr {
	if depth == 0 || g.IntN(2) == 0 || kind == "text" || kind == "bool" || kind == "time" {
		return g.field(source, kind)
	}
	left := g.expr(source, kind, depth-1)
	op := pick(g, dtql.Add, dtql.Subtract, dtql.Multiply)
	switch {
	case kind == "float" && g.IntN(3) == 0:
		return dtql.Binary{Op: dtql.Divide, Left: g.expr(source, pick(g, "int", "decimal", "float"), depth-1), Right: g.expr(source, pick(g, "int", "decimal", "float"), 0)}
	case g.IntN(3) == 0:
		return dtql.Binary{Op: op, Left: left, Right: g.literal(kind)}
	}
	return dtql.Binary{Op: op, Left: left, Right: g.expr(source, kind, depth-1)}
}

func (g *generator) condition(source string, depth int) dtql.Condition {
	kind := pick(g, "int", "decimal", "float", "text", "bool", "time")
	switch n := g.IntN(10); {
	case depth > 0 && n < 2:
		return dtql.And{g.condition(source, depth-1), g.condition(source, depth-1)}
	case depth > 0 && n < 4:
		return dtql.Or{g.condition(source, depth-1), g.condition(source, depth-1), g.condition(source, depth-1)}
	case depth > 0 && n == 4:
		return g.exists(source)
	case n == 5:
		return pick[dtql.Condition](g, dtql.IsNull{Expr: g.expr(source, kind, 1)}, dtql.IsNotNull{Expr: g.field(source, kind)}, dtql.Comparison{Op: dtql.Equal, Left: g.field(source, kind), Right: dtql.Value{}})
	case n == 6:
		values := dtql.Values{}
		for range g.IntN(4) {
			values = append(values, g.literal(kind).V)
		}
		return dtql.Comparison{Op: dtql.In, Left: g.expr(source, kind, 1), Right: values}
	}
	return g.compare(g.expr(source, kind, 2), source, kind)
}

func (g *generator) compare(left dtql.Expr, source, kind string) dtql.Condition {
	op := pick(g, dtql.Equal, dtql.Greater, dtql.GreaterOrEqual, dtql.Less, dtql.LessOrEqual)
	if g.IntN(2) == 0 {
		return dtql.Comparison{Op: op, Left: left, Right: g.literal(kind)}
	}
	if kind == "int" || kind == "decimal" || kind == "float" {
		kind = pick(g, "int", "decimal", "float")
	}
	return dtql.Comparison{Op: op, Left: left, Right: g.expr(source, kind, 1)}
}

func (g *generator) exists(outer string) dtql.Condition {
	g.aliases++
	inner := fmt.Sprintf("e%d", g.aliases)
	doc := &dtql.Document{From: dtql.From{Name: pick(g, "a", "b"), Alias: inner}, Offset: int64(g.IntN(2)), Limit: int64(g.IntN(2)),
		Where: dtql.And{dtql.Comparison{Op: dtql.Equal, Left: g.field(inner, "int"), Right: g.field(outer, "int")}, g.condition(inner, 0)}}
	if g.IntN(2) == 0 {
		return dtql.NotExists{Query: doc}
	}
	return dtql.Exists{Query: doc}
}

// document is a plain query, perhaps with a join, or one with groups.
func (g *generator) document() *dtql.Document {
	doc := &dtql.Document{From: dtql.From{Name: "a", Alias: "x"}, Limit: int64(g.IntN(4)), Offset: int64(g.IntN(3))}
	sources := []string{"x"}
	if g.IntN(2) == 0 {
		sources = append(sources, "y")
		doc.From.Joins = []dtql.Join{{Type: pick(g, dtql.InnerJoin, dtql.LeftJoin), From: dtql.From{Name: "b", Alias: "y"},
			On: []dtql.On{{Left: g.field("x", "int").(dtql.Field), Right: g.field("y", "int").(dtql.Field)}}}}
	}
	if g.IntN(4) > 0 {
		doc.Where = g.condition(pick(g, sources...), 2)
	}
	if g.IntN(3) == 0 {
		g.fold(doc, sources)
		return doc
	}
	for i := range 1 + g.IntN(4) {
		kind := pick(g, "int", "decimal", "float", "text", "bool", "time")
		doc.Columns = append(doc.Columns, dtql.Column{Expr: g.expr(pick(g, sources...), kind, 2), As: fmt.Sprintf("c%d", i)})
	}
	for range g.IntN(3) {
		doc.OrderBy = append(doc.OrderBy, dtql.Order{Expr: g.expr(pick(g, sources...), pick(g, "int", "decimal", "float", "text", "bool", "time"), 1), Desc: g.IntN(2) == 0})
	}
	return doc
}

func (g *generator) aggregate(source string) dtql.Aggregate {
	kind := pick(g, "int", "decimal", "float")
	function := pick(g, dtql.Count, dtql.Sum, dtql.Avg, dtql.Min, dtql.Max)
	if function != dtql.Sum && function != dtql.Avg && g.IntN(2) == 0 {
		kind = pick(g, "text", "time")
	}
	return dtql.Aggregate{Function: function, Distinct: g.IntN(4) == 0, Args: []dtql.Expr{g.expr(source, kind, 1)}}
}

func (g *generator) fold(doc *dtql.Document, sources []string) {
	source := pick(g, sources...)
	if g.IntN(4) > 0 {
		for range 1 + g.IntN(2) {
			doc.GroupBy = append(doc.GroupBy, g.field(source, pick(g, "int", "decimal", "text", "bool", "time")))
		}
	}
	for i, expr := range doc.GroupBy {
		doc.Columns = append(doc.Columns, dtql.Column{Expr: expr, As: fmt.Sprintf("g%d", i)})
	}
	for i := range 1 + g.IntN(3) {
		doc.Columns = append(doc.Columns, dtql.Column{Expr: g.aggregate(source), As: fmt.Sprintf("c%d", i)})
	}
	doc.Columns = append(doc.Columns, dtql.Column{Expr: dtql.Aggregate{Function: dtql.Count, Args: []dtql.Expr{dtql.Star{}}}, As: "n"})
	if g.IntN(2) == 0 {
		doc.Having = g.compare(dtql.Aggregate{Function: pick(g, dtql.Sum, dtql.Max, dtql.Min), Args: []dtql.Expr{g.field(source, "decimal")}}, source, "decimal")
		if c := doc.Having.(dtql.Comparison); true {
			c.Right = g.literal("decimal")
			doc.Having = c
		}
	}
	if len(doc.GroupBy) > 0 && g.IntN(2) == 0 {
		doc.OrderBy = []dtql.Order{{Expr: pick(g, doc.Columns...).Expr, Desc: g.IntN(2) == 0}}
	}
}

// Random documents on random tables: the three engines agree with one another, and with what was meant.
func TestEnginesAgreeWithANaiveEvaluator(t *testing.T) {
	rounds, perRound := 4, 60
	if os.Getenv("CHATWRIGHT_TESTS") == "all" {
		rounds, perRound = 20, 150
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("CHATWRIGHT_TEST_SEED"); text != "" {
		if _, err := fmt.Sscan(text, &seed); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("CHATWRIGHT_TEST_SEED=%d", seed)
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	all := engines(t)
	withRows := 0
	for round := range rounds {
		memory := naive{tables: map[string]memoryTable{}}
		for _, name := range []string{"a", "b"} {
			table, statements := g.table(name)
			memory.tables[name] = table
			for _, e := range all {
				e.exec(t, append([]string{"DROP TABLE IF EXISTS " + name}, statements...)...)
			}
		}
		for range perRound {
			doc := g.document()
			want := memory.run(doc, nil)
			withRows += min(1, len(want))
			most := 1 + g.IntN(4)
			for _, e := range all {
				result, err := e.store.SelectDocument(t.Context(), e.handle(), doc, most)
				if err != nil || result.Total != len(want) || rowsJSON(result.Rows) != rowsJSON(want[:min(most, len(want))]) {
					text, _ := dtql.Marshal(doc)
					t.Fatalf("round %d, %s:\n%s\n got %s of %d and %v\nwant %s of %d", round, e.name, text, rowsJSON(result.Rows), result.Total, err, rowsJSON(want), len(want))
				}
			}
		}
	}
	if withRows < rounds*perRound/4 {
		t.Errorf("only %d of %d documents gave a row: they prove little", withRows, rounds*perRound)
	}
}
