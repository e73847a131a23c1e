package sqlstore

import (
	"cmp"
	"slices"
	"strings"

	"chatwright.dev/tray/server/spell"
)

// A kind is what a column holds, in the one vocabulary that the three engines are brought to.
type kind uint8

const (
	kindAny     kind = iota // what the value itself says: a column of SQLite without a type
	kindBool                // true and false
	kindInt                 // a JSON number
	kindFloat               // a JSON number: a double, or a single where bits is 32
	kindDecimal             // text with all digits
	kindText
	kindTime   // RFC 3339 in UTC
	kindDate   // 2006-01-02
	kindClock  // 15:04:05
	kindUUID   // text
	kindBinary // text: BinaryMarker, then base64
	kindJSON   // maps and lists
	kindOther  // the database's own text; it cannot be compared
)

func (k kind) String() string {
	return [...]string{"any value", "a boolean", "an integer", "a double", "a decimal", "text", "a time", "a date",
		"a time of day", "a UUID", "binary", "JSON", "of a type that cannot be compared"}[k]
}

func (k kind) number() bool { return k == kindInt || k == kindFloat || k == kindDecimal }

// A datatype is a kind with what is to be known besides to write and to read its values.
type datatype struct {
	kind   kind
	bits   int  // of a kindFloat: 32, else a double
	scale  int  // of a kindDecimal: digits after the point, unknownScale where each value has its own
	zoned  bool // of a kindTime: an instant, where others are a date and a time that mean UTC
	digits int  // of a kindFloat that was computed over many rows: how many do not depend on their order; 0: all
	// native is the engine's own name where SQL has to be written in another way for it; the dialect knows it.
	native string
}

const unknownScale = -1

type column struct {
	name string
	datatype
	nullable  bool
	primary   int    // place in the primary key, from 1; 0: not in it
	collation string // of texts; "" not known
}

// A table is a table or a view as it is in the database, spelt as it is there.
type table struct {
	schema, name string
	columns      []column
}

func (t *table) column(name string) *column {
	for i := range t.columns {
		if t.columns[i].name == name {
			return &t.columns[i]
		}
	}
	return nil
}

// key is the primary key in its order; nil without one.
func (t *table) key() []column {
	var key []column
	for _, c := range t.columns {
		if c.primary > 0 {
			key = append(key, c)
		}
	}
	slices.SortFunc(key, func(a, b column) int { return cmp.Compare(a.primary, b.primary) })
	return key
}

// columnNames is for nearest.
func (t *table) columnNames() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	return names
}

// nearest is the end of an error about a name that there is not: those that were probably meant, else some that there
// are.
func nearest(name string, known []string) string {
	const most = 5
	type candidate struct {
		name string
		far  int
	}
	if len(known) == 0 {
		return "there is none that this user may read"
	}
	list := make([]candidate, 0, len(known))
	for _, k := range known {
		list = append(list, candidate{k, spell.Distance(strings.ToLower(name), strings.ToLower(k))})
	}
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.far, b.far), strings.Compare(a.name, b.name))
	})
	var names []string
	for _, c := range list[:min(most, len(list))] {
		if len(names) > 0 && c.far > max(2, len(name)/2) {
			break // further than half the word is another word
		}
		names = append(names, c.name)
	}
	if list[0].far > max(2, len(name)/2) {
		names = slices.Sorted(slices.Values(known))
		more := ""
		if len(names) > 2*most {
			names, more = names[:2*most], ", …"
		}
		return "there are " + strings.Join(names, ", ") + more
	}
	return "did you mean " + strings.Join(names, " or ") + "?"
}
