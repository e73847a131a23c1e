package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"chatwright.dev/tray/server/hint"
)

// migrations are the steps from each version of the schema to the next: the first makes version 1 of an empty file. A
// step that was released is never changed, since files that took it are out there; testdata holds a file of each
// version.
func migrations() []string {
	return []string{
		// Times are nanoseconds since 1970. What was not known is NULL where zero would be a lie. The order of ids is
		// the order in which calls ended.
		`CREATE TABLE calls (
			id                INTEGER PRIMARY KEY,
			time              INTEGER NOT NULL,
			model             TEXT    NOT NULL,
			latency_ms        INTEGER NOT NULL,
			prompt_tokens     INTEGER NOT NULL,
			completion_tokens INTEGER NOT NULL,
			usage_known       INTEGER NOT NULL,
			response_format   TEXT    NOT NULL,
			streamed          INTEGER NOT NULL,
			status            INTEGER NOT NULL,
			error             TEXT    NOT NULL,
			first_token_ms    INTEGER,
			tokens_per_second REAL    NOT NULL,
			verdict           TEXT    NOT NULL,
			bytes_in          INTEGER NOT NULL,
			bytes_out         INTEGER NOT NULL,
			overhead_us       INTEGER NOT NULL,
			finish_reason     TEXT    NOT NULL,
			upstream          TEXT    NOT NULL,
			call_id           TEXT    NOT NULL,
			failed            INTEGER NOT NULL,
			request_model     TEXT    NOT NULL
		) STRICT;
		CREATE INDEX calls_by_time ON calls (time);
		CREATE INDEX calls_by_model ON calls (model, time);`,
	}
}

// ErrNewer says that a file was written by a newer version of this program. It is left as it is.
var ErrNewer = errors.New("it was written by a newer version of Chatwright Tray")

// migrate brings the schema to the version that steps lead to, each step as a transaction of its own.
func migrate(ctx context.Context, db *sql.DB, steps []string) error {
	version, err := schemaVersion(ctx, db)
	if err != nil {
		return err
	}
	if version > len(steps) {
		return hint.With(ErrNewer, "update Chatwright Tray, or move the file away")
	}
	for ; version < len(steps); version++ {
		if err := step(ctx, db, steps[version], version+1); err != nil {
			return fmt.Errorf("bringing it to version %d: %w", version+1, err)
		}
	}
	return nil
}

func step(ctx context.Context, db *sql.DB, statements string, version int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	// The version is part of the transaction, so that a step is taken whole and once.
	for _, statement := range []string{statements, fmt.Sprintf("PRAGMA user_version = %d", version)} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func schemaVersion(ctx context.Context, db *sql.DB) (int, error) {
	var version int
	err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	return version, err
}
