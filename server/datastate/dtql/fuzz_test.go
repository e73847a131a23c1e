package dtql_test

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"chatwright.dev/tray/server/datastate/dtql"
)

// Foreign bytes: no panic, errors of the two kinds only, and the canonical form reads as itself.
func FuzzUnmarshal(f *testing.F) {
	everything, err := os.ReadFile("testdata/everything.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(everything)
	for _, seed := range []string{example, `{"from":{"name":"a"},"limit":1}`, "from: {name: \"\\ud83d\\ude00\"}", "from: {name: a}\nwhere: {isNull: {value: 1e5}}", "%YAML 1.2\n---\nfrom: {name: |\n  a\n}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, err := dtql.Unmarshal(text)
		if err != nil {
			var invalid *dtql.Error
			var unsupported *dtql.UnsupportedError
			if !errors.As(err, &invalid) && !errors.As(err, &unsupported) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		canonical, err := dtql.Marshal(doc)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if len(canonical) > dtql.MaxBytes {
			return
		}
		again, err := dtql.Unmarshal(canonical)
		if err != nil {
			t.Fatalf("the canonical form\n%s\ncannot be read: %v", canonical, err)
		}
		second, err := dtql.Marshal(again)
		if err != nil || !bytes.Equal(second, canonical) {
			t.Fatalf("got %v\n%s\nwant\n%s", err, second, canonical)
		}
	})
}
