// Package timetest is how tests deal with time: they wait for what shall be, let the fake clock of a bubble go on, or
// pause, with a reason. A test that sleeps in any other way hides a race, or passes on a quiet machine alone.
package timetest

import (
	"testing"
	"testing/synctest"
	"time"
)

// patience is longer than anything takes that a test waits for, on a machine that is busy with other tests too.
const patience = time.Minute

// lookPeriod is short, since most of what is waited for is there within a few milliseconds.
const lookPeriod = 5 * time.Millisecond

// Until looks until ok is true, and returns what was seen then. It is for what tells nobody when it changes: a file,
// another process, a server that has to be asked. After a minute the test fails with what was waited for and with what
// was seen last.
func Until[T any](t testing.TB, what string, look func() (seen T, ok bool)) T {
	t.Helper()
	seen, ok := Within(patience, look)
	if !ok {
		t.Fatalf("waited in vain for %s, last seen: %+v", what, seen)
	}
	return seen
}

// Within looks until ok is true, for at most limit, and returns what was seen last and whether it was ok.
func Within[T any](limit time.Duration, look func() (T, bool)) (T, bool) {
	again := time.NewTicker(lookPeriod)
	defer again.Stop()
	for end := time.Now().Add(limit); ; <-again.C {
		// The clock is read first: what happens while the test itself is kept waiting is still seen.
		over := time.Now().After(end)
		if seen, ok := look(); ok || over {
			return seen, ok
		}
	}
}

// Pass lets the fake clock of a synctest bubble go on, and returns when all that this wakes is at rest again.
func Pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Pause keeps the caller waiting: a fake that takes its time, or a test whose subject is that nothing happens. Never
// for something to be ready, which is what Until is for. The reason is for those who read the test.
func Pause(d time.Duration, _ string) {
	time.Sleep(d)
}
