package dtql_test

import (
	"strings"
	"testing"

	"chatwright.dev/tray/server/datastate/dtql"
)

// oneKiB is a query of 1 KiB as people write them.
func oneKiB() string {
	text := "from: {name: lists, alias: l}\nwhere:\n  and:\n"
	for len(text) < 900 {
		text += "    - {op: '==', left: {field: space_id}, right: {param: family_space_id}}\n"
	}
	return text + "orderBy:\n  - {field: title}\n  - {field: updated_at, desc: true}\nlimit: 10\n#" + strings.Repeat(".", 1023-len(text)-70) + "\n"
}

// 1 KiB of DTQL is parsed within 50 µs.
func BenchmarkUnmarshal(b *testing.B) {
	text := []byte(oneKiB())
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := dtql.Unmarshal(text); err != nil {
			b.Fatal(err)
		}
	}
}

// A block scalar or a tag goes the long way, through the YAML library.
func BenchmarkUnmarshalLong(b *testing.B) {
	text := []byte("---\n" + oneKiB())
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := dtql.Unmarshal(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMarshal(b *testing.B) {
	doc, err := dtql.Unmarshal([]byte(oneKiB()))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := dtql.Marshal(doc); err != nil {
			b.Fatal(err)
		}
	}
}
