package history_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/history"
	"chatwright.dev/tray/server/protocol"
)

// sqlite opens a file as any other program would.
func sqlite(t *testing.T, path string) *sql.DB {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func exec(t *testing.T, db *sql.DB, statements string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
}

func version(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "PRAGMA user_version").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Whoever adds a migration adds the file that the version before it left, and what must be read from it.
func TestFilesOfEveryVersionAreReadAndGoOn(t *testing.T) {
	firstToken := int64(300)
	want := []protocol.Call{
		{Timestamp: time.Unix(0, 1796000000000000001).UTC(), Model: "llama3.2", LatencyMs: 1800, PromptTokens: 12,
			CompletionTokens: 412, ResponseFormat: "json_schema", Streamed: true, Status: 200, FirstTokenMs: &firstToken,
			TokensPerSecond: 38.5, Verdict: protocol.VerdictComplete, BytesIn: 4096, BytesOut: 8192, OverheadUs: 120,
			FinishReason: "stop", Upstream: "localhost:11434", ID: "c1", UsageKnown: true,
			RequestModel: "llama3"},
		{Timestamp: time.Unix(0, 1796000001000000002).UTC(), LatencyMs: 5, Error: "connection refused",
			Verdict: protocol.VerdictUnreachable, BytesIn: 10, OverheadUs: 4000, Upstream: "localhost:11434", ID: "c2"},
	}
	for v := 1; v <= len(history.Migrations()); v++ {
		t.Run(fmt.Sprintf("version %d", v), func(t *testing.T) {
			dump, err := os.ReadFile(filepath.Join("testdata", fmt.Sprintf("v%d.sql", v)))
			if err != nil {
				t.Fatal(err)
			}
			path := newPath(t)
			db := sqlite(t, path)
			exec(t, db, string(dump))
			_ = db.Close()

			r := open(t, path) // a command reads it as it is
			if got := list(t, r.Calls, protocol.HistoryQuery{}); !reflect.DeepEqual(got, want) {
				t.Errorf("read only: got\n%+v\nwant\n%+v", got, want)
			}
			_ = r.Close()
			k := keep(t, path, func(c *history.Config) { c.Retention = 100 * 365 * 24 * time.Hour })
			k.Add(call("new", 0))
			if got := k.list(protocol.HistoryQuery{}); len(got) != 3 || !reflect.DeepEqual(got[:2], want) {
				t.Errorf("in the daemon: got\n%+v\nwant\n%+v and one more", got, want)
			}
			if totals, err := k.Totals(t.Context(), time.Time{}); err != nil || totals.Calls != 3 || totals.Errors != 1 {
				t.Errorf("totals: got %+v, %v, want 3 calls and 1 error", totals, err)
			}
			k.stop()
			if got := version(t, sqlite(t, path)); got != len(history.Migrations()) {
				t.Errorf("the version afterwards: got %d, want %d", got, len(history.Migrations()))
			}
		})
	}
}

func TestStepsAreTakenWholeAndOnce(t *testing.T) {
	db := sqlite(t, newPath(t))
	steps := []string{
		"CREATE TABLE a (x) STRICT", // no such type: it fails as a whole
	}
	if err := history.Migrate(t.Context(), db, steps); err == nil || !strings.Contains(err.Error(), "version 1") {
		t.Errorf("a bad first step: got %v, want an error that names version 1", err)
	}
	steps = []string{"CREATE TABLE a (x INTEGER)"}
	if err := history.Migrate(t.Context(), db, steps); err != nil {
		t.Fatal(err)
	}
	exec(t, db, "INSERT INTO a VALUES (7)")
	steps = append(steps, "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 1; UPDATE a SET y = 2", "DROP TABLE a; DROP TABLE b")
	if err := history.Migrate(t.Context(), db, steps); err == nil || !strings.Contains(err.Error(), "version 3") {
		t.Errorf("a bad third step: got %v, want an error that names version 3", err)
	}
	if got := version(t, db); got != 2 {
		t.Errorf("version: got %d, want 2, of the last good step", got)
	}
	var x, y int
	if err := db.QueryRowContext(t.Context(), "SELECT x, y FROM a").Scan(&x, &y); err != nil || x != 7 || y != 2 {
		t.Errorf("the row: got %d, %d, %v, want 7, 2", x, y, err)
	}
	if err := history.Migrate(t.Context(), db, steps[:2]); err != nil {
		t.Errorf("nothing to do: got %v", err)
	}
	if err := history.Migrate(t.Context(), db, steps[:1]); !errors.Is(err, history.ErrNewer) || hint.Of(err) == "" {
		t.Errorf("an older program: got %v, hint %q, want %v and a way out", err, hint.Of(err), history.ErrNewer)
	}
}

func TestFileOfANewerProgramIsLeftAlone(t *testing.T) {
	path := newPath(t)
	db := sqlite(t, path)
	exec(t, db, "CREATE TABLE calls (what TEXT); INSERT INTO calls VALUES ('nobody knows'); PRAGMA user_version = 999")
	_ = db.Close()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	k := keep(t, path)
	k.Add(call("m", 0))
	state := k.awaitProblem("newer version")
	if !errors.Is(state.Problem, history.ErrNewer) || !strings.Contains(hint.Of(state.Problem), "update") {
		t.Errorf("got %v, hint %q", state.Problem, hint.Of(state.Problem))
	}
	if _, err := k.Calls(t.Context(), protocol.HistoryQuery{}); !errors.Is(err, history.ErrNewer) {
		t.Errorf("asked for calls: got %v, want %v", err, history.ErrNewer)
	}
	if _, err := history.Open(t.Context(), path); !errors.Is(err, history.ErrNewer) {
		t.Errorf("a command: got %v, want %v", err, history.ErrNewer)
	}
	k.stop()
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the file was changed (%v)", err)
	}
	if k.Dropped() != 1 {
		t.Errorf("dropped: got %d, want the one call", k.Dropped())
	}
}
