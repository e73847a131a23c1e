package session_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest/timetest"
	"chatwright.dev/tray/server/session"
)

// collect reads from a cursor to the end of the session, in pages of at most limit, forgetting now and then what it knows
// but the number of the last event, as a client does that was cut off.
func collect(s *session.Session, from uint64, limit func() int, disconnect func() bool) (lines [][]byte, err error) {
	cursor := session.Cursor{Seq: from}
	for {
		page, err := s.After(cursor, limit())
		if err != nil {
			return lines, err
		}
		for _, entry := range page.Entries {
			lines = append(lines, entry.JSON)
		}
		cursor = page.Next
		if disconnect() {
			cursor = session.Cursor{Seq: cursor.Seq}
		}
		if page.Ended {
			return lines, nil
		}
		if page.Changed != nil {
			<-page.Changed
		}
	}
}

// record is the lines of a record as they stand on disk.
func (m sessions) record(t testing.TB, id string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(m.path(id))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
}

// The property that all is for: what any follower saw, from any cursor and with any disconnections, is a contiguous
// slice of the record. Meanwhile the session talks, is renamed, steered and interrupted.
func TestWhatAnyFollowerSawIsASliceOfTheRecord(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var number atomic.Uint64
	m := open(t, session.Config{Model: model(func(ctx context.Context, _ session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
		r := rand.New(rand.NewPCG(seed, number.Add(1)))
		for range r.IntN(6) {
			// Large enough, now and then, that memory does not hold the last hundred of them.
			emit(session.Delta{Text: strings.Repeat("é", 1+r.IntN(40)*r.IntN(800))})
			timetest.Pause(time.Duration(r.IntN(20))*time.Millisecond, "models are no clocks")
		}
		return done(), ctx.Err()
	})})
	s := m.create(t)
	type follower struct {
		from  uint64
		lines [][]byte
		err   error
	}
	followers := make([]follower, 12)
	var wg sync.WaitGroup
	for i := range followers {
		f := &followers[i]
		f.from = uint64(random.IntN(20))
		r := rand.New(rand.NewPCG(seed, uint64(1000+i)))
		wg.Go(func() {
			f.lines, f.err = collect(s, f.from, func() int { return 1 + r.IntN(50) }, func() bool { return r.IntN(3) == 0 })
		})
	}
	f := follow(s)
	for i := range 25 {
		say(t, s, fmt.Sprintf("turn %d", i))
		for range random.IntN(8) {
			switch random.IntN(4) {
			case 0:
				s.Interrupt()
			case 1:
				_ = s.Steer("go on") // which may come too late
			default:
				if err := s.Rename(fmt.Sprintf("name %d", random.Int())); err != nil {
					t.Error(err)
				}
			}
		}
		f.until(t, protocol.EventTurnCompleted)
	}
	if err := m.Delete(t.Context(), s.ID(), false); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	record := m.record(t, s.ID())
	wantContiguous(t, m.events(t, s.ID()), 1)
	for i, f := range followers {
		if want := record[f.from:]; f.err != nil || !equal(f.lines, want) {
			t.Errorf("follower %d from %d: saw %d events and %v, want the %d of the record", i, f.from, len(f.lines), f.err, len(want))
		}
	}
}

// sessions.md, Tests that must exist: a thousand followers of one session.
func TestAThousandFollowersSeeTheSame(t *testing.T) {
	m := open(t, session.Config{Model: says("one", "two")})
	s := m.create(t)
	var wg sync.WaitGroup
	seen := make([][][]byte, 1000)
	for i := range seen {
		wg.Go(func() {
			seen[i], _ = collect(s, 0, func() int { return 0 }, func() bool { return false })
		})
	}
	f := follow(s)
	for range 20 {
		say(t, s, "hello")
		f.until(t, protocol.EventTurnCompleted)
	}
	if err := m.Delete(t.Context(), s.ID(), false); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	record := m.record(t, s.ID())
	for i := range seen {
		if !equal(seen[i], record) {
			t.Fatalf("follower %d saw %d events, want the %d of the record", i, len(seen[i]), len(record))
		}
	}
}

// Invariant 3: a follower that does not read delays nobody and, when it reads at last, has lost nothing.
func TestAFollowerThatReadsNothingForTenThousandEventsLosesNone(t *testing.T) {
	m := open(t, session.Config{})
	s := m.create(t)
	first, err := s.After(session.Cursor{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10_000 {
		if err := s.Rename(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if got := session.InMemory(s); got > 256<<10 {
		t.Errorf("memory holds %d bytes of events for it", got)
	}
	cursor, seen := first.Next, uint64(1)
	for {
		page, err := s.After(cursor, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Entries) == 0 {
			break
		}
		for _, entry := range page.Entries {
			if seen++; entry.Seq != seen {
				t.Fatalf("got event %d, want %d", entry.Seq, seen)
			}
		}
		cursor = page.Next
	}
	if seen != 10_001 {
		t.Errorf("got %d events", seen)
	}
}

// Invariant 6: a rename goes through the same counter as every event, live under load.
func TestRenamesUnderLoadShareTheCounter(t *testing.T) {
	m := open(t, session.Config{Model: model(func(ctx context.Context, _ session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
		for ctx.Err() == nil {
			emit(session.Delta{Text: "x"})
			timetest.Pause(100*time.Microsecond, "a fast model, not a flood")
		}
		return session.ModelResult{}, ctx.Err()
	})})
	s := m.create(t)
	say(t, s, "talk")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 100 {
				if err := m.Rename(s.ID(), fmt.Sprintf("%d of %d", j, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	f := follow(s)
	f.until(t, protocol.EventMessageDelta)
	s.Interrupt()
	f.until(t, protocol.EventTurnCompleted)
	events := all(t, s.After)
	wantContiguous(t, events, 1)
	if got := strings.Count(kinds(events), "session.renamed"); got != 400 {
		t.Errorf("got %d renames, want 400", got)
	}
	last := payload[protocol.SessionRenamed](t, lastOf(events, protocol.EventSessionRenamed)).Name
	if got := s.Info().Title; got != last {
		t.Errorf("the title is %q, the last name in the record %q", got, last)
	}
}

// Only where events are gone for good the answer is that they have expired.
func TestEventsThatAreGoneHaveExpired(t *testing.T) {
	m := open(t, session.Config{})
	s := m.create(t)
	f := follow(s)
	for range 30 { // more than an idle session holds in memory
		say(t, s, strings.Repeat("x", 100))
		f.until(t, protocol.EventTurnCompleted)
	}
	if err := os.Remove(m.path(s.ID())); err != nil {
		t.Fatal(err)
	}
	_, err := s.After(session.Cursor{}, 0)
	wantCode(t, err, protocol.CodeEventsExpired, "not kept any more")
	last := s.Info().LastSeq
	page, err := s.After(session.Cursor{Seq: last - 1}, 0)
	if err != nil || len(page.Entries) != 1 || page.Entries[0].Seq != last {
		t.Errorf("what memory holds: got %+v, %v", page, err)
	}
	// Nothing is shown that cannot be recorded.
	if err := s.Rename("x"); err == nil {
		t.Error("a rename went nowhere and was no error")
	}
	if got := s.Info().LastSeq; got != last {
		t.Errorf("the last event is %d, want %d", got, last)
	}
}

func TestACursorBeyondTheEndWaits(t *testing.T) {
	m := open(t, session.Config{})
	s := m.create(t)
	page, err := s.After(session.Cursor{Seq: 2}, 0)
	if err != nil || len(page.Entries) != 0 || page.Changed == nil {
		t.Fatalf("got %+v, %v, want to wait", page, err)
	}
	if err := s.Rename("two"); err != nil {
		t.Fatal(err)
	}
	<-page.Changed
	if page, err = s.After(page.Next, 0); err != nil || len(page.Entries) != 0 {
		t.Errorf("event 2 was seen already: got %+v, %v", page.Entries, err)
	}
	if err := s.Rename("three"); err != nil {
		t.Fatal(err)
	}
	if page, err = s.After(page.Next, 0); err != nil || len(page.Entries) != 1 || page.Entries[0].Seq != 3 {
		t.Errorf("got %+v, %v, want event 3", page.Entries, err)
	}
}

// What another program wrote into a record must not be written behind: its numbers are not ours.
func TestARecordThatAnotherProgramChangedTakesNothing(t *testing.T) {
	m := open(t, session.Config{})
	s := m.create(t)
	file, err := os.OpenFile(m.path(s.ID()), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("hello\n"); err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	if err := s.Rename("x"); err == nil || !strings.Contains(err.Error(), "was changed by another program") {
		t.Errorf("got %v", err)
	}
	if _, err := s.StartTurn(protocol.TurnRequest{Text: "x"}); err == nil {
		t.Error("a turn began")
	}
	if got := s.Info(); got.LastSeq != 1 || got.State != protocol.SessionIdle {
		t.Errorf("got %+v", got)
	}
	if m.stop(); len(m.record(t, s.ID())) != 2 {
		t.Error("something was written")
	}
}

// A record that was cut short under a live session does not keep its followers spinning.
func TestARecordThatWasCutShortHasExpired(t *testing.T) {
	m := open(t, session.Config{Model: says(strings.Repeat("x", 10_000))})
	s := m.create(t)
	say(t, s, "hello")
	f := follow(s)
	f.until(t, protocol.EventTurnCompleted)
	m.stop()
	if err := os.Truncate(m.path(s.ID()), 0); err != nil {
		t.Fatal(err)
	}
	_, err := s.After(session.Cursor{}, 0)
	wantCode(t, err, protocol.CodeEventsExpired, "")
}

// A cursor that was moved back by hand reads from there, whatever else it knows.
func TestACursorMayBeMovedBack(t *testing.T) {
	m := open(t, session.Config{Model: says(strings.Repeat("x", 10_000))})
	s := m.create(t)
	say(t, s, "hello")
	f := follow(s)
	f.until(t, protocol.EventTurnCompleted)
	cursor := f.cursor
	cursor.Seq = 0
	page, err := s.After(cursor, 1)
	if err != nil || len(page.Entries) != 1 || page.Entries[0].Seq != 1 {
		t.Errorf("got %+v, %v, want event 1", page.Entries, err)
	}
}
