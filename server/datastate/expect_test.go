package datastate_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"chatwright.dev/tray/server/datastate"
)

type row = datastate.Row

var eggsAndMilk = []row{{"id": int64(1), "title": "milk"}, {"id": int64(2), "title": "eggs", "tags": []any{"a", "b"}, "place": map[string]any{"shelf": 3.0, "room": "cellar"}}}

// companion.md, /datastate/query: the texts that scripts match on.
func TestExpectations(t *testing.T) {
	even := func(r row) error {
		if r["id"].(int64)%2 != 0 {
			return fmt.Errorf("id %v is odd", r["id"])
		}
		return nil
	}
	negative := func(r row) error { return fmt.Errorf("id %v is not negative", r["id"]) }
	tests := []struct {
		name   string
		expect datastate.Expectation
		rows   []row
		want   string // "": passes
	}{
		{"exactly: met", datastate.ExactRowCount(2), eggsAndMilk, ""},
		{"exactly: missed", datastate.ExactRowCount(3), eggsAndMilk, "want exactly 3 row(s), got 2"},
		{"at least: met", datastate.MinRowCount(2), eggsAndMilk, ""},
		{"at least: missed", datastate.MinRowCount(3), eggsAndMilk, "want at least 3 row(s), got 2"},
		{"at most: met", datastate.MaxRowCount(2), eggsAndMilk, ""},
		{"at most: missed", datastate.MaxRowCount(1), eggsAndMilk, "want at most 1 row(s), got 2"},
		{"non-empty: met", datastate.NonEmpty(), eggsAndMilk, ""},
		{"non-empty: missed", datastate.NonEmpty(), nil, "want at least 1 row(s), got 0"},
		{"empty: met", datastate.Empty(), nil, ""},
		{"empty: missed", datastate.Empty(), eggsAndMilk, "want exactly 0 row(s), got 2"},

		{"contains: one field", datastate.RowContains(row{"title": "eggs"}), eggsAndMilk, ""},
		{"contains: no such row", datastate.RowContains(row{"title": "eggs"}), eggsAndMilk[:1], "no row contains expected shape map[title:eggs]"},
		{"contains: fields of two rows do not add up", datastate.RowContains(row{"id": 1, "title": "eggs"}), eggsAndMilk, "no row contains expected shape map[id:1 title:eggs]"},
		{"contains: numbers by value", datastate.RowContains(row{"id": num("2.0")}), eggsAndMilk, ""},
		{"contains: a nested map partially", datastate.RowContains(row{"place": row{"shelf": 3}}), eggsAndMilk, ""},
		{"contains: a nested map has to be one", datastate.RowContains(row{"title": row{}}), eggsAndMilk, "no row contains expected shape map[title:map[]]"},
		{"contains: a list element for element", datastate.RowContains(row{"tags": []any{"a", "b"}}), eggsAndMilk, ""},
		{"contains: a list is not taken partially", datastate.RowContains(row{"tags": []any{"a"}}), eggsAndMilk, "no row contains expected shape map[tags:[a]]"},
		{"contains: null wants the field", datastate.RowContains(row{"deleted": nil}), eggsAndMilk, "no row contains expected shape map[deleted:<nil>]"},
		{"contains: null is null", datastate.RowContains(row{"deleted": nil}), []row{{"deleted": nil}}, ""},
		{"contains: nothing wants a row", datastate.RowContains(row{}), nil, "no row contains expected shape map[]"},

		{"exact: in any order", datastate.ExactRows(row{"id": 2}, row{"id": 1}), []row{{"id": 1.0}, {"id": num("2")}}, ""},
		{"exact: as often as given", datastate.ExactRows(row{"id": 1}, row{"id": 1}, row{"id": 2}), []row{{"id": 1}, {"id": 2}, {"id": 2}}, "rowset mismatch: want [map[id:1] map[id:1] map[id:2]], got [map[id:1] map[id:2] map[id:2]]"},
		{"exact: another value", datastate.ExactRows(row{"title": "eggs"}), eggsAndMilk[:1], "rowset mismatch: want [map[title:eggs]], got [map[id:1 title:milk]]"},
		{"exact: none", datastate.ExactRows(), nil, ""},

		{"all rows: of none", datastate.AllRows(even), nil, ""},
		{"all rows: missed", datastate.AllRows(even), eggsAndMilk, "row 1 of 2: id 1 is odd"},
		{"any row: met by the second", datastate.AnyRow(even), eggsAndMilk, ""},
		{"any row: missed", datastate.AnyRow(negative), eggsAndMilk, "none of 2 row(s) passes the check, the first: id 1 is not negative"},
		{"any row: of none", datastate.AnyRow(even), nil, "want a row that passes the check, got 0 row(s)"},

		{"all: of nothing", datastate.All(), nil, ""},
		{"all: the first failure", datastate.All(datastate.NonEmpty(), datastate.MaxRowCount(1), datastate.Empty()), eggsAndMilk, "want at most 1 row(s), got 2"},
		{"all: nested", datastate.All(datastate.All(datastate.Empty())), eggsAndMilk, "want exactly 0 row(s), got 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := tt.expect(tt.rows); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestChecksKeepTheirCause(t *testing.T) {
	cause := errors.New("stale")
	check := func(row) error { return cause }
	for name, expect := range map[string]datastate.Expectation{"all rows": datastate.AllRows(check), "any row": datastate.AnyRow(check)} {
		if err := expect(eggsAndMilk); !errors.Is(err, cause) {
			t.Errorf("%s: got %v, want the check's own error in it", name, err)
		}
	}
}

func TestMismatchTextsAreBounded(t *testing.T) {
	many := make([]row, 1000)
	for i := range many {
		many[i] = row{"id": i}
	}
	text := datastate.ExactRows(row{"id": -1})(many).Error()
	if !strings.HasSuffix(text, "map[id:19] … 980 more]") {
		t.Errorf("many rows: got %q, want 20 rows and how many more there are", text)
	}
	wide := []row{{"text": strings.Repeat("x", 1<<20)}}
	if n := len(datastate.ExactRows()(wide).Error()); n > 5000 {
		t.Errorf("a wide row: got a text of %d bytes, want at most 5000", n)
	}
}
