package session_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/session"
)

// The time from the append of an event to its follower.
func BenchmarkAppendToFollower(b *testing.B) {
	m := open(b, session.Config{})
	s := m.create(b)
	got := make(chan time.Time)
	go func() {
		defer close(got)
		for cursor := (session.Cursor{Seq: 1}); ; {
			page, err := s.After(cursor, 0)
			if err != nil || page.Ended {
				return
			}
			for range page.Entries {
				got <- time.Now()
			}
			if cursor = page.Next; page.Changed != nil {
				<-page.Changed
			}
		}
	}()
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		begun := time.Now()
		if err := s.Rename("name"); err != nil {
			b.Fatal(err)
		}
		took = append(took, (<-got).Sub(begun))
	}
	if err := m.Delete(context.Background(), s.ID(), true); err != nil {
		b.Fatal(err)
	}
	<-got
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// 10,000 events from the log to 100 followers, each as fast as it can.
func BenchmarkFanOut(b *testing.B) {
	const events, followers = 10_000, 100
	for b.Loop() {
		m := open(b, session.Config{})
		s := m.create(b)
		var wg sync.WaitGroup
		for range followers {
			wg.Go(func() {
				seen := 0
				for cursor := (session.Cursor{}); seen < events; {
					page, err := s.After(cursor, 0)
					if err != nil {
						b.Error(err)
						return
					}
					seen += len(page.Entries)
					if cursor = page.Next; page.Changed != nil && seen < events {
						<-page.Changed
					}
				}
			})
		}
		for range events - 1 {
			if err := s.Rename("name"); err != nil {
				b.Fatal(err)
			}
		}
		wg.Wait()
	}
}

// 100,000 recorded events, read by a follower that saw none.
func BenchmarkReplay(b *testing.B) {
	const events = 100_000
	var content strings.Builder
	content.WriteString(line(1, "session.created", `{"workspace":"/w"}`))
	for seq := 2; seq < events; seq++ {
		content.WriteString(line(seq, "message.delta", `{"turn_id":"t2","text":"some twenty letters…"}`))
	}
	content.WriteString(line(events, "turn.completed", `{"turn_id":"t2","reason":"done"}`))
	m := recordOf(b, []byte(content.String()))
	b.Run("to a follower", func(b *testing.B) {
		for b.Loop() {
			seen := 0
			for cursor := (session.Cursor{}); ; {
				page, err := m.After(recordID, cursor, 0)
				if err != nil {
					b.Fatal(err)
				}
				seen += len(page.Entries)
				if cursor = page.Next; page.Ended {
					break
				}
			}
			if seen != events {
				b.Fatalf("got %d events", seen)
			}
		}
	})
	b.Run("to the list", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			at := time.Now().Add(time.Duration(i) * time.Second)
			if err := os.Chtimes(m.path(recordID), at, at); err != nil { // it was read before
				b.Fatal(err)
			}
			if _, err := m.Info(recordID); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("to the model", func(b *testing.B) {
		for b.Loop() {
			s, err := m.Create(protocol.CreateSessionRequest{Workspace: m.dir, Resume: recordID})
			if err != nil {
				b.Fatal(err)
			}
			if err := m.Delete(context.Background(), s.ID(), true); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// What a session takes that waits for its user, after a conversation of some turns.
func TestAnIdleSessionTakesLittleMemory(t *testing.T) {
	const most = 24 << 10
	count := rounds(1000)
	m := open(t, session.Config{Model: says(strings.Repeat("word ", 400))})
	heap := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc + stats.StackInuse
	}
	files := openFiles()
	before := heap()
	held := make([]*session.Session, count)
	for i := range held {
		held[i] = m.create(t)
		f := follow(held[i])
		for turn := range 3 {
			if _, err := held[i].StartTurn(protocol.TurnRequest{Text: strings.Repeat("why? ", 50), SubmissionID: fmt.Sprint(turn)}); err != nil {
				t.Fatal(err)
			}
			f.until(t, protocol.EventTurnCompleted)
		}
	}
	m.stop() // when the last turn has left nothing behind
	each := int64(heap()-before) / int64(count)
	t.Logf("%d idle sessions take %d bytes each", count, each)
	if each > most {
		t.Errorf("an idle session takes %d bytes, want at most %d", each, most)
	}
	if now := openFiles(); now > files+5 {
		t.Errorf("%d idle sessions hold %d files open", count, now-files)
	}
	runtime.KeepAlive(held)
}

func openFiles() int {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0 // not here
	}
	return len(files)
}
