package datastate

import (
	"maps"
	"slices"
	"strings"
)

// A rowset is a result in canonical order, the rows in step in both forms.
type rowset struct {
	compared []Row // what expectations see: without the excluded fields
	full     []Row // what evidence shows
}

// arrange puts rows in canonical order without touching them: by the sort keys, then by canonical JSON. Excluded fields
// decide nothing but the order of rows that are otherwise equal, so a changing timestamp does not reorder evidence.
//
// ordered says that the rows came in an order that was asked for.
func arrange(rows []Row, by Normalization, ordered bool) rowset {
	type keyed struct {
		compared, full Row
		keys           []any
		text, fullText string
	}
	list := make([]keyed, len(rows))
	for i, row := range rows {
		k := keyed{compared: row, full: row}
		if k.compared == nil {
			k.compared, k.full = Row{}, Row{}
		}
		k.fullText = CanonicalJSON(k.full)
		k.text = k.fullText
		if len(by.ExcludedFields) > 0 {
			k.compared = maps.Clone(k.compared)
			for _, name := range by.ExcludedFields {
				delete(k.compared, name)
			}
			k.text = CanonicalJSON(k.compared)
		}
		for _, name := range by.SortKeys {
			k.keys = append(k.keys, plain(row[name]))
		}
		list[i] = k
	}
	keep := by.KeepOrder && ordered && len(by.SortKeys) == 0
	slices.SortStableFunc(list, func(a, b keyed) int {
		if keep {
			return 0
		}
		for i := range a.keys {
			if order := compareValues(a.keys[i], b.keys[i]); order != 0 {
				return order
			}
		}
		if order := strings.Compare(a.text, b.text); order != 0 {
			return order
		}
		return strings.Compare(a.fullText, b.fullText)
	})
	set := rowset{make([]Row, len(list)), make([]Row, len(list))}
	for i, k := range list {
		set.compared[i], set.full[i] = k.compared, k.full
	}
	return set
}

// sameRows reports whether both hold equal rows equally often, in any order.
func sameRows(a, b []Row) bool {
	texts := func(rows []Row) []string {
		out := make([]string, len(rows))
		for i, row := range rows {
			out[i] = CanonicalJSON(row)
		}
		slices.Sort(out)
		return out
	}
	return len(a) == len(b) && slices.Equal(texts(a), texts(b))
}
