package history

import (
	"context"
	"strings"

	"chatwright.dev/tray/server/protocol"
)

// Newest returns a page of the calls, the newest first, those that were added before included. It wants Run to run.
func (s *Store) Newest(ctx context.Context, q protocol.CallsQuery) (protocol.RecordedCalls, error) {
	db, err := s.settled(ctx)
	if err != nil {
		return protocol.RecordedCalls{}, err
	}
	return db.newest(ctx, q)
}

// likeText makes a pattern of LIKE that finds text anywhere, whatever stands in it.
func likeText(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}

// newest reads a page backwards.
func (d *database) newest(ctx context.Context, q protocol.CallsQuery) (protocol.RecordedCalls, error) {
	page := protocol.RecordedCalls{Calls: []protocol.Call{}}
	limit := min(q.Limit, protocol.MaxCallsPage)
	if limit <= 0 {
		limit = defaultPage
	}
	query, args, err := newestQuery(q, limit+1)
	if err != nil {
		return page, err
	}
	page.Calls, page.Next, err = d.pageOf(ctx, limit, query, args...)
	return page, err
}

// newestQuery keeps what the calls are narrowed down by away from the indexes (the + signs): the one by time yields the
// order, so that a page costs as much as the rows that it passes, and nothing is sorted.
func newestQuery(q protocol.CallsQuery, rows int) (query string, args []any, err error) {
	where := []string{"time >= 0"}
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if q.Before != "" {
		at, id, err := parseCursor(q.Before)
		if err != nil {
			return "", nil, err
		}
		add("(time, id) < (?, ?)", at, id)
	}
	if q.Model != "" {
		add("(+model = ? OR request_model = ?)", q.Model, q.Model)
	}
	if q.Status != "" {
		add("failed = ?", q.Status == protocol.CallsError)
	}
	if q.Verdict != "" {
		add("verdict = ?", string(q.Verdict))
	}
	if q.Text != "" {
		var parts []string
		pattern := likeText(q.Text)
		for _, column := range []string{"+model", "request_model", "error", "finish_reason", "upstream", "call_id"} {
			parts, args = append(parts, column+` LIKE ? ESCAPE '\'`), append(args, pattern)
		}
		add("(" + strings.Join(parts, " OR ") + ")")
	}
	return selectCalls + strings.Join(where, " AND ") + " ORDER BY time DESC, id DESC LIMIT ?", append(args, rows), nil
}
