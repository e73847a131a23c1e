package datastate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"chatwright.dev/tray/server/datastate"
	"chatwright.dev/tray/server/hint"
)

// rowsOf is an executor whose handles are the rows themselves.
type rowsOf struct{ seen *datastate.Query }

func (e rowsOf) Execute(_ context.Context, handle any, query datastate.Query) ([]row, error) {
	if e.seen != nil {
		*e.seen = query
	}
	if err, bad := handle.(error); bad {
		return nil, err
	}
	return handle.([]row), nil
}

func runnerOn(rows ...row) *datastate.Runner {
	return datastate.NewRunner(rowsOf{}, datastate.Handles{"main": rows}, datastate.Limits{})
}

func assertion(expect datastate.Expectation) datastate.Assertion {
	return datastate.Assertion{Name: "datastate-query", Query: datastate.Query{DTQL: "from: {name: lists}"}, Expect: expect}
}

// companion.md, /datastate/query: the texts of a query that did not run, and of one that failed.
func TestRunErrors(t *testing.T) {
	two := datastate.Handles{"b": []row{}, "a": []row{}}
	one := datastate.Handles{"main": eggsAndMilk}
	on := func(holder string) datastate.Assertion {
		a := assertion(datastate.ExactRowCount(3))
		a.Holder = holder
		return a
	}
	blank := assertion(nil)
	blank.Query.DTQL = " \n\t"
	tests := []struct {
		name     string
		executor datastate.Executor
		handles  datastate.Handles
		point    datastate.AttachmentPoint
		a        datastate.Assertion
		is       error
		text     string
		hint     string
	}{
		{"a failed expectation", rowsOf{}, one, "checkpoint", on(""), datastate.ErrAssertionFailed, "datastate: assertion failed: datastate-query: want exactly 3 row(s), got 2", ""},
		{"an unknown holder", rowsOf{}, two, "checkpoint", on("zzz"), datastate.ErrUnknownHolder, "datastate: unknown holder: zzz", "name one of: a, b"},
		{"no holder named, two there", rowsOf{}, two, "checkpoint", on(""), datastate.ErrAmbiguousHolder, "datastate: holder name is required when more than one holder is registered", "name one of: a, b"},
		{"no holders", rowsOf{}, nil, "checkpoint", on("a"), datastate.ErrNoHolders, "datastate: no holders are registered", ""},
		{"no executor", nil, one, "checkpoint", on(""), datastate.ErrNilExecutor, "datastate: executor is nil", ""},
		{"a blank query", rowsOf{}, one, "checkpoint", blank, datastate.ErrEmptyQuery, "datastate: query is empty", ""},
		{"a query that fails", rowsOf{}, datastate.Handles{"m": io.ErrClosedPipe}, "checkpoint", on("m"), io.ErrClosedPipe, "datastate: query execution failed: io: read/write on closed pipe", ""},
		{"no such attachment point", rowsOf{}, one, "midway", on(""), datastate.ErrUnknownAttachmentPoint, `datastate: unknown attachment point: "midway"`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := datastate.NewRunner(tt.executor, tt.handles, datastate.Limits{}).Run(t.Context(), tt.point, tt.a)
			if err == nil || err.Error() != tt.text || !errors.Is(err, tt.is) {
				t.Errorf("got %q, want %q", err, tt.text)
			}
			if e.Outcome != datastate.Failed || e.FailureMessage != tt.text {
				t.Errorf("evidence: got %s %q, want failed %q", e.Outcome, e.FailureMessage, tt.text)
			}
			if ran := tt.is == datastate.ErrAssertionFailed; (e.Preview != nil) != ran {
				t.Errorf("preview: got %v; it is there exactly when the query ran", e.Preview)
			}
			if got := hint.Of(err); got != tt.hint {
				t.Errorf("hint: got %q, want %q", got, tt.hint)
			}
		})
	}
}

func TestTheOnlyHolderNeedsNoName(t *testing.T) {
	e, err := runnerOn(eggsAndMilk...).Run(t.Context(), datastate.AfterMessage, assertion(nil))
	if err != nil || e.Holder != "main" || e.Outcome != datastate.Passed {
		t.Errorf("got holder %q, outcome %s, error %v; want main, passed, none", e.Holder, e.Outcome, err)
	}
}

func TestTheExecutorGetsTheTrimmedQueryAndItsParams(t *testing.T) {
	var seen datastate.Query
	r := datastate.NewRunner(rowsOf{&seen}, datastate.Handles{"main": []row{}}, datastate.Limits{})
	a := assertion(nil)
	a.Query = datastate.Query{DTQL: "\n from: {name: lists}\n", Params: map[string]any{"space": num("7")}}
	e, err := r.Run(t.Context(), datastate.Checkpoint, a)
	if err != nil {
		t.Fatal(err)
	}
	if want := (datastate.Query{DTQL: "from: {name: lists}", Params: map[string]any{"space": num("7")}}); !reflect.DeepEqual(seen, want) {
		t.Errorf("executor: got %+v, want %+v", seen, want)
	}
	if e.Preview == nil || len(e.Preview) != 0 {
		t.Errorf("preview of no rows: got %#v, want an empty list, not null", e.Preview)
	}
}

// datastate.md: "excluded fields leave the comparison, never the evidence".
func TestExcludedFields(t *testing.T) {
	rows := []row{{"id": 1, "at": "09:00"}, {"id": 2, "at": "08:00"}}
	a := assertion(datastate.ExactRows(row{"id": 2}, row{"id": 1}))
	a.Normalization.ExcludedFields = []string{"at", "at"}
	e, err := runnerOn(rows...).Run(t.Context(), datastate.Checkpoint, a)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := e.Preview[0]["at"], "09:00"; got != want {
		t.Errorf("first row's at: got %v, want %v: the order must not follow an excluded field", got, want)
	}
	if want := []string{"at"}; !slices.Equal(e.ExcludedFields, want) {
		t.Errorf("excludedFields: got %v, want %v", e.ExcludedFields, want)
	}
	if len(rows[0]) != 2 {
		t.Error("the executor's own row was changed")
	}
}

// datastate.md: "canonical order (sort keys, else canonical JSON)".
func TestCanonicalOrder(t *testing.T) {
	rows := []row{{"n": 10, "s": "b"}, {"n": 2, "s": "c"}, {"n": num("2.0"), "s": "a"}, {"s": "none"}, nil}
	tests := []struct {
		name string
		keys []string
		want string
	}{
		{"without keys, by text", nil, `[{"n":10,"s":"b"},{"n":2.0,"s":"a"},{"n":2,"s":"c"},{"s":"none"},{}]`},
		{"with a key, numbers by value and ties by text", []string{"n"}, `[{"s":"none"},{},{"n":2.0,"s":"a"},{"n":2,"s":"c"},{"n":10,"s":"b"}]`},
		{"with two keys", []string{"missing", "s"}, `[{},{"n":2.0,"s":"a"},{"n":10,"s":"b"},{"n":2,"s":"c"},{"s":"none"}]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 20 { // whatever order the database had
				rand.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
				a := assertion(nil)
				a.Normalization.SortKeys = tt.keys
				e, err := runnerOn(rows...).Run(t.Context(), datastate.Checkpoint, a)
				if err != nil {
					t.Fatal(err)
				}
				if got, _ := json.Marshal(e.Preview); string(got) != tt.want {
					t.Fatalf("got %s, want %s", got, tt.want)
				}
			}
		})
	}
}

// datastate.md: "Limits default 20 rows × 20 fields; fields beyond it are dropped in alphabetical order".
func TestLimits(t *testing.T) {
	wide := row{}
	for i := range 25 {
		wide[fmt.Sprintf("f%02d", i)] = i
	}
	many := make([]row, 30)
	for i := range many {
		many[i] = row{"id": i}
	}
	many[7] = wide
	tests := []struct {
		name         string
		limits       datastate.Limits
		rows         []row
		wantRows     int
		wantLast     string
		wantTruncate bool
	}{
		{"within", datastate.Limits{}, many[:7], 7, "id", false},
		{"too many rows", datastate.Limits{}, many[8:], 20, "id", true},
		{"too many fields", datastate.Limits{}, many[7:8], 1, "f19", true},
		{"limits of one's own", datastate.Limits{Rows: 1, Fields: 2}, many[7:9], 1, "f01", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := datastate.NewRunner(rowsOf{}, datastate.Handles{"main": tt.rows}, tt.limits)
			e, err := r.Run(t.Context(), datastate.Checkpoint, assertion(datastate.ExactRowCount(len(tt.rows))))
			if err != nil {
				t.Fatalf("an expectation must see all rows: %v", err)
			}
			if e.TotalRows != len(tt.rows) || e.ReturnedRows != tt.wantRows || len(e.Preview) != tt.wantRows || e.Truncated != tt.wantTruncate {
				t.Errorf("got total %d, returned %d, truncated %t; want %d, %d, %t", e.TotalRows, e.ReturnedRows, e.Truncated, len(tt.rows), tt.wantRows, tt.wantTruncate)
			}
			var names []string
			for name := range e.Preview[0] {
				names = append(names, name)
			}
			if slices.Sort(names); names[len(names)-1] != tt.wantLast {
				t.Errorf("last field: got %s, want %s", names[len(names)-1], tt.wantLast)
			}
		})
	}
}

// A redacted value appears nowhere: not in the preview at any depth, not in the params, not in a failure text.
func TestRedact(t *testing.T) {
	const secret = "s3cr3t"
	rows := []row{{"id": 1, "token": secret, "user": map[string]any{"token": secret, "name": "ann"}, "log": []any{row{"token": secret}}}}
	for name, expect := range map[string]datastate.Expectation{
		"exact rows":   datastate.All(datastate.ExactRows(row{"id": 1, "token": secret + "x"})),
		"row contains": datastate.RowContains(row{"token": secret + "x"}),
		"all rows":     datastate.AllRows(func(r row) error { return datastate.ExactRows()([]row{r}) }),
	} {
		t.Run(name, func(t *testing.T) {
			a := assertion(expect)
			a.Redact = []string{"token", "absent"}
			a.Query.Params = map[string]any{"token": secret, "id": 1}
			e, err := runnerOn(rows...).Run(t.Context(), datastate.Checkpoint, a)
			if !errors.Is(err, datastate.ErrAssertionFailed) {
				t.Fatalf("got %v, want a failed assertion", err)
			}
			data, _ := json.Marshal(e)
			if strings.Contains(string(data), secret) || strings.Contains(err.Error(), secret) {
				t.Errorf("the secret is in %s or %q", data, err)
			}
			if got := e.Preview[0]["token"]; got != datastate.RedactedValue {
				t.Errorf("token: got %v, want the field with %s", got, datastate.RedactedValue)
			}
			if want := []string{"absent", "token"}; !slices.Equal(e.RedactedFields, want) {
				t.Errorf("redactedFields: got %v, want %v", e.RedactedFields, want)
			}
			if got := rows[0]["user"].(map[string]any)["token"]; got != secret {
				t.Error("the executor's own row was changed")
			}
		})
	}
}

// datastate.md: the names of Evidence in JSON, and numbers that keep their digits.
func TestEvidenceJSON(t *testing.T) {
	a := assertion(datastate.NonEmpty())
	a.Query.Params = map[string]any{"n": num("1.50")}
	a.Redact = []string{"token"}
	a.Normalization.ExcludedFields = []string{"at"}
	r := runnerOn(row{"id": uint64(math.MaxUint64), "big": float64(1 << 62), "price": "12.50", "token": "x", "at": nil, "ratio": num("5.0"), "bad": math.NaN()})
	passed, err := r.Run(t.Context(), datastate.BranchCompletion, a)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"datastate-query","attachmentPoint":"branch-completion","holder":"main","query":"from: {name: lists}","params":{"n":1.50},"outcome":"passed",` +
		`"totalRows":1,"returnedRows":1,"truncated":false,"preview":[{"at":null,"bad":"NaN","big":4611686018427387904,"id":18446744073709551615,"price":"12.50","ratio":5.0,"token":"«redacted»"}],` +
		`"redactedFields":["token"],"excludedFields":["at"]}`
	if got, _ := json.Marshal(passed); string(got) != want {
		t.Errorf("passed:\ngot  %s\nwant %s", got, want)
	}
	a = assertion(nil)
	a.Holder = "zzz"
	failed, _ := r.Run(t.Context(), datastate.Checkpoint, a)
	want = `{"name":"datastate-query","attachmentPoint":"checkpoint","holder":"zzz","query":"from: {name: lists}","outcome":"failed",` +
		`"failureMessage":"datastate: unknown holder: zzz","totalRows":0,"returnedRows":0,"truncated":false,"preview":null}`
	if got, _ := json.Marshal(failed); string(got) != want {
		t.Errorf("failed:\ngot  %s\nwant %s", got, want)
	}
}

// What an executor or a caller changes later does not change evidence.
func TestEvidenceSharesNothing(t *testing.T) {
	inner := map[string]any{"n": 1}
	params := map[string]any{"list": []any{1}}
	a := assertion(nil)
	a.Query.Params = params
	e, err := runnerOn(row{"inner": inner}).Run(t.Context(), datastate.Checkpoint, a)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := json.Marshal(e)
	inner["n"], params["list"].([]any)[0] = 2, 2
	if after, _ := json.Marshal(e); string(after) != string(before) {
		t.Errorf("got %s, want %s still", after, before)
	}
}

func TestRunAllStopsAtTheFirstFailure(t *testing.T) {
	r := runnerOn(eggsAndMilk...)
	list := []datastate.Assertion{assertion(datastate.NonEmpty()), assertion(datastate.Empty()), assertion(func([]row) error {
		t.Error("the assertion after the failed one was run")
		return nil
	})}
	evidence, err := r.RunAll(t.Context(), datastate.Checkpoint, list)
	if !errors.Is(err, datastate.ErrAssertionFailed) || len(evidence) != 2 || evidence[0].Outcome != "passed" || evidence[1].Outcome != "failed" {
		t.Errorf("got %d pieces of evidence and %v, want passed, failed and a failed assertion", len(evidence), err)
	}
}

func TestGateCommitsOnlyWhenAllPass(t *testing.T) {
	full := errors.New("disk full")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name       string
		ctx        context.Context
		expect     datastate.Expectation
		commitFail error
		committed  bool
		want       error
	}{
		{"all pass", t.Context(), datastate.NonEmpty(), nil, true, nil},
		{"one fails", t.Context(), datastate.Empty(), nil, false, datastate.ErrAssertionFailed},
		{"the commit fails", t.Context(), datastate.NonEmpty(), full, true, full},
		{"cancelled in between", cancelled, datastate.NonEmpty(), nil, false, context.Canceled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			committed := false
			list := []datastate.Assertion{assertion(datastate.NonEmpty()), assertion(tt.expect)}
			evidence, err := runnerOn(eggsAndMilk...).Gate(tt.ctx, datastate.BranchCompletion, list, func(context.Context) error {
				committed = true
				return tt.commitFail
			})
			if committed != tt.committed || !errors.Is(err, tt.want) || len(evidence) != 2 {
				t.Errorf("got committed %t, %d pieces of evidence, error %v; want %t, 2, %v", committed, len(evidence), err, tt.committed, tt.want)
			}
		})
	}
}

// Of two columns that are called alike one is source.column: redacting their name hides both.
func TestRedactHidesTheColumnOfEverySource(t *testing.T) {
	rows := []datastate.Row{{"token": "t1", "other.token": "t2", "token.other": "kept"}}
	e, err := datastate.NewRunner(rowsOf{}, datastate.Handles{"db": rows}, datastate.Limits{}).Run(t.Context(), datastate.Checkpoint,
		datastate.Assertion{Query: datastate.Query{DTQL: "q"}, Redact: []string{"token"}})
	want := datastate.Row{"token": datastate.RedactedValue, "other.token": datastate.RedactedValue, "token.other": "kept"}
	if err != nil || !datastate.Equal(e.Preview[0], want) {
		t.Errorf("got %v and %v, want %v", e.Preview, err, want)
	}
}
