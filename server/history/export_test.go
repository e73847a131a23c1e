package history

import (
	"context"
	"strings"

	"chatwright.dev/tray/server/protocol"
)

// The migrations, for tests of how steps are taken.
var (
	Migrate    = migrate
	Migrations = migrations
)

// Drain empties the buffer as the writer does, and gives its storage back for the next time.
func Drain(s *Store, storage []protocol.Call) []protocol.Call {
	return s.buffer.written(s.buffer.take(storage))
}

// PlanOfNewest is how SQLite would find a page.
func PlanOfNewest(ctx context.Context, s *Store, q protocol.CallsQuery) (string, error) {
	query, args, err := newestQuery(q, 10)
	if err != nil {
		return "", err
	}
	rows, err := s.reader.Load().QueryContext(ctx, "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		return "", err
	}
	defer func() { _ = rows.Close() }()
	var plan strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			return "", err
		}
		plan.WriteString(detail + "; ")
	}
	return plan.String(), rows.Err()
}
