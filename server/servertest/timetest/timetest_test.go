package timetest_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"chatwright.dev/tray/server/servertest/timetest"
)

func TestUntilLooksUntilItIsSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, looks := time.Now(), 0
		got := timetest.Until(t, "the third look", func() (int, bool) { looks++; return looks, looks == 3 })
		if took := time.Since(begun); got != 3 || looks != 3 || took == 0 || took > 50*time.Millisecond {
			t.Errorf("got %d after %d looks and %s, want the third look at once", got, looks, took)
		}
	})
}

// failing is a test that keeps what it would fail with.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestUntilFailsWithWhatWasSeenLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failing{TB: t}
		begun, ended := time.Now(), make(chan struct{})
		go func() {
			defer close(ended)
			timetest.Until(f, "the moon", func() (string, bool) { return "a cloud", false })
		}()
		<-ended
		if took := time.Since(begun); !strings.Contains(f.said, "the moon") || !strings.Contains(f.said, "a cloud") || took < time.Minute {
			t.Errorf("after %s it says %q, want what was waited for and what was seen, after a minute", took, f.said)
		}
	})
}

func TestPassReturnsWhenAllIsAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rang atomic.Bool
		time.AfterFunc(time.Hour, func() { rang.Store(true) })
		timetest.Pass(time.Hour - 1)
		if rang.Load() {
			t.Error("it rang too early")
		}
		timetest.Pass(1)
		if !rang.Load() {
			t.Error("what the hour woke has not run yet")
		}
	})
}
