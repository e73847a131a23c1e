package main

import (
	"testing"

	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/datastate"
	"chatwright.dev/tray/server/hint"
)

func TestWhatIsWrongWithAQueryIsSaidWithoutItsLayersAndWithAWayOut(t *testing.T) {
	for _, tt := range []struct{ verdict, detail, hint, want, way string }{
		{"fail", "datastate: assertion failed: datastate-query: want exactly 1 row(s), got 3", "", "want exactly 1 row, got 3", ""},
		{"fail", "datastate: assertion failed: datastate-query: want at most 21 row(s), got 1", "", "want at most 21 rows, got 1", ""},
		{"fail", "datastate: unknown holder: nope", "name one of: crm, shop", "unknown holder: nope", "name one of: crm, shop"},
		{"fail", `datastate: query execution failed: from: unknown table "lits": did you mean lists?`, "", `from: unknown table "lits"`, "did you mean lists?"},
		{"fail", `datastate: query execution failed: where.right: param "x" is not bound`, "", `where.right: param "x" is not bound`, "bind it: --param NAME=VALUE"},
		{"fail", "datastate: query execution failed: reading YAML: no", "", "reading YAML: no", "see how a query is written: chatwright-tray query --help"},
		{"unsupported", "datastate: query execution failed: unsupported: derived table", "", "unsupported: derived table", "write the query without it"},
	} {
		err := queryError(server.QueryAnswer{Verdict: tt.verdict, Detail: tt.detail, Hint: tt.hint, Evidence: &datastate.Evidence{}}, noDataHere())
		if err.Error() != tt.want || hint.Of(err) != tt.way {
			t.Errorf("got  %q, hint %q\nwant %q, hint %q", err, hint.Of(err), tt.want, tt.way)
		}
	}
}
