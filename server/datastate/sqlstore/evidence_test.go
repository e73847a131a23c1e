package sqlstore_test

import (
	"database/sql"
	"encoding/json"
	"path/filepath"
	"testing"

	"chatwright.dev/tray/server/datastate"
	"chatwright.dev/tray/server/datastate/sqlstore"
)

// datastate.md: evidence keeps the canonical text with its params, redacted where asked, and the collation.
func TestEvidenceOfARun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`CREATE TABLE lists (id INTEGER PRIMARY KEY, title TEXT, phone TEXT)`,
		`INSERT INTO lists VALUES (1, 'milk', '123'), (2, 'eggs', '456')`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	store, err := sqlstore.New(sqlstore.Config{Holders: map[string]string{"shop": "sqlite:" + path}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	runner := datastate.NewRunner(store, store.Handles(), datastate.Limits{})
	evidence, err := runner.Run(t.Context(), datastate.Checkpoint, datastate.Assertion{
		Name: "one list",
		Query: datastate.Query{
			DTQL:   `{limit: 5, from: {as: l, name: lists}, where: {right: {param: phone}, left: {field: phone}, op: '=='}}`,
			Params: map[string]any{"phone": "123"},
		},
		Redact: []string{"phone"},
		Claims: []datastate.Claim{{Type: datastate.ExactRowCountClaim, Count: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(evidence)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"one list","attachmentPoint":"checkpoint","holder":"shop",` +
		`"query":"from:\n  name: lists\n  alias: l\nwhere:\n  op: \"==\"\n  left: {field: phone}\n  right: {param: phone}\nlimit: 5\n",` +
		`"params":{"phone":"«redacted»"},"outcome":"passed","totalRows":1,"returnedRows":1,"truncated":false,` +
		`"preview":[{"id":1,"phone":"«redacted»","title":"milk"}],"redactedFields":["phone"],"collation":"BINARY"}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
