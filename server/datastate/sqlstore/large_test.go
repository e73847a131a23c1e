package sqlstore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/datastate"
)

// fill makes a table of n rows in the engine's own quickest way.
func fill(t testing.TB, e engine, n int) {
	t.Helper()
	rows := fmt.Sprint(n)
	e.exec(t, `CREATE TABLE big (id {int} PRIMARY KEY, title {key}, n {int})`)
	switch e.name {
	case "sqlite":
		e.exec(t, `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < `+rows+`) INSERT INTO big SELECT i, 'row ' || i, i % 1000 FROM c`)
	case "postgres":
		e.exec(t, `INSERT INTO big SELECT i, 'row ' || i, i % 1000 FROM generate_series(1, `+rows+`) i`, `VACUUM big`)
	case "mysql":
		e.exec(t, `INSERT INTO big SELECT seq, CONCAT('row ', seq), seq % 1000 FROM seq_1_to_`+rows)
	}
}

// A million rows: the answer keeps to its caps, the total is counted by the database, and what was not read is not
// claimed.
func TestMillionRowsKeepToTheCaps(t *testing.T) {
	million := 50_000 // which are read alike, and made in less time
	if os.Getenv("CHATWRIGHT_TESTS") == "all" {
		million = 1_000_000
	}
	for _, e := range engines(t) {
		fill(t, e, million)
		t.Run(e.name, func(t *testing.T) {
			runner := datastate.NewRunner(e.store, e.store.Handles(), datastate.Limits{})
			for _, c := range []struct {
				name   string
				claims []datastate.Claim
				want   string
			}{
				{"nothing", nil, ""},
				{"their number", []datastate.Claim{{Type: datastate.ExactRowCountClaim, Count: million}, {Type: datastate.MinRowCountClaim, Count: million - 1}}, ""},
				{"another number", []datastate.Claim{{Type: datastate.MaxRowCountClaim, Count: 21}}, fmt.Sprintf("datastate: assertion failed: big: want at most 21 row(s), got %d", million)},
				{"a row among the first", []datastate.Claim{{Type: datastate.RowContainsClaim, Row: datastate.Row{"title": "row 1000"}}}, ""},
				{"a row beyond", []datastate.Claim{{Type: datastate.RowContainsClaim, Row: datastate.Row{"title": "row 1001"}}},
					fmt.Sprintf("datastate: assertion failed: big: no row contains expected shape map[title:row 1001] among the first 1000 of %d row(s): narrow the query with where", million)},
				{"these rows and no others", []datastate.Claim{{Type: datastate.ExactRowsClaim, Rows: []datastate.Row{{"id": 1}}}}, fmt.Sprintf("… %d more]", million-20)},
			} {
				began := time.Now()
				evidence, err := runner.Run(t.Context(), datastate.Checkpoint, datastate.Assertion{Name: "big", Query: datastate.Query{DTQL: "{from: {name: big}}"}, Claims: c.claims})
				took := time.Since(began)
				if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && !strings.Contains(got, c.want) {
					t.Errorf("%s: got %v, want %q", c.name, err, c.want)
				}
				if evidence.TotalRows != million || len(evidence.Preview) != 20 || !evidence.Truncated || datastate.CanonicalJSON(evidence.Preview[0]["id"]) != "1" {
					t.Errorf("%s: got %d of %d rows (truncated: %t), want 20 of all", c.name, len(evidence.Preview), evidence.TotalRows, evidence.Truncated)
				}
				t.Logf("%s: %s", c.name, took.Round(100*time.Microsecond))
			}
			never := datastate.Assertion{Name: "big", Query: datastate.Query{DTQL: "{from: {name: big}}"}, Expect: func([]datastate.Row) error {
				t.Error("an expectation was asked about rows of which it does not see all")
				return nil
			}}
			if _, err := runner.Run(t.Context(), datastate.Checkpoint, never); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("the query gives %d row(s), of which an expectation sees 1000 at most", million)) {
				t.Errorf("code that wants all rows: got %v", err)
			}
		})
	}
}

func smallTable(b *testing.B) (*datastate.Runner, datastate.Assertion) {
	b.Helper()
	e := newEngine(b, "sqlite", "sqlite:"+filepath.Join(b.TempDir(), "data.db"), sameTables)
	b.ReportAllocs()
	return datastate.NewRunner(e.store, e.store.Handles(), datastate.Limits{}), datastate.Assertion{
		Name: "small", Query: datastate.Query{DTQL: "from: {name: lists}\nwhere: {op: '==', left: {field: status}, right: {param: s}}\norderBy: [{field: title}]\n", Params: map[string]any{"s": "active"}},
		Claims: []datastate.Claim{{Type: datastate.ExactRowCountClaim, Count: 2}, {Type: datastate.RowContainsClaim, Row: datastate.Row{"title": "milk"}}},
	}
}

// Asked: at most 1 ms, text to verdict.
func BenchmarkAssertionOnSQLite(b *testing.B) {
	runner, assertion := smallTable(b)
	for b.Loop() {
		if _, err := runner.Run(b.Context(), datastate.Checkpoint, assertion); err != nil {
			b.Fatal(err)
		}
	}
}

// Asked: a table of a million rows is answered in 50 ms.
func BenchmarkMillionRowsOnSQLite(b *testing.B) {
	e := newEngine(b, "sqlite", "sqlite:"+filepath.Join(b.TempDir(), "data.db"), nil)
	fill(b, e, 1_000_000)
	runner := datastate.NewRunner(e.store, e.store.Handles(), datastate.Limits{})
	for b.Loop() {
		evidence, err := runner.Run(b.Context(), datastate.Checkpoint, datastate.Assertion{Name: "big", Query: datastate.Query{DTQL: "{from: {name: big}}"}})
		if err != nil || evidence.TotalRows != 1_000_000 {
			b.Fatal(evidence.TotalRows, err)
		}
	}
}
