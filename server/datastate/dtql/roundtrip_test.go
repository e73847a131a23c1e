package dtql_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"

	"chatwright.dev/tray/server/datastate/dtql"
)

// Trees at random: what is valid is written, and what was written reads as the same tree.
func TestRandomTreesSurviveTheirText(t *testing.T) {
	rounds := 3_000
	if os.Getenv("CHATWRIGHT_TESTS") == "all" {
		rounds = 200_000
	}
	g := generator{rand.New(rand.NewPCG(3, 4))}
	valid := 0
	for range rounds {
		doc := g.document(3)
		if dtql.Validate(doc) != nil {
			continue
		}
		valid++
		text, err := dtql.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > dtql.MaxBytes {
			continue
		}
		back, err := dtql.Unmarshal(text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if !reflect.DeepEqual(back, doc) {
			t.Fatalf("\n%s\nreads as %#v\nand was     %#v", text, back, doc)
		}
	}
	if valid < rounds/10 {
		t.Errorf("only %d of %d trees were valid: this proves little", valid, rounds)
	}
}

type generator struct{ *rand.Rand }

func (g generator) one(of ...string) string { return of[g.IntN(len(of))] }

func (g generator) often() bool { return g.IntN(3) > 0 }

func (g generator) name() string {
	return g.one("a", "b", "title", "two words", "yes", "null", "5", "-", "a: b", "é\u2028🥚", "#x", "'", `"\`, "\x00\t", "Grüße", "y", "~", " ", "[a", "{", "0x1F", "a.b-c")
}

func (g generator) source() string { return g.one("", "", "s0", "s1") }

func (g generator) field() dtql.Field { return dtql.Field{Name: g.name(), Source: g.source()} }

func (g generator) scalar() any {
	switch g.IntN(6) {
	case 0:
		return true
	case 1:
		return json.Number(g.one("0", "-0", "5.0", "1.50", "9007199254740993", "-1e-7", "1E+9"))
	}
	return g.one("", g.name(), "\n", "line\nbreak ", "2026-11-30")
}

func (g generator) document(depth int) *dtql.Document {
	doc := &dtql.Document{From: dtql.From{Name: g.name(), Alias: "s0"}}
	if g.often() {
		doc.Where = g.condition(depth)
	}
	if g.IntN(4) == 0 {
		doc.As, doc.From.Schema = g.name(), g.name()
	}
	if g.IntN(3) == 0 {
		on := dtql.On{Left: dtql.Field{Name: g.name(), Source: "s0"}, Right: dtql.Field{Name: g.name(), Source: "s1"}}
		join := dtql.Join{From: dtql.From{Name: g.name(), Alias: "s1"}, On: []dtql.On{on, on}}
		if g.often() {
			join.Type = dtql.LeftJoin
		}
		doc.From.Joins = []dtql.Join{join}
	}
	if g.IntN(3) == 0 {
		key := g.field()
		doc.GroupBy = []dtql.Expr{key}
		doc.Columns = []dtql.Column{{Expr: key}, {Expr: g.aggregate(), As: "folded"}}
		doc.Having = dtql.And{dtql.Comparison{Op: dtql.Greater, Left: g.aggregate(), Right: dtql.Value{V: g.scalar()}}, dtql.IsNotNull{Expr: key}}
		doc.OrderBy = []dtql.Order{{Expr: dtql.Field{Name: "folded"}, Desc: g.often()}, {Expr: dtql.Binary{Op: dtql.Subtract, Left: key, Right: g.aggregate()}}}
	} else if g.often() {
		doc.OrderBy = []dtql.Order{{Expr: g.field(), Desc: g.often()}}
		doc.Columns = []dtql.Column{{Expr: g.field()}, {Expr: g.expr(depth), As: g.name()}, {Wildcard: &dtql.Wildcard{Source: g.source(), Exclude: []string{g.name(), g.name()}}}, {Wildcard: &dtql.Wildcard{}}}
	}
	doc.Limit, doc.Offset = int64(g.IntN(3)), int64(g.IntN(3))
	return doc
}

func (g generator) aggregate() dtql.Expr {
	if g.often() {
		return dtql.Aggregate{Function: dtql.Count, Args: []dtql.Expr{dtql.Star{}}}
	}
	return dtql.Aggregate{Function: dtql.Function(g.one("count", "sum", "avg", "min", "max")), Distinct: g.often(), Args: []dtql.Expr{g.expr(1)}}
}

func (g generator) expr(depth int) dtql.Expr {
	switch n := g.IntN(6); {
	case n == 0 && depth > 0:
		return dtql.Binary{Op: dtql.BinaryOp(g.one("+", "-", "*", "/")), Left: g.expr(depth - 1), Right: g.expr(depth - 1)}
	case n == 1:
		return dtql.Param{Name: g.one("p", "p.q", "_x1", "null", "y")}
	case n == 2:
		return dtql.Value{V: g.scalar()}
	}
	return g.field()
}

func (g generator) condition(depth int) dtql.Condition {
	switch n := g.IntN(9); {
	case n < 2 && depth > 0:
		group := make([]dtql.Condition, 1+g.IntN(3))
		for i := range group {
			group[i] = g.condition(depth - 1)
		}
		if n == 0 {
			return dtql.And(group)
		}
		return dtql.Or(group)
	case n == 2:
		return dtql.IsNull{Expr: g.expr(depth)}
	case n == 3:
		return dtql.IsNotNull{Expr: g.expr(depth)}
	case n == 4 && depth > 0:
		return dtql.Exists{Query: g.document(depth - 1)}
	case n == 5 && depth > 0:
		return dtql.NotExists{Query: g.document(depth - 1)}
	case n == 6:
		values := make(dtql.Values, g.IntN(3))
		for i := range values {
			values[i] = g.scalar()
		}
		return dtql.Comparison{Op: dtql.In, Left: g.expr(depth), Right: values}
	case n == 7:
		return dtql.Comparison{Op: dtql.Equal, Left: g.expr(depth), Right: dtql.Value{}}
	}
	return dtql.Comparison{Op: dtql.Op(g.one("==", ">", ">=", "<", "<=")), Left: g.expr(depth), Right: g.expr(depth)}
}
