package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"chatwright.dev/tray/server/datastate/dtql"
)

// Write tries a statement on a connection of the store, as nothing of the store ever would.
func Write(ctx context.Context, handle any, statement string, inTransaction bool) error {
	h := handle.(*holder)
	if inTransaction {
		_, err := h.attempt(ctx, func(ctx context.Context, s *session) error {
			_, err := s.tx.ExecContext(ctx, statement)
			return err
		})
		return err
	}
	db, err := h.pool()
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement)
	return err
}

// SQL is what a document becomes: the query, the count, and what is bound to each.
func SQL(ctx context.Context, handle any, doc *dtql.Document, most int) (text string, err error) {
	h := handle.(*holder)
	err = h.read(ctx, func(ctx context.Context, s *session) error {
		p, err := compile(s.dialect, func(schema, name string) (*table, error) { return s.find(ctx, "", schema, name) }, doc, most)
		if err != nil {
			return err
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s\n", p.text)
		for i, arg := range p.args {
			fmt.Fprintf(&b, "  %d: %T %v\n", i+1, arg, arg)
		}
		if !p.single {
			fmt.Fprintf(&b, "%s\n", p.count.text)
		}
		text = b.String()
		return nil
	})
	return text, err
}

// Connections is how many connections to a database are open.
func Connections(handle any) int {
	h := handle.(*holder)
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.db.Stats().OpenConnections
}

// Database is the name of MySQL's database, "" elsewhere.
func Database(handle any) string {
	if d, ok := handle.(*holder).dialect.(*mysqlDialect); ok {
		return d.config.DBName
	}
	return ""
}
