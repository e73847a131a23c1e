package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/session"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimVariable); dir != "" {
		victim(dir) // does not return
	}
	goleak.VerifyTestMain(m)
}

// A model is what a test makes the model do.
type model func(ctx context.Context, req session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error)

func (m model) Stream(ctx context.Context, req session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
	return m(ctx, req, emit)
}

// done is the result of an answer that came to its end.
func done() session.ModelResult {
	return session.ModelResult{FinishReason: "stop", Model: "m", Usage: &protocol.Usage{InputTokens: 3, OutputTokens: 5}}
}

// says answers with these pieces.
func says(pieces ...string) model {
	return func(_ context.Context, _ session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
		for _, piece := range pieces {
			emit(session.Delta{Text: piece})
		}
		return done(), nil
	}
}

// stalls says something, tells begun, and goes on until it is interrupted.
func stalls(begun chan<- struct{}) model {
	return func(ctx context.Context, _ session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
		emit(session.Delta{Text: "one moment"})
		begun <- struct{}{}
		<-ctx.Done()
		return session.ModelResult{}, ctx.Err()
	}
}

// sessions is a manager over a folder, which runs until stop or the end of the test.
type sessions struct {
	*session.Manager
	dir  string
	stop func()
}

func open(t testing.TB, cfg session.Config) sessions {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = filepath.Join(t.TempDir(), "sessions")
	}
	if cfg.Model == nil {
		cfg.Model = says("Hello")
	}
	m, err := session.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := m.Run(ctx); err != nil {
			t.Errorf("Run: got %v", err)
		}
	}()
	stop := sync.OnceFunc(func() { cancel(); <-ended })
	t.Cleanup(stop)
	return sessions{m, cfg.Dir, stop}
}

func (m sessions) create(t testing.TB) *session.Session {
	t.Helper()
	s, err := m.Create(protocol.CreateSessionRequest{Workspace: m.dir})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (m sessions) path(id string) string { return filepath.Join(m.dir, id+".jsonl") }

// say begins a turn.
func say(t testing.TB, s *session.Session, text string) string {
	t.Helper()
	turn, err := s.StartTurn(protocol.TurnRequest{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

// A tail follows a session as a client does.
type tail struct {
	after  func(session.Cursor, int) (session.Page, error)
	cursor session.Cursor
	seen   []protocol.Event
}

func follow(s *session.Session) *tail { return &tail{after: s.After} }

// until reads on to the first event of that type that it has not seen, and returns it.
func (f *tail) until(t testing.TB, kind protocol.EventType) protocol.Event {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		page, err := f.after(f.cursor, 1)
		if err != nil {
			t.Fatal(err)
		}
		if f.cursor = page.Next; len(page.Entries) > 0 {
			event := decode(t, page.Entries[0])
			f.seen = append(f.seen, event)
			if event.Type == kind {
				return event
			}
			continue
		}
		if page.Changed == nil {
			t.Fatalf("the session ended without %s", kind)
		}
		select {
		case <-page.Changed:
		case <-deadline:
			t.Fatalf("there was no %s; seen: %v", kind, kinds(f.seen))
		}
	}
}

// all reads what there is now.
func all(t testing.TB, after func(session.Cursor, int) (session.Page, error)) []protocol.Event {
	t.Helper()
	var events []protocol.Event
	for cursor := (session.Cursor{}); ; {
		page, err := after(cursor, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Entries) == 0 {
			return events
		}
		for _, entry := range page.Entries {
			events = append(events, decode(t, entry))
		}
		cursor = page.Next
	}
}

func (m sessions) events(t testing.TB, id string) []protocol.Event {
	t.Helper()
	return all(t, func(c session.Cursor, limit int) (session.Page, error) { return m.After(id, c, limit) })
}

func decode(t testing.TB, entry session.Entry) protocol.Event {
	t.Helper()
	var event protocol.Event
	if err := json.Unmarshal(entry.JSON, &event); err != nil {
		t.Fatalf("event %d: %v: %s", entry.Seq, err, entry.JSON)
	}
	if event.Seq != entry.Seq {
		t.Fatalf("entry %d holds event %d", entry.Seq, event.Seq)
	}
	return event
}

func payload[T any](t testing.TB, e protocol.Event) T {
	t.Helper()
	var p T
	if err := json.Unmarshal(e.Payload, &p); err != nil {
		t.Fatalf("payload of %s: %v", e.Type, err)
	}
	return p
}

func kinds(events []protocol.Event) string {
	var names []string
	for _, e := range events {
		names = append(names, string(e.Type))
	}
	return strings.Join(names, " ")
}

// wantContiguous asserts invariant 2: numbers from the first on, without a gap, none twice.
func wantContiguous(t testing.TB, events []protocol.Event, first uint64) {
	t.Helper()
	for i, e := range events {
		if want := first + uint64(i); e.Seq != want {
			t.Fatalf("event %d: got seq %d, want %d", i, e.Seq, want)
		}
	}
}

// texts is what the deltas of a kind say together.
func texts(t testing.TB, events []protocol.Event, kind protocol.EventType) string {
	t.Helper()
	var all strings.Builder
	for _, e := range events {
		if e.Type == kind {
			all.WriteString(payload[protocol.MessageDelta](t, e).Text)
		}
	}
	return all.String()
}

// wantCode asserts an error that clients decide on.
func wantCode(t testing.TB, err error, code protocol.ErrorCode, message string) {
	t.Helper()
	refused, ok := asError(err)
	if !ok || refused.Code != code || !strings.Contains(refused.Message, message) {
		t.Errorf("got %v, want %s with %q", err, code, message)
	}
}

func lastOf(events []protocol.Event, kind protocol.EventType) protocol.Event {
	for _, e := range slices.Backward(events) {
		if e.Type == kind {
			return e
		}
	}
	return protocol.Event{}
}

func equal(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }

// rounds is how often something is tried that goes wrong rarely, if it does: all of them where everything is to be
// tested, a quarter elsewhere.
func rounds(all int) int {
	if os.Getenv("CHATWRIGHT_TESTS") == "all" {
		return all
	}
	return all / 4
}
