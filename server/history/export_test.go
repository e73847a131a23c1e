package history

import "chatwright.dev/tray/server/protocol"

// The migrations, for tests of how steps are taken.
var (
	Migrate    = migrate
	Migrations = migrations
)

// Drain empties the buffer as the writer does, and gives its storage back for the next time.
func Drain(s *Store, storage []protocol.Call) []protocol.Call {
	return s.buffer.written(s.buffer.take(storage))
}
