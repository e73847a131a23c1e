package history_test

import (
	"fmt"
	"testing"
	"time"

	"chatwright.dev/tray/server/history"
	"chatwright.dev/tray/server/protocol"
)

// BenchmarkAdd is what a call pays for its history: a writer takes what waits after every 500.
func BenchmarkAdd(b *testing.B) {
	store := history.New(history.Config{Path: newPath(b)})
	c := call("llama3.2", 0)
	var storage []protocol.Call
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if store.Add(c); i%500 == 499 {
			storage = history.Drain(store, storage)
		}
	}
	if store.Dropped() > 0 {
		b.Fatal("calls were dropped")
	}
}

// BenchmarkAddWhenFull is what it pays while the file cannot be written.
func BenchmarkAddWhenFull(b *testing.B) {
	store := history.New(history.Config{Path: newPath(b), Buffer: 1})
	c := call("llama3.2", 0)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			store.Add(c)
		}
	})
}

// BenchmarkFlush10k writes ten thousand calls as one transaction.
func BenchmarkFlush10k(b *testing.B) {
	k := keep(b, newPath(b), func(c *history.Config) { c.Buffer = 30_000 })
	ask(b, k)
	for b.Loop() {
		for i := range 10_000 {
			k.Add(call("llama3.2", time.Duration(i)))
		}
		ask(b, k)
	}
}

// ask returns once all is written.
func ask(b *testing.B, k *keeper) {
	b.Helper()
	if _, err := k.Calls(b.Context(), protocol.HistoryQuery{Limit: 1}); err != nil {
		b.Fatal(err)
	}
}

// hundredThousand is a history of a week.
func hundredThousand(b *testing.B) *keeper {
	b.Helper()
	k := keep(b, newPath(b), func(c *history.Config) { c.Buffer = 300_000 })
	for i := range 100_000 {
		k.Add(call(fmt.Sprintf("model-%d", i%5), time.Duration(i)*6*time.Second))
	}
	ask(b, k)
	return k
}

func BenchmarkTotalsOver100k(b *testing.B) {
	k := hundredThousand(b)
	for b.Loop() {
		if got, err := k.Totals(b.Context(), now.AddDate(0, 0, -30)); err != nil || got.Calls != 100_000 {
			b.Fatal(got, err)
		}
	}
}

func BenchmarkPageOf1000In100k(b *testing.B) {
	k := hundredThousand(b)
	query := protocol.HistoryQuery{Since: now.Add(-24 * time.Hour), Model: "model-3", Limit: 1000}
	for b.Loop() {
		if got, err := k.Calls(b.Context(), query); err != nil || len(got.Calls) != 1000 {
			b.Fatal(len(got.Calls), err)
		}
	}
}
